// The command that times quantising, where there is no GPU, or no wish to use it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gemm/codec.h"
#include "studies/quantise/series.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

using QuantiseCommand = ProgramTest;

const std::string kPromoted = "bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist";

TEST_F(QuantiseCommand, RefusesWhatHasNothingToQuantise) {
  const auto refused = [&](const std::string& shapes, const char* why) {
    const Outcome outcome = run("quantise --shapes " + shapes);
    EXPECT_EQ(outcome.exit_code, 2) << shapes;
    EXPECT_THAT(outcome.err, HasSubstr(why));
  };
  refused("512x512x512", "has no 8-bit operands, and nothing to quantise; leave it out");
  refused("512x512x512.e4m3", "no configuration is known to be the best");
  refused("64x64x64.e4m3.batch4", "is a batch");
  refused("64x64x64.e5m2", "has no library to compare with: cuBLASLt has no product of two e5m2");
}

TEST_F(QuantiseCommand, WithoutAGpuItSaysWhatWouldMeasure) {
  const Outcome outcome =
      run("quantise --shapes 512x512x512.e4m3 --format json --config " + kPromoted);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out), json::array());
  EXPECT_THAT(outcome.err, HasSubstr("nothing is measured now"));
  EXPECT_EQ(run("quantise --shapes 512x512x512.e4m3 --require-gpu --config " + kPromoted).exit_code,
            1);
  EXPECT_THAT(run("quantise --help").out, HasSubstr("Examples:\n  hgemm-tune quantise"));
}

}  // namespace
}  // namespace hgemm
