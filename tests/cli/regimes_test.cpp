// --regime, --objective and --energy, where they are answered from what is recorded.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Regimes : public ProgramTest {
 protected:
  /// Another config is best in burst.
  static Race burst(const GemmProblem& problem) {
    Race other = race(problem, Regime::kBurst);
    other.trials[0].label = kOtherLabel;
    return other;
  }
  /// kLabel is faster, kOtherLabel takes less energy.
  static Race weighed(const GemmProblem& problem) {
    Race both = race(problem);
    both.trials.push_back(finalist(kOtherLabel, 9.2));
    for (Trial& trial : both.trials) {
      const double power_w = trial.label == kOtherLabel ? 500 : 700;
      trial.energy = Energy{.window_s = 2, .power_w = power_w, .time_us = trial.samples[0].time_us};
    }
    return both;
  }
  json rows(const std::string& arguments) const {
    const Outcome best = run(arguments + " --format json");
    EXPECT_EQ(best.exit_code, 0) << best.err;
    return json::parse(best.out);
  }
};

TEST_F(Regimes, BestShowsAllOrTheOneAskedFor) {
  record(folder() / "hgemm-tune.db", {race(problem(512, 512, 512)), burst(problem(512, 512, 512)),
                                      race(problem(1024, 512, 512))});
  EXPECT_THAT(rows("best"), SizeIs(3));
  EXPECT_THAT(rows("best --regime both"), SizeIs(3));
  const json burst_only = rows("best --regime burst");
  ASSERT_THAT(burst_only, SizeIs(1));
  EXPECT_EQ(burst_only[0].at("regime"), "burst");
  EXPECT_EQ(burst_only[0].at("label"), kOtherLabel);
  const json sustained = rows("best --regime sustained --shapes 512x512x512");
  ASSERT_THAT(sustained, SizeIs(1));
  EXPECT_EQ(sustained[0].at("label"), kLabel);

  const json missing = rows("best --regime burst --shapes 1024x512x512");
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].at("regime"), "burst");
  EXPECT_TRUE(missing[0].at("label").is_null());
}

TEST_F(Regimes, BestSaysIfNothingIsRecordedInTheRegime) {
  record(folder() / "hgemm-tune.db", {race(problem(512, 512, 512))});
  const Outcome best = run("best --regime burst");
  EXPECT_EQ(best.exit_code, 0) << best.err;
  EXPECT_THAT(best.out, AllOf(HasSubstr("in the burst regime"), HasSubstr("--regime burst"),
                              Not(HasSubstr(kLabel))));
  EXPECT_THAT(rows("best --regime burst"), IsEmpty());
}

TEST_F(Regimes, BestByEnergyIsAnotherConfig) {
  record(folder() / "hgemm-tune.db",
         {weighed(problem(512, 512, 512)), burst(problem(512, 512, 512))});
  const json by_time = rows("best --regime sustained");
  EXPECT_EQ(by_time.at(0).at("label"), kLabel);
  const json by_energy = rows("best --objective energy");
  ASSERT_THAT(by_energy, SizeIs(1)) << "energy is not measured in burst";
  EXPECT_EQ(by_energy[0].at("label"), kOtherLabel);
  EXPECT_NEAR(by_energy[0].at("joules"), 500 * 9.2e-6, 1e-9);
  EXPECT_LT(by_energy[0].at("joules"), by_time[0].at("joules"));
}

TEST_F(Regimes, BestByEnergySaysWhereItWasNotMeasured) {
  record(folder() / "hgemm-tune.db",
         {weighed(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  const Outcome best = run("best --objective energy");
  EXPECT_EQ(best.exit_code, 0);
  EXPECT_THAT(best.out, HasSubstr(kLabel));
  EXPECT_THAT(best.err, AllOf(HasSubstr("1 shapes"), HasSubstr("--objective energy")));
  EXPECT_THAT(run("best --objective energy --shapes 512x512x512").err, IsEmpty());
}

TEST_F(Regimes, WithoutAGpuTheRegimeAskedForAnswers) {
  install_with_recorded(
      {race(problem(512, 512, 512)), burst(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  const Outcome by_default = run("--shapes 512x512x512,1024x512x512");
  EXPECT_EQ(by_default.exit_code, 0) << by_default.err;
  EXPECT_THAT(by_default.out, AllOf(HasSubstr(kLabel), Not(HasSubstr(kOtherLabel)),
                                    Not(HasSubstr("missing")), Not(HasSubstr("To measure"))));

  const Outcome in_burst = run("--shapes 512x512x512,1024x512x512 --regime burst");
  EXPECT_EQ(in_burst.exit_code, 0) << in_burst.err;
  EXPECT_THAT(in_burst.out, AllOf(HasSubstr(kOtherLabel), Not(HasSubstr(kLabel))));
  EXPECT_THAT(first_line(in_burst.out),
              AllOf(HasSubstr("1 of 2 shapes is missing in the burst regime"),
                    HasSubstr("hgemm-tune --shapes 512x512x512,1024x512x512 --regime burst")));

  const Outcome in_both = run("--shapes 512x512x512,1024x512x512 --regime both");
  EXPECT_THAT(in_both.out, AllOf(HasSubstr(kOtherLabel), HasSubstr(kLabel)));
  EXPECT_THAT(first_line(in_both.out),
              AllOf(HasSubstr("1 of 2 shapes is missing in the burst regime"),
                    Not(HasSubstr("the sustained regime")), HasSubstr("--regime both")));

  EXPECT_THAT(first_line(run("--shapes 1024x512x512 --regime burst").out),
              HasSubstr("None of these shapes was recorded elsewhere in the burst regime"));
}

TEST_F(Regimes, WithoutAGpuTheObjectiveAskedForAnswers) {
  install_with_recorded({weighed(problem(512, 512, 512)), race(problem(1024, 512, 512))});
  EXPECT_EQ(rows("--shapes 512x512x512").at(0).at("label"), kLabel);
  EXPECT_EQ(rows("--shapes 512x512x512 --objective energy").at(0).at("label"), kOtherLabel);
  EXPECT_THAT(first_line(run("--shapes 512x512x512,1024x512x512 --objective energy").out),
              AllOf(HasSubstr("The energy of 1 of 2 shapes was not measured"),
                    HasSubstr("hgemm-tune --shapes 512x512x512,1024x512x512 --objective energy")));
  EXPECT_THAT(first_line(run("--shapes 1024x512x512 --energy").out),
              AllOf(HasSubstr("not measured"), HasSubstr("--shapes 1024x512x512 --energy")));
  EXPECT_THAT(first_line(run("--shapes 512x512x512 --energy").out), Not(HasSubstr("To measure")));
}

TEST_F(Regimes, PdlNamesTheMostThatAKernelMayDo) {
  Race both = race(problem(512, 512, 512), Regime::kSustained, 8);
  both.trials[0].label = std::string(kLabel) + ".pdl";
  both.trials.push_back(finalist(kOtherLabel, 9));
  record(folder() / "hgemm-tune.db", {both});
  EXPECT_EQ(rows("best").at(0).at("pdl"), "safe");
  EXPECT_EQ(rows("best --pdl safe").at(0).at("pdl"), "safe");
  const json off = rows("best --pdl off");
  EXPECT_EQ(off.at(0).at("label"), kOtherLabel);
  EXPECT_EQ(off.at(0).at("pdl"), "off");
  const Outcome unknown = run("best --pdl on");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--pdl on: use off, safe or weights"));
  const Outcome contradiction =
      run(std::string("--shapes 512x512x512 --pdl off --config ") + kLabel + ".pdl");
  EXPECT_EQ(contradiction.exit_code, 2);
  EXPECT_THAT(contradiction.err,
              HasSubstr("its PDL kind is safe, and --pdl off does not allow it"));
}

TEST_F(Regimes, BatchInvariantConfigsHaveAPrice) {
  const std::string cut = "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.csplit2";
  Race both = race(problem(512, 512, 512));
  both.trials.push_back(finalist(cut, 7.5));
  record(folder() / "hgemm-tune.db", {both, race(problem(1024, 512, 512))});
  EXPECT_EQ(rows("best --shapes 512x512x512").at(0).at("label"), cut);
  EXPECT_TRUE(rows("best").at(0).at("price").is_null());
  const json invariant = rows("best --batch-invariant");
  ASSERT_THAT(invariant, SizeIs(2));
  EXPECT_EQ(invariant[0].at("label"), kLabel);
  EXPECT_NEAR(invariant[0].at("price"), 9 / 7.5, 1e-9);
  EXPECT_EQ(invariant[0].at("any_kind_label"), cut);
  EXPECT_TRUE(invariant[1].at("price").is_null()) << "no config of another kind was measured";
  EXPECT_THAT(run("best --batch-invariant").out,
              AllOf(HasSubstr("price"), HasSubstr("1.200"), HasSubstr("geomean"),
                    HasSubstr("not known at 1 of 2 shapes")));
  const Outcome with_libraries = run("best --batch-invariant --with-libraries");
  EXPECT_EQ(with_libraries.exit_code, 2);
  EXPECT_THAT(with_libraries.err, HasSubstr("the bits of a library's result may follow M"));
}

TEST_F(Regimes, BatchInvarianceRefusesWhatHasNone) {
  install_with_recorded({race(problem(512, 512, 512))});
  const Outcome config =
      run("--shapes 512x512x512 --batch-invariant --config "
          "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.csplit2");
  EXPECT_EQ(config.exit_code, 2);
  EXPECT_THAT(config.err,
              HasSubstr("it sums parts of K apart, and --batch-invariant does not allow it"));
  for (const char* command : {"", "best --recorded", "plan", "plan --explain",
                              "export --format json -o out --recorded"}) {
    const Outcome shape =
        run(std::string(command) + " --batch-invariant --shapes 512x512x512.scaled-bias");
    EXPECT_EQ(shape.exit_code, 2) << command << shape.out;
    EXPECT_THAT(shape.err, HasSubstr("shape 512x512x512.scaled-bias: --batch-invariant: alpha"));
  }
  const Outcome missing = run("--shapes 1024x512x512 --batch-invariant");
  EXPECT_THAT(missing.out, HasSubstr("hgemm-tune --shapes 1024x512x512 --batch-invariant"));
}

TEST_F(Regimes, ImpossibleShapesAreSaidOnce) {
  install_with_recorded({race(problem(512, 512, 512)), burst(problem(512, 512, 512))});
  Race impossible = race(problem(64, 64, 16));
  impossible.problem.set_types(DataType::kFp32);
  impossible.trials.resize(1);
  impossible.trials[0].status = Status::kInvalidConfig;
  impossible.trials[0].samples.clear();
  Race again = impossible;
  again.regime = Regime::kBurst;
  record(folder() / "hgemm-tune.db", {impossible, again});
  EXPECT_THAT(run("best").out, AllOf(StartsWith("Impossible: 64x64x16.fp32"),
                                     testing::Not(testing::ContainsRegex("Impossible.*\n.*Imp"))));
}

}  // namespace
}  // namespace hgemm
