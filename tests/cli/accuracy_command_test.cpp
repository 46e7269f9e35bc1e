// The accuracy command where there is no GPU, or no wish to use it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gemm/codec.h"
#include "studies/accuracy/accuracy.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using AccuracyCommand = ProgramTest;

const std::string kPromoted = "bm128.bn128.bk128.q4.c2x1.coop2.d0.acc128.group8.tma.persist";

Study measured(const std::string& problem, const std::string& label, double rms) {
  Study study;
  study.kind = kAccuracyStudy;
  study.label = label;
  study.problem = parse_problem(problem);
  study.verdict.correct = true;
  for (const AccuracyKind& kind : accuracy_kinds()) {
    add_figures(study.figures, kind.name,
                {.worst = 5 * rms, .rms = rms, .bias = -rms, .exact_rms = 1, .outputs = 4096});
  }
  return study;
}

TEST_F(AccuracyCommand, HelpTeachesByExample) {
  EXPECT_THAT(run("--help").out, HasSubstr("\n  accuracy "));
  EXPECT_THAT(run("accuracy --help").out,
              AllOf(HasSubstr("Examples:\n  hgemm-tune accuracy"), HasSubstr("cancelling"),
                    HasSubstr("--keep-d"), HasSubstr("fp64 product")));
}

TEST_F(AccuracyCommand, WithoutAGpuItSaysWhatWouldMeasure) {
  const Outcome outcome = run("accuracy --shapes 512x512x4096.e4m3 --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out), json::array());
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("nothing is measured now"), HasSubstr("To measure on a Hopper GPU")));
  EXPECT_EQ(run("accuracy --shapes 512x512x4096.e4m3 --require-gpu").exit_code, 1);
}

// Whatever is the best config now: what was recorded is shown.
TEST_F(AccuracyCommand, ShowsWhatADatabaseHas) {
  {
    Store store = Store::open((folder() / "a.db").string(), Store::Mode::kReadWrite);
    const std::int64_t session = store.begin_run(machine(), "hgemm-tune accuracy");
    store.record_study(session, measured("512x512x4096.e4m3.dfp32", kPromoted, 1e-5));
    store.record_study(session, measured("512x512x4096.e4m3.dfp32.accfast", "cublas", 3e-2));
    store.record_study(session, measured("512x512x4096.e4m3", kPromoted, 1e-3));
  }
  const std::string command = "accuracy --recorded --db a.db --shapes 512x512x4096.e4m3";
  const Outcome table = run(command);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("Recorded on NVIDIA H200"), HasSubstr("promoted, 128"),
                    HasSubstr("3.0e-02"), HasSubstr("-1.0e-05"), Not(HasSubstr("1.0e-03"))));
  EXPECT_THAT(json::parse(run(command + " --format json").out), SizeIs(10));
  EXPECT_THAT(json::parse(run(command + " --accumulate fast --format json").out), SizeIs(5));
  EXPECT_THAT(run(command + " --keep-d").out, HasSubstr("1.0e-03"));
}

TEST_F(AccuracyCommand, BadInputNamesWhatIsWrong) {
  const auto refused = [&](const std::string& arguments, const std::string& because) {
    const Outcome outcome = run("accuracy " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(because)) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  };
  refused("--shapes 64x64x64.bias", "the sums themselves");
  refused("--shapes 64x64x64.batch2", "a single product");
  refused("--shapes 64x64x64.e4m3.de4m3 --keep-d", "rounding D to 8 bits");
  refused("--shapes 64x64x64 --data zeros", "its own kinds of data");
  refused("--shapes 64x64x64.fp32", "fp32 is for the ladder");
  refused("--shapes 64x64x64.e4m3 --config nonsense", "nonsense");
  refused("--shapes 64x64x64 --config " + kPromoted, "can compute none of the shapes");
  refused("--shapes 64x64x64 --accumulate none", "promoted, fast or any");
  refused("--recorded --db none.db --shapes 64x64x64", "none.db");
}

}  // namespace
}  // namespace hgemm
