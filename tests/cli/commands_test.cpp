// Each command, driven end to end.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "gemm/codec.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using Commands = ProgramTest;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_F(Commands, HelpTeachesEachCommandByExample) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Examples:\n  hgemm-tune --shapes"), HasSubstr("--db"),
                              HasSubstr("Exit code")));
  EXPECT_THAT(help.out, Not(HasSubstr("worker"))) << "an internal command";
  for (const std::string command : {"plan", "best", "compare", "merge", "verify", "doctor"}) {
    EXPECT_THAT(help.out, HasSubstr("\n  " + command + " "));
    const Outcome own = run(command + " --help");
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_THAT(own.out, HasSubstr("Examples:\n  hgemm-tune " + command));
  }
}

TEST_F(Commands, VersionNamesTheRevision) {
  const Outcome version = run("--version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(std::regex_match(
      version.out, std::regex(R"(hgemm-tune \d+\.\d+\.\d+ \(([0-9a-f]{12}(-dirty)?|unknown)\)\n)")))
      << version.out;
}

TEST_F(Commands, StartsWithoutAnNvidiaDriver) {
  const std::string list =
      "readelf -d '" HGEMM_PROGRAM "' >'" + (folder() / "needed").string() + "'";
  ASSERT_EQ(std::system(list.c_str()), 0);
  const std::string needed = read_file(folder() / "needed");
  EXPECT_THAT(needed, HasSubstr("libnvrtc.so"));
  EXPECT_THAT(needed, Not(HasSubstr("libcuda.so"))) << "the driver's library must be taken at run "
                                                       "time";
}

TEST_F(Commands, PlanCountsTheFullSpace) {
  const Outcome plan = run("plan --space full --format json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json space = json::parse(plan.out);
  EXPECT_GE(space.at("valid"), 1500);
  EXPECT_FALSE(space.at("rejected").empty());
  for (const auto& [rule, count] : space.at("rejected").items()) EXPECT_GT(count, 0) << rule;
  for (const char* axis :
       {"bm",       "bn",     "bk",      "q",      "cluster", "order",     "store",     "d",
        "schedule", "a_hint", "b_hint",  "d_hint", "ctas",    "scheduler", "promotion", "pdl",
        "pack",     "fixed",  "vectors", "rows",   "step",    "depth",     "warps"}) {
    EXPECT_GE(space.at("axes").at(axis).size(), 2u) << axis << " has nothing to choose from";
  }
  const Outcome table = run("plan --space full");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, HasSubstr(std::to_string(space.at("valid").get<int>()) + " valid"));
  for (const auto& [rule, count] : space.at("rejected").items()) {
    EXPECT_THAT(table.out, HasSubstr(" " + rule + " ")) << "every rejection has a reason";
  }
}

TEST_F(Commands, PlanCountsTheWholeSpaceUnlessAnotherIsNamed) {
  const Outcome plan = run("plan --shapes 16x4096x4096,4096x4096x4096,64x64x16.fp32 --format json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json space = json::parse(plan.out);
  EXPECT_EQ(space.at("space"), "whole");
  EXPECT_GE(space.at("valid"), 10'000'000);
  EXPECT_GT(space.at("rejected").at("shared_memory"), 0);
  EXPECT_EQ(space.at("axes").at("warps"), json({"4", "8", "12"}));
  EXPECT_EQ(space.at("axes").at("q").size(), 15u);
  EXPECT_GT(space.at("shapes")[0].at("trials"), 1'000'000);
  EXPECT_NE(space.at("shapes")[0].at("trials"), space.at("shapes")[1].at("trials"));
  EXPECT_EQ(space.at("shapes")[2].at("trials"), 0);
  EXPECT_EQ(space.at("estimated"), true);
  const json without = json::parse(run("plan --pdl off --format json").out);
  EXPECT_LT(without.at("valid"), space.at("valid").get<std::int64_t>());
  EXPECT_THAT(run("plan").out, HasSubstr("space whole: about "));
}

TEST_F(Commands, PlanExplainsWhatTheWholeSpaceHas) {
  const Outcome plan = run("plan --explain --shapes 129x4096x4096 --top 20 --format json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json rows = json::parse(plan.out);
  ASSERT_THAT(rows, SizeIs(20));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i - 1].at("predicted_us"), rows[i].at("predicted_us").get<double>());
  }
  const json of_full = json::parse(
      run("plan --explain --space full --shapes 129x4096x4096 --top 1 --format json").out);
  EXPECT_LE(rows[0].at("predicted_us"), of_full[0].at("predicted_us").get<double>())
      << "the whole space has more than the list";
}

TEST_F(Commands, PlanSaysWhatShapesWouldTake) {
  const Outcome plan = run("plan --space smoke --shapes 512x512x512,64x64x16.fp32 --format json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const json problems = json::parse(plan.out).at("shapes");
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_GT(problems[0].at("trials"), 0);
  EXPECT_FALSE(problems[0].contains("unsupported"));
  EXPECT_EQ(problems[1].at("trials"), 0);
  EXPECT_THAT(problems[1].at("unsupported"), HasSubstr("fp32"));
}

TEST_F(Commands, PlanPredictsASweepOnSeveralGpus) {
  const auto sweep = [&](const std::string& options) {
    const Outcome plan = run("plan --shapes llama7b.yaml --format json " + options);
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    return json::parse(plan.out);
  };
  const json one = sweep("--gpus 1"), eight = sweep("--gpus 8");
  EXPECT_EQ(one.at("sweep").at("races"), 25);
  EXPECT_EQ(one.at("sweep").at("gpu_hours"), eight.at("sweep").at("gpu_hours"));
  EXPECT_LT(eight.at("sweep").at("hours"), 0.2 * one.at("sweep").at("hours").get<double>());
  EXPECT_GT(one.at("sweep").at("kwh"), 0);
  for (const json& shape : one.at("shapes")) EXPECT_GT(shape.at("race_s"), 0.5);
  EXPECT_EQ(one.at("sweep").at("budget"), "100configs");
  EXPECT_GT(sweep("--gpus 1 --budget 300configs").at("sweep").at("gpu_hours"),
            one.at("sweep").at("gpu_hours").get<double>());
  EXPECT_EQ(sweep("--gpus 1 --space quick").at("sweep").at("budget"), "3%");
  EXPECT_TRUE(sweep("").at("sweep").is_null());
  EXPECT_THAT(run("plan --shapes llama7b.yaml --gpus 2").out, HasSubstr("GPU hours"));
  EXPECT_THAT(run("plan --shapes llama7b.yaml --gpus 2 --budget 60s").err,
              HasSubstr("give a number (100configs)"));
  EXPECT_THAT(run("plan --gpus 2").err, HasSubstr("which shapes?"));
  EXPECT_THAT(run("plan --device H200").err, HasSubstr("--explain or --gpus"));
}

TEST_F(Commands, AConfigIsForEveryTypeThatItsFamilyTakes) {
  for (const char* type : {"", ".fp16", ".dfp32", ".fp16.dfp32"}) {
    SCOPED_TRACE(type);
    const std::string arguments =
        std::string("--shapes 512x512x512") + type + " --config " + kLabel;
    for (const std::string command : {"", "plan --explain ", "probe ", "counters ", "chain "}) {
      const Outcome outcome = run(command + arguments);
      EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
    }
  }
}

TEST_F(Commands, AConfigMayBeForOperandsOf8BitsAlone) {
  // It promotes sums, or its stages have no room for operands of 16 bits.
  for (const auto& [shape, config] :
       {std::pair{"512x512x512.e4m3",
                  "bm128.bn128.bk128.q6.c2x1.coop2.d1.acc512.linear.tma.persist"},
        std::pair{"512x512x512.e4m3.accfast",
                  "bm128.bn256.bk128.q4.c2x1.coop2.d0.linear.tma.persist"}}) {
    const Outcome plan =
        run(std::string("plan --explain --shapes ") + shape + " --config " + config);
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr(config));
  }
  const Outcome wrong =
      run("plan --explain --shapes 512x512x512.e4m3 --config "
          "bm128.bn128.bk128.q6.c2x1.coop2.d1.acc64.linear.tma.persist");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("rule promote"));
}

TEST_F(Commands, LabelsOfOldVersionsAreRead) {
  for (const auto& [old, modern] :
       {std::pair{"bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.late.persist.bf16",
                  "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.overlap.persist"},
        std::pair{"bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.fp16.for512x512x512",
                  "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.fixed"},
        std::pair{"bm8.bn128.bk128.q3.c1x1.swap2.d0.linear.tma.single.bf16.p128",
                  "swap_ab.bm8.bn128.bk128.q3.d0.tma.single.p128"}}) {
    const Outcome plan =
        run(std::string("plan --explain --shapes 512x512x512 --format json --config ") + old);
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_EQ(json::parse(plan.out).at(0).at("label"), modern);
  }
}

TEST_F(Commands, BestReadsADatabase) {
  record(folder() / "hgemm-tune.db", {race(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  const Outcome best = run("best --format json");
  ASSERT_EQ(best.exit_code, 0) << best.err;
  const json rows = json::parse(best.out);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].at("m"), 512);
  EXPECT_EQ(rows[0].at("label"), kLabel);
  EXPECT_EQ(rows[0].at("verified"), true);
  EXPECT_NEAR(rows[0].at("time_us"), 9, 1e-9);
  EXPECT_NEAR(rows[0].at("ratio_cublas"), 10 / 9.0, 1e-9);
  EXPECT_NEAR(rows[0].at("ratio_cublaslt"), 9.5 / 9, 1e-9);

  EXPECT_THAT(run("best").out, AllOf(HasSubstr(kLabel), HasSubstr("NVIDIA H200")));
  EXPECT_THAT(run("best --format csv").out, StartsWith("m,n,k,"));
  EXPECT_THAT(run("best --format md").out, HasSubstr("| 512x512x512 |"));
}

TEST_F(Commands, BestOfSomeShapesSaysWhichWereNeverRecorded) {
  record(folder() / "my.db", {race(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  const Outcome best = run("best --db my.db --shapes 1024x512x512,8x8x8");
  ASSERT_EQ(best.exit_code, 0) << best.err;
  EXPECT_THAT(best.out, AllOf(HasSubstr("1024x512x512"), HasSubstr("Never recorded: 8x8x8"),
                              Not(HasSubstr("\n512x512x512"))));
  const json rows =
      json::parse(run("best --db my.db --shapes 1024x512x512,8x8x8 --format json").out);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_TRUE(rows[1].at("label").is_null());
}

TEST_F(Commands, WithoutAGpuRecordedResultsAnswer) {
  install_with_recorded({race(problem(512, 512, 512))});
  const auto before = files();
  const Outcome answer = run("--shapes 512x512x512,8x8x8");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(first_line(answer.out),
              AllOf(HasSubstr("No Hopper GPU"), HasSubstr("NVIDIA H200"), HasSubstr("driver 580.1"),
                    HasSubstr("other kernel sources"), HasSubstr("1 of 2 shapes is missing"),
                    HasSubstr("hgemm-tune --shapes 512x512x512,8x8x8")));
  EXPECT_TRUE(std::regex_search(first_line(answer.out), std::regex(R"(on \d{4}-\d\d-\d\d)")));
  EXPECT_THAT(answer.out, AllOf(HasSubstr(kLabel), HasSubstr("1.111")));
  EXPECT_EQ(files(), before) << "nothing is measured, so nothing is created";

  const Outcome for_programs = run("--shapes 512x512x512,8x8x8 --format json");
  EXPECT_EQ(for_programs.exit_code, 0);
  EXPECT_THAT(json::parse(for_programs.out), SizeIs(2));
  EXPECT_THAT(for_programs.err, HasSubstr("No Hopper GPU"));

  EXPECT_THAT(run("best --recorded").out, HasSubstr(kLabel));
}

TEST_F(Commands, WhatABundleMissedIsAListOfShapes) {
  install_with_recorded({race(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  std::ofstream(folder() / "misses.yaml") << "shapes:\n  - {m: 512, n: 512, k: 512, weight: 7}\n";
  const Outcome answer = run("--misses misses.yaml --format json");
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  const json rows = json::parse(answer.out);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["m"], 512);
  EXPECT_EQ(run("--misses misses.yaml --shapes 8x8x8").exit_code, 2);
  EXPECT_THAT(run("--misses nothing.yaml").err, HasSubstr("nothing.yaml"));
}

TEST_F(Commands, WithoutAGpuWhatAsksForAMeasurementFails) {
  install_with_recorded({race(problem(512, 512, 512))});
  const auto before = files();
  for (const std::string option : {"--db mine.db", "--budget 20s", "--strategy random"}) {
    const Outcome failed = run("--shapes 512x512x512 " + option);
    EXPECT_EQ(failed.exit_code, 1) << option;
    EXPECT_THAT(failed.out, IsEmpty()) << option;
    EXPECT_THAT(failed.err,
                AllOf(StartsWith("hgemm-tune: no Hopper GPU"),
                      HasSubstr(option + " asks for a measurement"), HasSubstr("--recorded")));
    const Outcome recorded = run("--shapes 512x512x512 --recorded " + option);
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_THAT(recorded.out, AllOf(HasSubstr("as asked for"), HasSubstr(kLabel)));
    EXPECT_THAT(recorded.err, HasSubstr(option + " changes nothing"));
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(run("--shapes 512x512x512 --recorded --require-gpu").exit_code, 2);
}

TEST_F(Commands, TheDefaultCommandHasAName) {
  install_with_recorded({race(problem(512, 512, 512))});
  const Outcome plain = run("--shapes 512x512x512");
  const Outcome named = run("tune --shapes 512x512x512");
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.out, plain.out);
  EXPECT_EQ(run("tune --help").out, run("--help").out);
  const Outcome two = run("tune best --recorded");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("tune and best are two commands"));
}

TEST_F(Commands, WithoutAGpuUnknownShapesAreSaidToBeUnknown) {
  install_with_recorded({race(problem(512, 512, 512))});
  const Outcome answer = run("--shapes 8x8x8");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(first_line(answer.out), HasSubstr("None of these shapes was recorded"));
  EXPECT_THAT(answer.out, HasSubstr("Never recorded: 8x8x8"));
  EXPECT_THAT(first_line(answer.out),
              HasSubstr("hgemm-tune best --recorded --predict --shapes 8x8x8"));
  EXPECT_THAT(run("best --recorded --shapes 8x8x8").err, HasSubstr("--predict"));
  EXPECT_THAT(run("best --recorded --shapes 512x512x512").err, IsEmpty());
}

TEST_F(Commands, WithoutAGpuAProbeShowsWhatWasLookedInto) {
  const Outcome probe = run("probe --shapes 8192x8192x8192");
  EXPECT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_THAT(first_line(probe.out),
              AllOf(HasSubstr("No Hopper GPU"), HasSubstr("Recorded on NVIDIA H200")));
  EXPECT_THAT(probe.out, HasSubstr("bm128.bn224.bk64.q4.c2x1.coop2.d1.group8.tma.persist.probe1 at "
                                   "8192x8192x8192"));
  EXPECT_THAT(probe.err, AllOf(HasSubstr("stamps cannot follow"), HasSubstr("bn200"),
                               HasSubstr("looked into before")));
}

TEST_F(Commands, StudiesListWhatIsRecorded) {
  for (const std::string command : {"probe", "counters", "ladder", "chain"}) {
    const Outcome list = run(command + " --list --format json");
    ASSERT_EQ(list.exit_code, 0) << list.err;
    const json rows = json::parse(list.out);
    EXPECT_THAT(rows, SizeIs(testing::Ge(4u))) << command;
    for (const json& row : rows) {
      EXPECT_EQ(row.at("gpu"), "NVIDIA H200");
      EXPECT_EQ(row.at("status"), "ok");
    }
  }
  EXPECT_THAT(run("probe --list").out, testing::ContainsRegex("hilbert.tma.persist.probe1 +"
                                                              "4096x4096x4096 .* ok +yes"));
  record(folder() / "empty.db", {});
  EXPECT_EQ(run("probe --list --db empty.db").exit_code, 0);
  EXPECT_EQ(run("probe --list --db none.db").exit_code, 2);
  EXPECT_THAT(run("counters").err, HasSubstr("which shapes? Give --shapes"));
}

TEST_F(Commands, TheTraceThatShipsIsThatOfTheRecordedProbe) {
  const Outcome probe = run("probe --recorded --shapes 4096x4096x4096 --trace trace.json");
  ASSERT_EQ(probe.exit_code, 0) << probe.err;
  const std::string trace = read_file(folder() / "trace.json");
  EXPECT_THAT(json::parse(trace).at("traceEvents"), SizeIs(testing::Ge(592u)));
  EXPECT_EQ(trace, read_file(HGEMM_SOURCE_DIR "/results/h200/trace.json"));
}

TEST_F(Commands, WhatWasOnlyScreenedHasNoSustainedTime) {
  Race screened = race(problem(512, 512, 512));
  screened.trials.front().stage = Stage::kScreen;
  record(folder() / "screened.db", {screened});
  const json row = json::parse(run("best --db screened.db --format json").out).at(0);
  EXPECT_EQ(row.at("label"), kLabel);
  EXPECT_EQ(row.at("effort"), "screened");
  for (const char* field : {"time_us", "tflops", "sm_mhz", "peak_fraction", "cublas_time_us"}) {
    EXPECT_TRUE(row.at(field).is_null()) << field;
  }
  const Outcome table = run("best --db screened.db");
  EXPECT_THAT(table.out, AllOf(HasSubstr("[screened]"), Not(HasSubstr("9.00"))));
  for (const std::string format : {"csv", "md", "cpp", "triton", "cutlass"}) {
    EXPECT_EQ(run("export --db screened.db -o out --format " + format).exit_code, 0) << format;
  }
}

TEST_F(Commands, WithoutAGpuShapesAreMeasuredByTheNameThatTheyWereGivenBy) {
  install_with_recorded({race(problem(512, 512, 512))});
  const Outcome answer = run("--shapes llama7b.yaml");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(first_line(answer.out),
              AllOf(HasSubstr("hgemm-tune --shapes llama7b.yaml"), Not(HasSubstr("x4096"))))
      << "no list of the shapes";
}

TEST_F(Commands, WithoutAGpuNothingNeedsToBeWritable) {
  install_with_recorded({race(problem(512, 512, 512))});
  // In a folder that is gone nothing can be created, not even by root.
  const std::string in_no_folder = "mkdir gone && cd gone && rmdir ../gone && unset HOME";
  const Outcome answer = run("--shapes 512x512x512", in_no_folder);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr(kLabel));
}

TEST_F(Commands, WithoutAGpuOnlyTheConfigsThatWereAskedForAnswer) {
  install_with_recorded({race(problem(512, 512, 512))});
  const std::string other = kOtherLabel;
  const Outcome answer = run("--shapes 512x512x512 --config " + other);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("with these configs"), HasSubstr("--config " + other),
                                Not(HasSubstr(kLabel))));
  EXPECT_THAT(run(std::string("--shapes 512x512x512 --config ") + kLabel).out, HasSubstr("1.111"));
}

TEST_F(Commands, ImpossibleShapesComeWithTheReason) {
  install_with_recorded({race(problem(512, 512, 512))});
  const std::string command = "best --recorded ";
  {
    const Outcome answer = run(command + "--shapes 512x512x512,64x64x16.fp32");
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    EXPECT_THAT(answer.out, AllOf(HasSubstr("Impossible: 64x64x16.fp32: "),
                                  HasSubstr("bf16 and fp16"), HasSubstr(kLabel),
                                  Not(HasSubstr("missing")), Not(HasSubstr("Never recorded"))));
    const Outcome alone = run(command + "--shapes 64x64x16.fp32");
    EXPECT_THAT(alone.out, AllOf(HasSubstr("Impossible: 64x64x16.fp32: "),
                                 Not(HasSubstr("To measure")), Not(HasSubstr("recorded yet"))));
  }
}

TEST_F(Commands, TheNewestOfAllShippedDatabasesDecides) {
  install_with_recorded({});
  Machine driver = machine();
  driver.environment.driver = "old";
  record(recorded("z"), {race(problem(512, 512, 512))}, driver);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // what is recorded is in seconds
  driver.environment.driver = "new";
  record(recorded("a"), {race(problem(512, 512, 512))}, driver);
  EXPECT_THAT(run("best --recorded").out, AllOf(HasSubstr("driver new"), Not(HasSubstr("old"))));
}

TEST_F(Commands, ShippedRacesOfEightBitOperandsAnswerToo) {
  install_with_recorded({race(problem(512, 512, 512))});
  Race eight_bits = race(parse_problem("512x512x1024.e4m3"));
  eight_bits.trials[0] =
      finalist("bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist", 9);
  record(recorded("h200").parent_path() / "referee-fp8.db", {eight_bits});
  EXPECT_THAT(run("best --recorded").out,
              AllOf(HasSubstr("512x512x512"), HasSubstr("512x512x1024.e4m3")));
  EXPECT_THAT(run("doctor").out, HasSubstr("(2 recorded databases)"));
}

TEST_F(Commands, ARecordingThatIsNotCompleteIsNotRead) {
  install_with_recorded({race(problem(512, 512, 512))});
  record(recorded("h200").parent_path() / "recording.db", {race(problem(1024, 512, 512))});
  EXPECT_THAT(run("best --recorded").out,
              AllOf(HasSubstr("512x512x512"), Not(HasSubstr("1024x512x512"))));
  EXPECT_THAT(run("doctor").out, HasSubstr("(1 recorded database)"));
}

TEST_F(Commands, DoctorReportsThatThereIsNoPlaceForACache) {
  const Outcome doctor = run("doctor", "unset HOME");
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("MISSING  cache"), HasSubstr("--cache-dir"),
                                HasSubstr("ok       database")));
}

TEST_F(Commands, RequireGpuMakesAMissingGpuAnError) {
  install_with_recorded({race(problem(512, 512, 512))});
  const Outcome answer = run("--shapes 512x512x512 --require-gpu");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, IsEmpty());
  EXPECT_THAT(answer.err, StartsWith("hgemm-tune: "));
}

TEST_F(Commands, DoctorSaysPlainlyThatThereIsNoGpu) {
  const auto before = files();
  const Outcome doctor = run("doctor");
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("MISSING"), HasSubstr("->"), HasSubstr("Not ready")));
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("ok       NVRTC"), HasSubstr("ok       cache"),
                                HasSubstr("ok       database")));
  EXPECT_EQ(files(), before) << "a check leaves nothing behind";
}

TEST_F(Commands, DoctorPrintsTheKernelHashAlone) {
  const Outcome hash = run("doctor --kernel-hash");
  EXPECT_EQ(hash.exit_code, 0);
  EXPECT_TRUE(std::regex_match(hash.out, std::regex("[0-9a-f]{32}\n"))) << hash.out;
}

}  // namespace
}  // namespace hgemm
