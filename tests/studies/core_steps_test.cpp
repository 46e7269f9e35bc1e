// The steps before Hopper: each has in it what its title says, and the one before has not. That all
// of them compile without a spill is in ladder_kernels_test.
#include <gmock/gmock.h>

#include <set>

#include "studies/ladder/ladder.h"
#include "tests/studies/support.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ptx_of(const std::string& step, DataType dtype) {
  return test::ptx_of(ladder_source({chosen_ladder_steps(step).front(), dtype}));
}

void expect_to_bring(const std::string& before, const std::string& step, DataType dtype,
                     const std::string& what) {
  EXPECT_THAT(ptx_of(before, dtype), Not(HasSubstr(what))) << before;
  EXPECT_THAT(ptx_of(step, dtype), HasSubstr(what)) << step;
}

TEST(CoreSteps, EachBringsWhatItsTitleSays) {
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16}) {
    SCOPED_TRACE(to_string(dtype));
    expect_to_bring("cuda_core.01", "cuda_core.02", dtype, "shfl.sync.bfly");
    expect_to_bring("cuda_core.02", "cuda_core.03", dtype, "ld.shared");
    expect_to_bring("cuda_core.05", "cuda_core.06", dtype, "ld.global.v4");
    expect_to_bring("cuda_core.05", "cuda_core.06", dtype, "ld.shared.v4");
    expect_to_bring("cuda_core.05", "cuda_core.06", dtype, "st.global.v");
    // Each operand has two tiles in shared memory.
    expect_to_bring("cuda_core.07", "cuda_core.08", dtype,
                    dtype == DataType::kFp32 ? "[33152]" : "[33024]");
  }
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16}) {
    SCOPED_TRACE(to_string(dtype));
    expect_to_bring("cuda_core.08", "tensor_core.01", dtype, "wmma.mma.sync");
    expect_to_bring("tensor_core.01", "tensor_core.02", dtype, "ldmatrix.sync");
    expect_to_bring("tensor_core.01", "tensor_core.02", dtype, "cp.async.cg");
    expect_to_bring("tensor_core.01", "tensor_core.02", dtype, "mma.sync.aligned.m16n8k16");
  }
}

// Its padding: 3 x 8 words for fp32 and 16 for the 16-bit types in each of the two tiles of 8 KiB.
TEST(CoreSteps, PaddingDiffersFromTheStepBefore) {
  expect_to_bring("cuda_core.06", "cuda_core.07", DataType::kFp32, "[8288]");
  expect_to_bring("cuda_core.06", "cuda_core.07", DataType::kBf16, "[8256]");
}

// What is added to an address in shared memory is constant, and so part of the instruction. Where a
// sum of u32 is the index of each access, NVRTC keeps 96 addresses: with them the multiply-adds
// lose the choice of their registers' banks, and step 08 is slower than step 07 in fp32.
TEST(CoreSteps, WarpTileHasFewAddresses) {
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp16}) {
    SCOPED_TRACE(to_string(dtype));
    const std::string ptx = ptx_of("cuda_core.08", dtype);
    std::set<std::string> addresses;
    for (std::size_t at = ptx.find("ld.shared.v4"); at != ptx.npos;
         at = ptx.find("ld.shared.v4", at + 1)) {
      const std::size_t begin = ptx.find('[', at);
      addresses.insert(ptx.substr(begin, ptx.find_first_of("+]", begin) - begin));
    }
    // A's and B's, before the loop, in it, and after the tiles have changed places.
    EXPECT_EQ(addresses.size(), 6);
  }
}

TEST(CoreSteps, Fp32IsForCudaCores) {
  for (const ladder::Step& step : chosen_ladder_steps("cuda_core")) {
    EXPECT_TRUE(supports(step, DataType::kFp32)) << step.name;
    EXPECT_TRUE(supports(step, DataType::kBf16) && supports(step, DataType::kFp16)) << step.name;
  }
  for (const ladder::Step& step : chosen_ladder_steps("tensor_core")) {
    EXPECT_FALSE(supports(step, DataType::kFp32)) << step.name;
  }
  EXPECT_EQ(ladder_label({chosen_ladder_steps("cuda_core.08").front(), DataType::kFp32}),
            "ladder.cuda_core.08_warp_tile.fp32");
  EXPECT_EQ(ladder_label({chosen_ladder_steps("tensor_core.02").front(), DataType::kFp16}),
            "ladder.tensor_core.02_mma_sync.fp16");
}

}  // namespace
}  // namespace hgemm
