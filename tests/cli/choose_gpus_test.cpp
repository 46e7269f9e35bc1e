// --devices: which GPUs a command uses.
#include "base/error.h"
#include "program/gpus.h"

namespace hgemm::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

VisibleGpu gpu(int index, const std::string& uuid, bool busy = false) {
  return {.index = index, .uuid = uuid, .name = "NVIDIA H200", .why_unusable = "", .busy = busy};
}

const std::vector<VisibleGpu> kHost = {
    gpu(0, "GPU-aa11", true),
    {.index = 1, .uuid = "GPU-bb22", .name = "NVIDIA A100", .why_unusable = "A100 has 8.0"},
    gpu(2, "GPU-cc33"),
    gpu(3, "GPU-cc44")};

std::vector<int> indices(const std::string& argument) {
  std::vector<int> chosen;
  for (const VisibleGpu& one : choose_gpus(kHost, argument)) chosen.push_back(one.index);
  return chosen;
}
auto refuses(const std::string& text) { return ThrowsMessage<InputError>(HasSubstr(text)); }

TEST(ChooseGpus, TheFirstIdleOneIsTheDefault) { EXPECT_THAT(indices(""), ElementsAre(2)); }

TEST(ChooseGpus, ABusyOneIsBetterThanNone) {
  const std::vector<VisibleGpu> busy = {gpu(0, "GPU-a", true), gpu(1, "GPU-b", true)};
  EXPECT_EQ(choose_gpus(busy, "").front().index, 0);
}

TEST(ChooseGpus, AllAreThoseThatKernelsRunOn) { EXPECT_THAT(indices("all"), ElementsAre(0, 2, 3)); }

TEST(ChooseGpus, ByIndexAndByTheStartOfAUuid) {
  EXPECT_THAT(indices("3,0"), ElementsAre(3, 0));
  EXPECT_THAT(indices("GPU-aa,2"), ElementsAre(0, 2));
}

TEST(ChooseGpus, WhatIsWrongIsSaid) {
  EXPECT_THAT([] { indices("7"); }, refuses("there is no GPU \"7\"; there are 0 = GPU-aa11"));
  EXPECT_THAT([] { indices("GPU-cc"); }, refuses("several GPUs begin so"));
  EXPECT_THAT([] { indices("2,GPU-cc33"); }, refuses("named twice"));
  EXPECT_THAT([] { indices("1"); }, refuses("A100 has 8.0"));
  EXPECT_THAT([] { indices("2,"); }, refuses("there is no GPU \"\""));
  EXPECT_THAT([] { choose_gpus(std::span(kHost).subspan(1, 1), "all"); },
              ThrowsMessage<NoDevice>(HasSubstr("A100 has 8.0")));
  EXPECT_THAT([] { choose_gpus({}, ""); }, ThrowsMessage<NoDevice>(HasSubstr("no GPU")));
}

}  // namespace
}  // namespace hgemm::cli
