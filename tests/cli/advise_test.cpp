// `advise`, driven end to end.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "studies/micro/points.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Advise : public ProgramTest {
 protected:
  json objects(const std::string& arguments) const {
    const Outcome outcome = run("advise " + arguments + " --format json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    return json::parse(outcome.out);
  }

  static Machine on(const std::string& gpu) {
    Machine where = machine();
    where.environment.gpu_name = gpu;
    return where;
  }
};

TEST_F(Advise, AnswersForAllDevicesWithoutAGpu) {
  const json answer = objects("--shapes 1x4096x4096,32x4096x4096.fp16");
  ASSERT_EQ(answer.size(), 10u) << "two shapes on five devices";
  EXPECT_EQ(answer.at(0).at("device"), "H20");
  EXPECT_EQ(answer.at(0).at("kernel"), "gemv");
  EXPECT_EQ(answer.at(1).at("dtype"), "fp16");
  EXPECT_EQ(answer.at(1).at("swap_ab"), "pays");
  EXPECT_EQ(answer.at(9).at("device"), "H200");
  EXPECT_EQ(answer.at(9).at("swap_ab"), "does not matter");
  EXPECT_THAT(files(), IsEmpty()) << "it only reads";
}

TEST_F(Advise, TakesAShapesFileAndOneDevice) {
  const Outcome outcome = run("advise --shapes llama7b.yaml --device h200");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("H200: 132 SMs"), HasSubstr("2048x12288x4096"), HasSubstr("Why:")));
}

TEST_F(Advise, PutsBesideItWhatShipsAndWhatTheUserMeasured) {
  install_with_recorded({race(problem(64, 4096, 4096))});
  record(folder() / "hgemm-tune.db", {race(problem(2048, 4096, 4096), Regime::kBurst, 80)});
  const json answer = objects("--device H200 --shapes 64x4096x4096,2048x4096x4096,512x512x512");
  EXPECT_EQ(answer.at(0).at("time_us"), 9);
  EXPECT_EQ(answer.at(0).at("cublas_time_us"), 10);
  EXPECT_EQ(answer.at(0).at("measured_gpu"), "NVIDIA H200");
  EXPECT_NEAR(answer.at(0).at("floor_fraction"), answer.at(0).at("floor_us").get<double>() / 9,
              1e-9);
  EXPECT_EQ(answer.at(1).at("time_us"), 80);
  EXPECT_EQ(answer.at(1).at("regime"), "burst");
  EXPECT_TRUE(answer.at(2).at("time_us").is_null()) << "never measured";
}

TEST_F(Advise, NeverPutsAnotherGpusResultBesideADevice) {
  install_with_recorded({race(problem(64, 4096, 4096))});
  record(folder() / "h20.db", {race(problem(64, 4096, 4096), Regime::kSustained, 33)},
         on("NVIDIA H20"));
  const json answer = objects("--shapes 64x4096x4096 --db h20.db");
  ASSERT_EQ(answer.size(), 5u);
  for (const json& one : answer) {
    const std::string device = one.at("device");
    if (device == "H20") {
      EXPECT_EQ(one.at("time_us"), 33);
    } else if (device == "H200") {
      EXPECT_EQ(one.at("time_us"), 9);
    } else {
      EXPECT_TRUE(one.at("time_us").is_null()) << device;
    }
  }
}

TEST_F(Advise, ComparesTheModelWithMicrosCycles) {
  {
    Store store = Store::open((folder() / "run.db").string(), Store::Mode::kReadWrite);
    const auto run = store.begin_run(machine(), "hgemm-tune micro");
    Study study;
    study.kind = kMicroStudy;
    study.label = "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1";
    study.kernel_id = "c0ffee";
    study.figures = {{"", "cycles", "clk", 65.5, 65, 66, 9}};
    store.record_study(run, study);
  }
  int compared = 0;
  for (const json& row : objects("--wgmma --device H200 --db run.db")) {
    if (row.at("n") != 128 || row.at("form") != "f32 <- bf16, A in shared memory") continue;
    EXPECT_EQ(row.at("predicted_cycles"), 64);
    EXPECT_EQ(row.at("measured_cycles"), 65.5);
    EXPECT_NEAR(row.at("error"), 64 / 65.5 - 1, 1e-9);
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

TEST_F(Advise, ShowsTheDevicesAndTheirSources) {
  const Outcome outcome = run("advise --devices");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("H100-PCIe"), HasSubstr("1023.4"), HasSubstr("whitepaper, table 3")));
}

TEST_F(Advise, RefusesWhatItCannotAnswer) {
  const auto complaint = [this](const std::string& arguments) {
    const Outcome outcome = run("advise " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(complaint(""), HasSubstr("--shapes"));
  EXPECT_THAT(complaint("--wgmma --shapes 1x8x8"), HasSubstr("one question at a time"));
  EXPECT_THAT(complaint("--shapes 64x64"), HasSubstr("MxNxK"));
  EXPECT_THAT(complaint("--shapes 8192x8192x8192.fp32"),
              AllOf(HasSubstr("8192x8192x8192.fp32"), HasSubstr("wgmma has no fp32")));
  EXPECT_THAT(complaint("--devices --device H300"),
              AllOf(HasSubstr("'H300'"), HasSubstr("H200"), HasSubstr("devices.yaml")));
  EXPECT_THAT(complaint("--shapes 64x64x64 --db none.db"), HasSubstr("none.db"));
  EXPECT_THAT(complaint("--devices --format yaml"), HasSubstr("yaml"));
}

TEST_F(Advise, HelpTeachesItByExample) {
  EXPECT_THAT(run("--help").out, HasSubstr("\n  advise "));
  EXPECT_THAT(run("advise --help").out, HasSubstr("Examples:\n  hgemm-tune advise"));
}

}  // namespace
}  // namespace hgemm
