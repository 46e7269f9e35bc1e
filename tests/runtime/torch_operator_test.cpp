// The operator of PyTorch with a torch and a driver that only note what they are asked for
// (fake_torch.h, fake_driver.h): what is launched with which operands, what is kept between calls,
// and when torch computes. tests/pytorch has a real torch, tests/gpu/pytorch_test.py a GPU, too.
#include <gmock/gmock.h>

#include "operators.h"
#include "tests/runtime/fake_driver.h"
#include "tests/runtime/fake_torch.h"
#include "tests/runtime/support.h"

namespace hgemm {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Extents = std::vector<std::int64_t>;

alignas(256) unsigned char memory[4][256];
unsigned char* const kX = memory[0];
unsigned char* const kWeight = memory[1];
unsigned char* const kBias = memory[2];
int streams[2];

Extents strides_of(const Extents& sizes) {
  Extents strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}
FakeTensor tensor(void* data, const Extents& sizes) {
  return {.data = data, .sizes = sizes, .strides = strides_of(sizes)};
}
std::uint64_t argument(const FakeTensor& content) {
  auto* const made = new FakeTensor(content);
  fake_torch().tensors.insert(made);
  return reinterpret_cast<std::uint64_t>(made);
}

class TorchOperator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fake_torch().minor_version = 10;
    EXPECT_NE(hgemm_torch_register(), 0);
    EXPECT_STREQ(hgemm_torch_error(), "this is torch 2.10: install torch 2.11 or newer");
    EXPECT_THAT(fake_torch().schemas, IsEmpty());
    fake_torch().minor_version = 15;
    ASSERT_EQ(hgemm_torch_register(), 0) << hgemm_torch_error();
  }

  void SetUp() override {
    fake_driver() = {};
    auto& torch = fake_torch();
    torch.called.clear();
    torch.allocated.clear();
    torch.grad_mode = false;
    torch.has_memory_for = 1000;
    torch.failing.clear();
    fake_current_stream() = &streams[0];
    ASSERT_EQ(hgemm_bundle_prepare(opened.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER), 0);
    hgemm_torch_use(opened.bundle, 0);
  }
  void TearDown() override {
    hgemm_torch_use(nullptr, 0);
    EXPECT_THAT(fake_driver().allocated, IsEmpty());
    EXPECT_THAT(fake_torch().tensors, IsEmpty());
    EXPECT_EQ(fake_torch().strings, 0);
  }

  /// The result's sizes. Nothing is computed, so only what it is counts.
  Extents linear(const FakeTensor& x, const FakeTensor& weight, const FakeTensor* bias = nullptr,
                 const char* activation = nullptr, const char* kernel = "_linear CUDA") {
    std::uint64_t stack[4] = {argument(x), argument(weight), 0, 0};
    if (bias != nullptr) {
      stack[2] = reinterpret_cast<std::uint64_t>(new std::uint64_t(argument(*bias)));
    }
    stack[3] = optional_text(activation);
    fake_torch().kernels.at(kernel)(stack, 4, 1);
    return taken(stack);
  }
  Extents gated_linear(const FakeTensor& x, const FakeTensor& weight, const char* activation,
                       const char* kernel = "_gated_linear CUDA") {
    std::uint64_t stack[3] = {argument(x), argument(weight), optional_text(activation)};
    fake_torch().kernels.at(kernel)(stack, 3, 1);
    return taken(stack);
  }
  Extents siblings(const FakeTensor& x, const FakeTensor& first, const FakeTensor& second,
                   const FakeTensor* first_bias = nullptr,
                   const FakeTensor* second_bias = nullptr) {
    const auto optional = [](const FakeTensor* bias) {
      return bias == nullptr ? std::uint64_t{0}
                             : reinterpret_cast<std::uint64_t>(new std::uint64_t(argument(*bias)));
    };
    std::uint64_t stack[7] = {argument(x),
                              argument(first),
                              argument(second),
                              0,
                              optional(first_bias),
                              optional(second_bias),
                              0};
    fake_torch().kernels.at("_siblings CUDA")(stack, 7, 1);
    return taken(stack);
  }
  Extents gated_siblings(const FakeTensor& x, const FakeTensor& gate, const FakeTensor& up) {
    std::uint64_t stack[4] = {argument(x), argument(gate), argument(up), optional_text("silu")};
    fake_torch().kernels.at("_gated_siblings CUDA")(stack, 4, 1);
    return taken(stack);
  }
  static std::uint64_t optional_text(const char* content) {
    if (content == nullptr) return 0;
    auto* const text = new std::string(content);
    ++fake_torch().strings;
    return reinterpret_cast<std::uint64_t>(
        new std::uint64_t(reinterpret_cast<std::uint64_t>(text)));
  }
  Extents taken(const std::uint64_t* stack) {
    const auto* const result = reinterpret_cast<FakeTensor*>(stack[0]);
    last_data_ = result->data;
    Extents sizes = result->sizes;
    EXPECT_EQ(result->strides, strides_of(sizes));
    fake_torch().tensors.erase(reinterpret_cast<FakeTensor*>(stack[0]));
    delete result;
    return sizes;
  }
  static std::pair<std::int64_t, std::int64_t> counts() {
    std::int64_t tuned = 0, others = 0;
    hgemm_torch_counts(&tuned, &others);
    return {tuned, others};
  }

  Opened opened;
  const FakeTensor x = tensor(kX, {2, 128, 640});
  const FakeTensor weight = tensor(kWeight, {512, 640});
  void* last_data_ = nullptr;
};

TEST_F(TorchOperator, LaunchesWithTheOperandsOnTheCurrentStream) {
  EXPECT_EQ(linear(x, weight), (Extents{2, 128, 512}));
  ASSERT_THAT(fake_driver().launches, SizeIs(1));
  const FakeLaunch& launch = fake_driver().launches[0];
  EXPECT_EQ(launch.m, 256);
  EXPECT_EQ(launch.a_map, kX);
  EXPECT_EQ(launch.b_map, kWeight);
  EXPECT_EQ(launch.stream, &streams[0]);
  EXPECT_THAT(fake_torch().called, IsEmpty());
  EXPECT_EQ(linear(tensor(kX, {640}), weight), (Extents{512}));
  EXPECT_EQ(fake_driver().launches.back().m, 1);
  EXPECT_EQ(counts(), std::pair(std::int64_t{2}, std::int64_t{0}));
}

TEST_F(TorchOperator, KeepsAPlanForEachWeight) {
  linear(x, weight);
  EXPECT_THAT(fake_driver().encoded, Contains(kWeight));
  fake_driver().encoded.clear();
  linear(x, weight);
  EXPECT_THAT(fake_driver().encoded, Not(Contains(kWeight)));
  // Another shape at the address of a tensor that is gone.
  linear(tensor(kX, {384, 4096}), tensor(kWeight, {256, 4096}));
  EXPECT_THAT(fake_driver().encoded, Contains(kWeight));
}

TEST_F(TorchOperator, StridesSayTheLayout) {
  FakeTensor columns = tensor(kX, {256, 640}), transposed = weight;
  columns.strides = {1, 256};
  transposed.strides = {1, 512};
  linear(columns, transposed);
  EXPECT_EQ(counts().first, 1) << "NT is in the table";
  linear(columns, weight);
  EXPECT_EQ(counts().second, 1) << "NN is not";
  EXPECT_THAT(opened.misses(), HasSubstr("layout: NN"));
  FakeTensor padded = tensor(kX, {4, 64, 640});
  padded.strides = {64 * 648, 648, 1};
  linear(padded, weight);
  EXPECT_EQ(counts().first, 2);
  padded.strides = {648, 4 * 648, 1};  // no stride leads through all rows
  linear(padded, weight);
  FakeTensor expanded = tensor(kX, {256, 640});
  expanded.strides = {0, 1};
  linear(expanded, weight);
  EXPECT_EQ(counts(), std::pair(std::int64_t{2}, std::int64_t{3}));
}

TEST_F(TorchOperator, EpiloguesAreThoseOfTorch) {
  const FakeTensor bias = tensor(kBias, {512});
  linear(x, weight, &bias, "gelu_tanh");
  EXPECT_THAT(fake_torch().called, IsEmpty());
  EXPECT_EQ(counts().first, 1);
  linear(x, weight, &bias, "gelu");  // with erf, for which there is no kernel
  EXPECT_THAT(fake_torch().called, ElementsAre("aten::linear", "aten::gelu"));
  EXPECT_THAT(opened.misses(), HasSubstr("epilogue: bias-gelu_erf"));
}

TEST_F(TorchOperator, TorchComputesWhatTheBundleIsNotFor) {
  FakeTensor fp32_x = x, fp32_weight = weight, other_x = x, other_weight = weight;
  fp32_x.dtype = fp32_weight.dtype = kFakeFp32;
  EXPECT_EQ(linear(fp32_x, fp32_weight), (Extents{2, 128, 512}));
  other_x.device_index = other_weight.device_index = 1;
  linear(other_x, other_weight);  // its driver is not one of the bundle's, so it is not prepared
  FakeTensor misaligned = x;
  misaligned.data = kX + 2;
  linear(misaligned, weight);
  linear(tensor(kX, {0, 640}), weight);
  EXPECT_EQ(counts(), std::pair(std::int64_t{0}, std::int64_t{4}));
  other_x.device_type = other_weight.device_type = kFakeCpu;
  linear(other_x, other_weight, nullptr, nullptr, "_linear CPU");
  EXPECT_EQ(counts().second, 4) << "calls on CUDA devices are counted";
  hgemm_torch_use(nullptr, 0);
  linear(x, weight);
  EXPECT_THAT(fake_torch().called, SizeIs(6));
  EXPECT_THAT(fake_driver().launches, IsEmpty());
}

TEST_F(TorchOperator, OnlyGainsAndTheRestIsMissed) {
  hgemm_torch_use(opened.bundle, 1);
  linear(x, weight);
  EXPECT_EQ(counts().first, 1);
  fake_torch().allocated.clear();
  linear(tensor(kX, {1, 640}), weight);   // no gain
  linear(tensor(kX, {63, 640}), weight);  // not tuned
  EXPECT_EQ(counts().second, 2);
  EXPECT_THAT(fake_torch().allocated, IsEmpty()) << "no result that torch then has to make again";
  EXPECT_THAT(opened.misses(), HasSubstr("m: 63, n: 512, k: 640, weight: 1}"));
  EXPECT_THAT(opened.misses(), Not(HasSubstr("m: 1,")));
}

TEST_F(TorchOperator, WhatTorchComputesIsKnownByItsShapes) {
  const auto call = [](std::int64_t m, std::int64_t n = 512) {
    return hgemm_torch_linear{
        .m = m, .n = n, .k = 640, .is_bf16 = 1, .has_bias = 0, .activation = nullptr};
  };
  const auto falls_back = [](const hgemm_torch_linear& of) {
    return hgemm_torch_falls_back(&of) != 0;
  };
  EXPECT_FALSE(falls_back(call(1))) << "gain or not";
  hgemm_torch_use(opened.bundle, 1);
  EXPECT_FALSE(falls_back(call(256)));
  EXPECT_TRUE(falls_back(call(1))) << "no gain";
  EXPECT_TRUE(falls_back(call(63))) << "not tuned";
  EXPECT_TRUE(falls_back(call(0)));
  hgemm_torch_linear other = call(256);
  other.is_bf16 = 0;
  EXPECT_TRUE(falls_back(other));
  other = call(256);
  other.activation = "tanh";
  EXPECT_FALSE(falls_back(other)) << "the operator refuses it";
  other.activation = "gelu_tanh";
  EXPECT_TRUE(falls_back(other));
  EXPECT_THAT(opened.misses(), HasSubstr("shapes: []")) << "a question is no call";
  const hgemm_torch_linear no_gain = call(1), not_tuned = call(63);
  hgemm_torch_count_fallbacks(&no_gain, 5);
  hgemm_torch_count_fallbacks(&not_tuned, 7);
  linear(tensor(kX, {63, 640}), weight);
  EXPECT_EQ(counts(), std::pair(std::int64_t{0}, std::int64_t{13}));
  EXPECT_THAT(opened.misses(), HasSubstr("m: 63, n: 512, k: 640, weight: 8}"));
  EXPECT_THAT(opened.misses(), Not(HasSubstr("m: 1,")));
  hgemm_torch_use(nullptr, 0);
  EXPECT_TRUE(falls_back(call(256)));
}

TEST_F(TorchOperator, AnXBetweenUnitsIsPackedInAWorkspace) {
  Opened packing(bundle_bytes(plan_with_packing()));
  ASSERT_EQ(hgemm_bundle_prepare(packing.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER), 0);
  hgemm_torch_use(packing.bundle, 0);
  FakeTensor between = x;
  between.data = kX + 2;
  for (int call = 0; call < 2; ++call) linear(between, weight);
  EXPECT_EQ(counts(), std::pair(std::int64_t{2}, std::int64_t{0}));
  EXPECT_THAT(fake_driver().allocated, SizeIs(1));
  ASSERT_THAT(fake_driver().launches, SizeIs(4));
  EXPECT_EQ(fake_driver().launches[2].packed, kX + 2);
  EXPECT_EQ(fake_driver().launches[3].d, last_data_);
  hgemm_torch_use(packing.bundle, 1);
  linear(between, weight);
  EXPECT_EQ(counts().second, 1) << "that kernel's gain was measured at another K";
  EXPECT_THAT(packing.misses(), HasSubstr("shapes: []")) << "no tune would mend it";
  hgemm_torch_use(nullptr, 0);
}

TEST_F(TorchOperator, StreamsHaveWorkspacesAndGraphsTheirOwn) {
  const FakeTensor rows = tensor(kX, {384, 4096}), deep = tensor(kWeight, {256, 4096});
  linear(rows, deep);
  linear(rows, deep);
  EXPECT_THAT(fake_driver().allocated, SizeIs(1));
  EXPECT_THAT(fake_driver().lowered, SizeIs(1));
  fake_current_stream() = &streams[1];
  linear(rows, deep);
  EXPECT_THAT(fake_driver().allocated, SizeIs(2));
  fake_torch().allocated.clear();
  fake_driver().capturing = &streams[1];
  for (int launch = 0; launch < 2; ++launch) linear(rows, deep);
  EXPECT_THAT(fake_driver().allocated, SizeIs(2)) << "the driver allocates nothing in a capture";
  EXPECT_THAT(fake_driver().lowered, SizeIs(4)) << "each launch in a graph lowers its flags";
  EXPECT_THAT(fake_torch().allocated, SizeIs(4)) << "results and workspaces";
  EXPECT_EQ(counts().first, 5);
  // torch may give the memory to others, so it is not known as a workspace any more.
  hgemm_tuned_problem problem = c_problem(0, 256, 4096);
  hgemm_bundle_plan* plan = nullptr;
  ASSERT_EQ(hgemm_bundle_plan_create(opened.bundle, 0, &problem, kWeight, 0, &plan), 0);
  hgemm_tuned_operands operands{};
  operands.a = kX;
  operands.d = kBias;
  void* const of_graph = const_cast<void*>(fake_driver().lowered.back());
  EXPECT_EQ(hgemm_bundle_plan_launch(plan, &streams[0], 384, &operands, of_graph, 1 << 30),
            HGEMM_TUNED_WORKSPACE_NOT_INITIALISED);
  hgemm_bundle_plan_destroy(plan);
}

TEST_F(TorchOperator, AStreamIsKnownByItsIdNotByItsHandle) {
  const FakeTensor rows = tensor(kX, {384, 4096}), deep = tensor(kWeight, {256, 4096});
  auto& driver = fake_driver();
  const auto call_on = [&](void* stream, unsigned long long id) {
    fake_current_stream() = stream;
    driver.stream_ids[stream] = id;
    linear(rows, deep);
  };
  call_on(&streams[0], 5);
  call_on(&streams[0], 6);  // the first was destroyed, and its launches may still run
  EXPECT_THAT(driver.lowered, SizeIs(2)) << "another stream has a workspace of its own";
  EXPECT_THAT(driver.allocated, SizeIs(1)) << "that of the stream which is gone was freed";
  void* const of_each_thread = reinterpret_cast<void*>(2);
  for (const unsigned long long id : {7u, 8u, 7u}) call_on(of_each_thread, id);
  EXPECT_THAT(driver.lowered, SizeIs(4));
  EXPECT_THAT(driver.allocated, SizeIs(3)) << "one handle, two streams that are there";
  EXPECT_EQ(counts().second, 0);
  call_on(&streams[1], 0);
  EXPECT_EQ(counts(), std::pair(std::int64_t{5}, std::int64_t{1})) << "if none is known, torch";
  fake_current_stream() = nullptr;  // whose number is not asked for
  linear(rows, deep);
  EXPECT_EQ(counts().first, 6);
}

TEST_F(TorchOperator, WithoutMemoryTorchHasTheErrorToRaise) {
  fake_torch().has_memory_for = 0;
  linear(x, weight);
  EXPECT_THAT(fake_torch().called, ElementsAre("aten::linear"));
  EXPECT_EQ(counts(), std::pair(std::int64_t{0}, std::int64_t{1}));
  EXPECT_THAT(fake_driver().launches, IsEmpty());
  fake_torch().failing.insert("aten::linear");
  for (const char* kernel : {"_linear CUDA", "linear CompositeImplicitAutograd"}) {
    try {
      linear(x, weight, nullptr, nullptr, kernel);
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {  // pytorch.py knows it by these words
      EXPECT_STREQ(error.what(), "hgemm_tune: torch failed in aten::linear: it is a fake");
    }
  }
}

TEST_F(TorchOperator, AGraphWithoutMemoryForAWorkspaceIsTorchs) {
  fake_driver().capturing = &streams[0];
  fake_torch().has_memory_for = 1;  // the result
  linear(tensor(kX, {384, 4096}), tensor(kWeight, {256, 4096}));
  EXPECT_THAT(fake_torch().called, ElementsAre("aten::linear"));
  EXPECT_THAT(fake_torch().allocated, SizeIs(1));
}

TEST_F(TorchOperator, ModeOfGradientsChooses) {
  linear(x, weight, nullptr, "gelu", "linear CompositeImplicitAutograd");
  EXPECT_EQ(fake_torch().called[0], "hgemm_tune::_linear");
  fake_torch().called.clear();
  fake_torch().grad_mode = true;
  linear(x, weight, nullptr, "gelu", "linear CompositeImplicitAutograd");
  EXPECT_THAT(fake_torch().called, ElementsAre("hgemm_tune::_linear_with_grad", "aten::gelu"));
  EXPECT_EQ(counts().first, 1) << "the product without its activation is in the table";
}

TEST_F(TorchOperator, AGatedWeightIsGatesAndThenUps) {
  Opened gates(bundle_bytes(plan_with_gates()));
  ASSERT_EQ(hgemm_bundle_prepare(gates.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER), 0);
  hgemm_torch_use(gates.bundle, 1);
  EXPECT_EQ(gated_linear(x, weight, "silu"), (Extents{2, 128, 256}));
  ASSERT_THAT(fake_driver().launches, SizeIs(1));
  EXPECT_EQ(fake_driver().launches[0].m, 256);
  EXPECT_THAT(fake_torch().called, IsEmpty());
  linear(x, weight);  // the same weight without a gate has a plan of its own
  EXPECT_EQ(counts().first, 2);
  EXPECT_EQ(gated_linear(x, weight, "gelu"), (Extents{2, 128, 256}));
  EXPECT_THAT(fake_torch().called, ElementsAre("aten::linear", "aten::narrow", "aten::narrow",
                                               "aten::gelu", "aten::mul"));
  EXPECT_THAT(gates.misses(), HasSubstr("epilogue: geglu_erf"));
  fake_torch().called.clear();
  fake_torch().grad_mode = true;
  EXPECT_EQ(gated_linear(x, weight, nullptr, "gated_linear CompositeImplicitAutograd"),
            (Extents{2, 128, 256}));
  EXPECT_THAT(fake_torch().called, ElementsAre("hgemm_tune::_linear_with_grad", "aten::narrow",
                                               "aten::narrow", "aten::mul"));
  EXPECT_THROW(gated_linear(x, tensor(kWeight, {511, 640}), "silu"), std::runtime_error);
  hgemm_torch_use(nullptr, 0);
}

TEST_F(TorchOperator, WeightsOneAfterAnotherAreOneProduct) {
  alignas(256) static unsigned char weights[512 * 640 * 2];
  const FakeTensor first = tensor(weights, {384, 640}),
                   second = tensor(weights + 384 * 640 * 2, {128, 640});
  EXPECT_EQ(siblings(x, first, second), (Extents{2, 128, 512}));
  ASSERT_THAT(fake_driver().launches, SizeIs(1));
  EXPECT_EQ(fake_driver().launches[0].b_map, weights);
  EXPECT_THAT(fake_torch().called, IsEmpty());
  EXPECT_EQ(siblings(x, second, first), (Extents{2, 128, 512})) << "in another order";
  const std::vector<std::string> alone = {"hgemm_tune::_linear", "aten::narrow", "aten::copy_"};
  std::vector<std::string> expected = alone;
  expected.insert(expected.end(), alone.begin(), alone.end());
  EXPECT_EQ(fake_torch().called, expected);
  FakeTensor other_type = second;
  other_type.dtype = kFakeFp32;
  EXPECT_THROW(siblings(x, first, other_type), std::runtime_error);
  const FakeTensor bias = tensor(kBias, {384}), other_bias = tensor(kBias + 384 * 2, {128});
  fake_torch().called.clear();
  EXPECT_EQ(siblings(x, first, second, &bias, &other_bias), (Extents{2, 128, 512}));
  EXPECT_THAT(opened.misses(), HasSubstr("n: 512, k: 640, epilogue: bias"));
  EXPECT_THAT(fake_torch().called, ElementsAre("aten::linear"));
  EXPECT_THROW(siblings(x, first, second, &bias), std::runtime_error);
}

TEST_F(TorchOperator, AGateAndItsUpAreOneProduct) {
  alignas(256) static unsigned char weights[512 * 640 * 2];
  Opened gates(bundle_bytes(plan_with_gates()));
  ASSERT_EQ(hgemm_bundle_prepare(gates.bundle, 0, HGEMM_BUNDLE_ANY_DRIVER), 0);
  hgemm_torch_use(gates.bundle, 1);
  const FakeTensor gate = tensor(weights, {256, 640}),
                   up = tensor(weights + 256 * 640 * 2, {256, 640});
  EXPECT_EQ(gated_siblings(x, gate, up), (Extents{2, 128, 256}));
  EXPECT_EQ(counts().first, 1);
  EXPECT_THAT(fake_torch().called, IsEmpty());
  EXPECT_EQ(gated_siblings(x, up, gate), (Extents{2, 128, 256}));
  EXPECT_EQ(fake_torch().called.back(), "aten::mul");
  hgemm_torch_use(nullptr, 0);
}

TEST_F(TorchOperator, RefusalsFreeTheirArguments) {
  const FakeTensor wide = tensor(kWeight, {512, 641}), bias = tensor(kBias, {512});
  EXPECT_THROW(linear(x, wide, &bias, "relu"), std::runtime_error);
  EXPECT_THROW(linear(x, weight, &bias, "tanh"), std::runtime_error);
  EXPECT_THROW(linear(x, weight, &x), std::runtime_error);
  fake_torch().grad_mode = true;
  EXPECT_THROW(linear(x, weight, &bias, "tanh", "linear CompositeImplicitAutograd"),
               std::runtime_error);
}

}  // namespace
}  // namespace hgemm
