// Problems: what no kernel computes, and what one kernel cannot, with the reasons.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "families/family.h"

namespace hgemm {
namespace {

constexpr GemmKind kWideOutput{DataType::kBf16, DataType::kFp32};
constexpr GemmKind kNT{.a_major = Major::kMn, .b_major = Major::kMn};
constexpr GemmKind kBatched{.batched = true};

constexpr GemmKind extents_of(int m, int n, int k) { return {.m = m, .n = n, .k = k}; }

constexpr ProblemExtents without_padding(long long m, long long n, long long k) {
  return {m, n, k, k, k, n};
}

TEST(Problems, WhatNoKernelComputesHasAReason) {
  EXPECT_EQ(why_unsupported(without_padding(1, 1, 1)), nullptr);
  EXPECT_EQ(why_unsupported(without_padding(333, 4097, 71)), nullptr);
  EXPECT_EQ(why_unsupported({8, 8, 8, 9, 10, 11}), nullptr);
  EXPECT_NE(why_unsupported(without_padding(0, 64, 64)), nullptr);
  EXPECT_NE(why_unsupported(without_padding(64, 64, 1LL << 31)), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 7, 8, 8}), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 8, 8, 7}), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 8, 1LL << 31, 8}), nullptr);
}

TEST(Problems, EachExtentIsBoundedByItself) {
  constexpr long long kLargest = 1LL << 30;
  const auto reason = [](const ProblemExtents& extents) {
    const char* text = why_unsupported(extents);
    return std::string(text != nullptr ? text : "");
  };
  EXPECT_EQ(reason(without_padding(kLargest, kLargest, kLargest)), "");
  EXPECT_EQ(reason({1, 1, 1, kLargest, kLargest, kLargest}), "");
  for (const auto& [m, n, k] :
       {std::array{kLargest + 1, 1LL, 1LL}, {1LL, kLargest + 1, 1LL}, {1LL, 1LL, kLargest + 1}}) {
    // Not what is said of the leading dimensions, which are too long then as well.
    EXPECT_EQ(reason(without_padding(m, n, k)), "M, N and K must be at most 2^30")
        << m << "x" << n << "x" << k;
  }
  const std::string leading = "leading dimensions must be at most 2^30";
  EXPECT_EQ(reason({1, 1, 1, kLargest + 1, 1, 1}), leading);
  EXPECT_EQ(reason({1, 1, 1, 1, kLargest + 1, 1}), leading);
  EXPECT_EQ(reason({1, 1, 1, 1, 1, kLargest + 1}), leading);
  for (const auto& [m, n, k] :
       {std::array{0LL, 1LL, 1LL}, {1LL, 0LL, 1LL}, {1LL, 1LL, 0LL}, {1LL, 1LL, -1LL}}) {
    EXPECT_EQ(reason(without_padding(m, n, k)), "M, N and K must be at least 1");
  }
}

std::string reason(const Kernel& kernel, const ProblemExtents& extents) {
  const char* text = why_unsupported(kernel, extents);
  return text ? text : "";
}

/// The same of both families that fetch and store by the copy engine.
template <class KernelType>
void expect_aligned_rows(const KernelType& plain) {
  KernelType packs = plain;
  packs.pack = true;
  KernelType staged = plain;
  staged.store = StorePath::kStaged;
  KernelType any = packs;
  any.store = StorePath::kStaged;
  EXPECT_EQ(reason(plain, without_padding(333, 4104, 72)), "");
  EXPECT_EQ(reason(plain, {333, 4104, 71, 72, 80, 4112}), "") << "K is clipped, wherever it ends";
  const ProblemExtents odd_k = without_padding(64, 64, 4097);
  EXPECT_NE(reason(plain, odd_k).find("packs"), std::string::npos);
  EXPECT_NE(reason(staged, odd_k).find("packs"), std::string::npos);
  EXPECT_EQ(reason(packs, odd_k), "");
  for (const ProblemExtents& odd_d :
       {without_padding(64, 4097, 64), ProblemExtents{64, 4096, 64, 64, 64, 4097},
        ProblemExtents{64, 4097, 64, 64, 64, 4104}}) {
    EXPECT_NE(reason(plain, odd_d).find("staged"), std::string::npos);
    EXPECT_NE(reason(packs, odd_d).find("staged"), std::string::npos);
    EXPECT_EQ(reason(staged, odd_d), "");
  }
  EXPECT_EQ(reason(any, without_padding(67, 71, 73)), "");
  // One row has no leading dimension to speak of.
  EXPECT_EQ(reason(plain, {1, 4096, 64, 67, 64, 4099}), "");
  EXPECT_NE(reason(plain, {2, 4096, 64, 67, 64, 4096}), "");
  // Four fp32 elements of D are a unit of 16 bytes; of A and B it takes eight as before.
  KernelType wide = plain;
  wide.gemm = kWideOutput;
  EXPECT_NE(reason(plain, {64, 4100, 64, 64, 64, 4100}), "");
  EXPECT_EQ(reason(wide, {64, 4100, 64, 64, 64, 4100}), "");
  EXPECT_NE(reason(wide, {64, 4098, 64, 64, 64, 4100}), "");
  EXPECT_NE(reason(wide, {64, 4100, 68, 68, 68, 4100}), "");
}

/// In NT the stored rows are along M and N: their steps must be whole units, and K is free.
template <class KernelType>
void expect_aligned_rows_along_m_and_n(KernelType kernel) {
  kernel.gemm = kNT;
  const auto extents = [](long long m, long long n, long long k, long long lda, long long ldb) {
    return ProblemExtents{m, n, k, lda, ldb, n, Major::kMn, Major::kMn};
  };
  EXPECT_EQ(reason(kernel, extents(72, 80, 71, 72, 80)), "");
  EXPECT_EQ(reason(kernel, extents(67, 80, 71, 72, 80)), "") << "M is clipped, wherever it ends";
  EXPECT_NE(reason(kernel, extents(67, 80, 71, 67, 80)), "");
  EXPECT_NE(reason(kernel, extents(72, 80, 71, 72, 81)), "");
  EXPECT_EQ(reason(kernel, extents(67, 80, 1, 67, 80)), "") << "one row has no next one";
  EXPECT_NE(reason(kernel, extents(72, 80, 71, 71, 80)).find("stored row"), std::string::npos);
  KernelType packs = kernel;
  packs.pack = true;
  EXPECT_EQ(reason(packs, extents(67, 80, 71, 67, 80)), "");
  EXPECT_NE(reason(kernel, without_padding(72, 80, 64)).find("another layout"), std::string::npos);
}

TEST(Problems, KernelsSayWhichRowsTheyCannotUse) {
  expect_aligned_rows(TiledKernel{});
  expect_aligned_rows(SwapAbKernel{});
  expect_aligned_rows_along_m_and_n(TiledKernel{});
  expect_aligned_rows_along_m_and_n(SwapAbKernel{});

  const GemvKernel vectors{{.vectors = 4}, {}};
  EXPECT_EQ(reason(vectors, without_padding(4, 4097, 4097)), "");
  EXPECT_EQ(reason(vectors, without_padding(4097, 3, 4097)), "");
  EXPECT_NE(reason(vectors, without_padding(5, 5, 64)), "");
  EXPECT_NE(reason(vectors, {4, 64, 64, 64, 64, 64, Major::kK, Major::kMn}), "");
}

template <class KernelType>
void expect_one_problem(const typename KernelType::Config& config) {
  KernelType one{config, extents_of(4, 512, 64)};
  EXPECT_EQ(reason(KernelType{config, {}}, without_padding(4, 512, 64)), "");
  one.fixed = true;
  EXPECT_EQ(reason(one, without_padding(4, 512, 64)), "");
  EXPECT_NE(reason(one, without_padding(3, 512, 64)), "");
  EXPECT_NE(reason(one, without_padding(4, 520, 64)), "");
  EXPECT_NE(reason(one, without_padding(4, 512, 72)), "");
  EXPECT_NE(reason(one, {4, 512, 64, 72, 64, 512}), "");
}

TEST(Problems, AKernelMadeForOneProblemComputesNoOther) {
  expect_one_problem<TiledKernel>({});
  expect_one_problem<SwapAbKernel>({});
  expect_one_problem<GemvKernel>({.vectors = 4});
}

// ---- Batches ----

/// Three products, without padding and gaps.
constexpr ProblemExtents three(long long m, long long n, long long k) {
  ProblemExtents p = without_padding(m, n, k);
  p.batch = batch_without_gaps(p, 3);
  return p;
}

TEST(Batches, ProductsMayShareAnythingButElementsOfD) {
  const auto reason_of = [](const ProblemExtents& p) {
    const char* text = why_unsupported(p);
    return std::string(text ? text : "");
  };
  ProblemExtents p = three(64, 128, 32);
  EXPECT_EQ(p.batch, (Batch{3, 64 * 32, 128 * 32, 64 * 128}));
  EXPECT_EQ(reason_of(p), "");
  p.batch.stride_a = p.batch.stride_b = 0;
  EXPECT_EQ(reason_of(p), "");
  p.batch.stride_a = 8;  // they overlap
  EXPECT_EQ(reason_of(p), "");
  for (const long long overlap : {0LL, 64LL, 64 * 128 - 1LL}) {
    p.batch.stride_d = overlap;
    EXPECT_NE(reason_of(p).find("must not share"), std::string::npos) << overlap;
  }
  p.batch.stride_d = -1;
  EXPECT_NE(reason_of(p), "");
  // Side by side: three times 128 columns within a row.
  p.ldd = 3 * 128;
  p.batch.stride_d = 128;
  EXPECT_EQ(reason_of(p), "");
  p.ldd = 3 * 128 - 1;
  EXPECT_NE(reason_of(p).find("must not share"), std::string::npos);
  p = three(64, 128, 32);
  for (const long long count : {0LL, (1LL << 25) + 1}) {
    p.batch.count = count;
    EXPECT_NE(reason_of(p).find("2^25 products"), std::string::npos);
  }
  p = three(64, 128, 32);
  p.batch.stride_b = (1LL << 36) + 1;
  EXPECT_NE(reason_of(p).find("2^36"), std::string::npos);
}

TEST(Batches, OneMatrixOrMany) {
  const StoredMatrix matrix{4, 6, 8};
  EXPECT_TRUE(are_one_matrix({matrix, 3, 32}));
  EXPECT_FALSE(are_one_matrix({matrix, 3, 40}));
  EXPECT_TRUE(are_one_matrix({matrix, 1, 0}));
  EXPECT_EQ(spanned_elements({matrix, 3, 40}), 112);
  EXPECT_EQ(spanned_elements({matrix, 1, 0}), 32);
}

TEST(Batches, KernelsAreMadeForThemOrNot) {
  TiledKernel single{};
  TiledKernel batched{{}, kBatched};
  EXPECT_EQ(reason(single, without_padding(64, 64, 64)), "");
  EXPECT_EQ(reason(batched, three(64, 64, 64)), "");
  EXPECT_NE(reason(batched, without_padding(64, 64, 64)).find("batches"), std::string::npos);
  EXPECT_NE(reason(single, three(64, 64, 64)).find("batches"), std::string::npos);
  EXPECT_NE(reason(GemvKernel{{.vectors = 4}, {}}, three(4, 64, 64)).find("batches"),
            std::string::npos);
}

TEST(Batches, AKernelFindsProductsAtStridesOrByPointers) {
  const TiledKernel at_strides{{}, kBatched};
  TiledKernel by_pointers = at_strides;
  by_pointers.gemm.by_pointers = true;
  const ProblemExtents strided = three(64, 64, 64);
  ProblemExtents anywhere = strided;
  anywhere.batch.by_pointers = true;
  EXPECT_EQ(reason(by_pointers, anywhere), "");
  EXPECT_NE(reason(by_pointers, strided).find("arrays of pointers"), std::string::npos);
  EXPECT_NE(reason(at_strides, anywhere).find("arrays of pointers"), std::string::npos);
  EXPECT_EQ(merged(anywhere), anywhere);
  anywhere.batch.stride_a += 8;
  EXPECT_NE(reason(by_pointers, anywhere).find("no strides"), std::string::npos);
  anywhere.batch = {.by_pointers = true};
  EXPECT_NE(reason(by_pointers, anywhere).find("2 products or more"), std::string::npos);
  // A leading dimension between units would need packing.
  anywhere = three(64, 64, 67);
  anywhere.batch.by_pointers = true;
  EXPECT_NE(reason(by_pointers, anywhere).find("no launch packs them"), std::string::npos);
}

TEST(Batches, StridesAreWholeUnitsUnlessPackedOrStaged) {
  TiledKernel kernel{{}, kBatched};
  ProblemExtents p = three(64, 64, 64);
  p.batch.stride_a += 4;
  EXPECT_NE(reason(kernel, p).find("strides of a batch"), std::string::npos);
  kernel.pack = true;
  EXPECT_NE(reason(kernel, p).find("without a gap"), std::string::npos);
  p = three(64, 64, 64);
  p.batch.stride_a = 0;
  EXPECT_EQ(reason(kernel, p), "");
  // Rows of 67 elements: packed as one matrix of 192 rows.
  EXPECT_EQ(reason(kernel, three(64, 64, 67)), "");
  kernel.pack = false;
  EXPECT_NE(reason(kernel, three(64, 64, 67)), "");
  p = three(64, 64, 64);
  p.batch.stride_d += 4;
  EXPECT_NE(reason(kernel, p).find("staged"), std::string::npos);
  kernel.store = StorePath::kStaged;
  EXPECT_EQ(reason(kernel, p), "");
  // A single row has no next row, but the next product's has.
  kernel.store = StorePath::kTma;
  EXPECT_EQ(reason(kernel, {1, 64, 64, 67, 64, 67}).find("staged"), std::string::npos);
  EXPECT_NE(reason(kernel, three(1, 64, 67)), "");
}

TEST(Batches, AKernelWithConstantExtentsComputesAnyNumberOfProducts) {
  TiledKernel fixed{{}, extents_of(64, 512, 64)};
  fixed.fixed = true;
  fixed.gemm.batched = true;
  EXPECT_EQ(why_invalid(fixed), TiledRule::kValid);
  ProblemExtents p = three(64, 512, 64);
  EXPECT_EQ(reason(fixed, p), "");
  p.batch.count = 1000;
  p.batch.stride_b = 0;
  EXPECT_EQ(reason(fixed, p), "");
  EXPECT_NE(reason(fixed, three(64, 520, 64)), "");
}

}  // namespace
}  // namespace hgemm
