// Problems as text keys, JSON and YAML, and back.
#include "gemm/codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "gemm/problem_list.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr DataType kTypes[] = {DataType::kBf16, DataType::kFp16, DataType::kFp32, DataType::kE4m3,
                               DataType::kE5m2};

InputData any_data(std::mt19937& random) {
  const auto kind = static_cast<DataKind>(std::uniform_int_distribution(0, 5)(random));
  if (kind != DataKind::kFile) return {.kind = kind};
  return {.kind = kind, .hash = std::uniform_int_distribution<std::uint64_t>()(random)};
}

/// Any problem that can be written, whether there is a kernel for it or not.
GemmProblem random_problem(std::mt19937& random) {
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  const auto coin = [&] { return up_to(2) == 1; };
  const auto type = [&] { return kTypes[up_to(5) - 1]; };
  const std::int64_t batch = coin() ? up_to(64) : 1;
  const std::int64_t most_rows = batch > 1 ? 10'000 : kMaxExtent;  // strides have a limit
  GemmProblem problem{.m = up_to(most_rows), .n = up_to(10'000), .k = up_to(100), .tag = ""};
  problem.set_types(type());
  if (coin()) problem.a_type = type();
  if (coin()) problem.b_type = type();
  if (coin()) problem.d_type = type();
  if (coin()) problem.c_type = type();
  if (coin()) problem.accumulator = Accumulator::kFast;
  if (coin()) problem.scaling = static_cast<Scaling>(up_to(6) - 1);
  if (coin()) problem.output_scaling = OutputScaling::kBlocks;
  if (coin()) problem.layout = static_cast<Layout>(up_to(4) - 1);
  if (coin())
    problem.lda = std::min<std::int64_t>(problem.contiguous_a() + up_to(20) - 1, kMaxExtent);
  if (coin()) problem.ldb = problem.contiguous_b() + up_to(20) - 1;
  if (coin()) problem.ldd = problem.n + up_to(20) - 1;
  problem.batch = batch;
  if (coin()) {
    problem.epilogue = {static_cast<Bias>(up_to(3) - 1), static_cast<Activation>(up_to(5) - 1),
                        static_cast<Gate>(up_to(3) - 1), coin()};
  }
  if (coin()) problem.data = any_data(random);
  problem.by_pointers = batch > 1 && up_to(4) == 1;
  const bool may_have_strides =
      batch > 1 && problem.n > 1 && !problem.by_pointers;  // half of one column is none
  if (may_have_strides && coin()) problem.stride_a = coin() ? 0 : up_to(10'000'000);
  if (may_have_strides && coin()) problem.stride_b = coin() ? 0 : up_to(10'000'000);
  if (may_have_strides && coin()) {
    const bool side_by_side = coin();
    if (side_by_side) problem.ldd = batch * problem.n + up_to(20) - 1;
    problem.stride_d = side_by_side ? problem.n : problem.m * problem.leading_d() + up_to(20) - 1;
  }
  if (coin()) problem.weight = 0.5 * static_cast<double>(up_to(100));
  if (coin()) problem.tag = "prefill/qkv";
  return problem;
}

std::string complaint(const std::string& text) {
  try {
    parse_problem(text, DataType::kBf16, "list.txt:3");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// ---- The table ----

/// All attributes but tag and weight; a member that is added to GemmProblem must be added here.
auto attributes(GemmProblem& problem) {
  auto& [m, n, k, a, b, d, c, accumulator, layout, lda, ldb, ldd, batch, stride_a, stride_b,
         stride_d, by_pointers, scaling, output_scaling, epilogue, data, weight, tag] = problem;
  return std::tie(m, n, k, a, b, d, c, accumulator, layout, lda, ldb, ldd, batch, stride_a,
                  stride_b, stride_d, by_pointers, scaling, output_scaling, epilogue, data);
}
void change(std::int64_t& number) { number += 8; }
void change(std::optional<std::int64_t>& number) { number = number.value() + 8; }
void change(DataType& type) { type = type == DataType::kFp16 ? DataType::kBf16 : DataType::kFp16; }
void change(std::optional<DataType>& type) { type = DataType::kFp16; }
void change(Layout& layout) { layout = Layout::kNT; }
void change(Scaling& scaling) { scaling = Scaling::kRows; }
void change(OutputScaling& scaling) { scaling = OutputScaling::kBlocks; }
void change(Accumulator& accumulator) { accumulator = Accumulator::kFast; }
void change(bool& flag) { flag = !flag; }
void change(Epilogue& epilogue) { epilogue.activation = Activation::kSilu; }
void change(InputData& data) { data.kind = DataKind::kZeros; }

template <std::size_t i>
void expect_a_row_of_its_own() {
  const GemmProblem before =
      parse_problem("64x48x40.lda48.ldb56.ldd72.batch3.sa4000.sb3000.sd5000");
  GemmProblem after = before;
  auto& attribute = std::get<i>(attributes(after));
  change(attribute);
  for (std::size_t row = 0; row < problem_fields().size(); ++row) {
    const ProblemField& field = problem_fields()[row];
    EXPECT_EQ(field.print(before) != field.print(after), row == i)
        << "attribute " << i << ", " << field.name;
  }
  EXPECT_FALSE(before.same_problem(after)) << "attribute " << i;
  EXPECT_NE(to_string(before), to_string(after)) << "attribute " << i;
}

TEST(ProblemFields, AreOneForEachAttribute) {
  constexpr auto kCount = std::tuple_size_v<decltype(attributes(std::declval<GemmProblem&>()))>;
  ASSERT_EQ(problem_fields().size(), kCount);
  [&]<std::size_t... i>(std::index_sequence<i...>) { (expect_a_row_of_its_own<i>(), ...); }
  (std::make_index_sequence<kCount>{});
}

TEST(ProblemFields, AreFoundByTheirNamesAndExplained) {
  std::set<std::string_view> names;
  for (const ProblemField& field : problem_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_EQ(find_problem_field(field.name), &field);
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_FALSE(field.values.empty()) << field.name;
  }
  EXPECT_EQ(find_problem_field("dtype"), nullptr) << "three at once";
  EXPECT_EQ(find_problem_field("tag"), nullptr) << "no attribute of what is computed";
}

TEST(ProblemFields, ReadWhatTheyPrintAndNothingElse) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const GemmProblem problem = random_problem(random);
    for (const ProblemField& field : problem_fields()) {
      const std::string word = field.print(problem);
      GemmProblem copy = problem;
      ASSERT_TRUE(field.parse(copy, word)) << field.name << " " << word;
      ASSERT_TRUE(copy.same_problem(problem)) << field.name << " " << word;
    }
  }
  for (const ProblemField& field : problem_fields()) {
    for (const char* bad : {"", " ", "-1", "1.5", "fp64", "BF16", "nt", "1152921504606846977",
                            "tanh", "bias-", "Zeros", "file-", "file-0123456789ABCDEF",
                            "file-0123456789abcde", "file-0123456789abcdef0"}) {
      GemmProblem problem;
      EXPECT_FALSE(field.parse(problem, bad)) << field.name << " \"" << bad << '"';
    }
    // Strides have other limits than extents.
    for (const char* number : {"0", "1073741825"}) {
      GemmProblem problem;
      EXPECT_EQ(field.parse(problem, number), field.name.starts_with("stride_"))
          << field.name << " " << number;
    }
  }
}

// ---- Keys ----

TEST(ProblemKey, BeginsWithTheExtentsAndSaysWhatIsNotTheDefault) {
  GemmProblem problem{.m = 2048, .n = 4096, .k = 4096, .weight = 32, .tag = "prefill/attn_out"};
  EXPECT_EQ(to_string(problem), "2048x4096x4096");
  problem.d_type = DataType::kFp32;
  EXPECT_EQ(to_string(problem), "2048x4096x4096.dfp32");
  problem.lda = 4104;
  EXPECT_EQ(to_string(problem), "2048x4096x4096.dfp32.lda4104");
  problem.set_types(DataType::kFp16);
  EXPECT_EQ(to_string(problem), "2048x4096x4096.fp16.lda4104") << "of A, B and D";
  problem.d_type = DataType::kBf16;
  problem.b_type = DataType::kFp32;
  problem.lda = 4096;
  EXPECT_EQ(to_string(problem), "2048x4096x4096.fp16.bfp32.dbf16");
  problem.set_types(DataType::kBf16);
  problem.c_type = DataType::kBf16;
  problem.accumulator = Accumulator::kFast;
  problem.scaling = Scaling::kTensor;
  problem.batch = 12;
  problem.data.kind = DataKind::kSparse;
  EXPECT_EQ(to_string(problem), "2048x4096x4096.cbf16.accfast.batch12.scaling-tensor.sparse");
}

TEST(ProblemKey, RoundTripsEveryProblem) {
  std::mt19937 random(2);
  std::map<std::string, GemmProblem> by_key;
  for (int i = 0; i < 20'000; ++i) {
    const GemmProblem problem = random_problem(random);
    const std::string key = to_string(problem);
    const GemmProblem read = parse_problem(key);
    ASSERT_TRUE(read.same_problem(problem)) << key;
    ASSERT_EQ(to_string(read), key);
    const auto [known, is_new] = by_key.emplace(key, problem);
    ASSERT_TRUE(known->second.same_problem(problem)) << "two problems have the key " << key;
    ASSERT_EQ(read.tag, "");
    ASSERT_EQ(read.weight, 1);
  }
}

TEST(ProblemKey, OfEightBitOperandsHasBf16Outputs) {
  const GemmProblem problem = parse_problem("64x48x32.e4m3");
  EXPECT_EQ(problem.a_type, DataType::kE4m3);
  EXPECT_EQ(problem.b_type, DataType::kE4m3);
  EXPECT_EQ(problem.d_type, DataType::kBf16);
  EXPECT_EQ(problem.accumulator, Accumulator::kFp32);
  for (const char* key :
       {"64x48x32.e4m3", "64x48x32.e5m2", "64x48x32.e4m3.be5m2", "64x48x32.e4m3.dfp16",
        "64x48x32.e5m2.be4m3.dfp32.cfp32.accfast.scaling-rows.bias-gelu",
        "64x48x32.e4m3.batch4.scaling-tensor", "64x48x32.e4m3.scaling-rows.swiglu",
        "64x48x32.e4m3.scaling-blocks.bias", "64x48x32.e4m3.be5m2.scaling-row_blocks",
        "64x48x32.e4m3.de4m3", "64x48x32.e5m2.be4m3.de5m2.cbf16.scaling-rows.bias-gelu",
        "64x48x32.e4m3.de4m3.dscaling-blocks",
        "64x48x32.e4m3.be5m2.de5m2.scaling-rows.dscaling-blocks.swiglu"}) {
    EXPECT_EQ(to_string(parse_problem(key)), key);
    EXPECT_EQ(why_unsupported(parse_problem(key)), nullptr) << key;
  }
  EXPECT_EQ(
      to_string(parse_problem("64x48x32.e4m3.dbf16.be4m3.accfp32.scaling-none.dscaling-given")),
      "64x48x32.e4m3");
}

// As databases, lists and command lines of all versions have them.
TEST(ProblemKey, OfOlderVersionsReadsTheSame) {
  struct Old {
    const char* key;
    std::int64_t m, n, k;
    DataType type;
    std::int64_t lda, ldb, ldd;
  };
  const Old all[] = {
      {"4096x4096x1024", 4096, 4096, 1024, DataType::kBf16, 1024, 1024, 4096},
      {"384x520x1024.fp16", 384, 520, 1024, DataType::kFp16, 1024, 1024, 520},
      {"2048x2048x2048.fp32", 2048, 2048, 2048, DataType::kFp32, 2048, 2048, 2048},
      {"4096x4096x1000.fp16.lda1024", 4096, 4096, 1000, DataType::kFp16, 1024, 1000, 4096},
      {"130x260x100.lda104.ldb112.ldd264", 130, 260, 100, DataType::kBf16, 104, 112, 264},
      {"70x131x67.fp16.lda70.ldb77.ldd140", 70, 131, 67, DataType::kFp16, 70, 77, 140},
      {"7x37x5001.ldd41", 7, 37, 5001, DataType::kBf16, 5001, 5001, 41},
      {"1x3x1073741824", 1, 3, 1073741824, DataType::kBf16, 1073741824, 1073741824, 3},
  };
  for (const Old& old : all) {
    GemmProblem expected{.m = old.m, .n = old.n, .k = old.k, .tag = ""};
    expected.set_types(old.type);
    expected.lda = old.lda;
    expected.ldb = old.ldb;
    expected.ldd = old.ldd;
    const GemmProblem read = parse_problem(old.key);
    EXPECT_TRUE(read.same_problem(expected)) << old.key;
    EXPECT_EQ(to_string(read), old.key);
  }
}

TEST(ProblemKey, MaySayWhatIsTheDefault) {
  EXPECT_EQ(to_string(parse_problem("8X9x10.bf16")), "8x9x10");
  EXPECT_EQ(to_string(parse_problem("8x9x10.dbf16.accfp32.layoutTN.lda10.ldd9.batch1")), "8x9x10");
  EXPECT_EQ(to_string(parse_problem("8x9x10.cnone.scaling-none.plain")), "8x9x10");
  EXPECT_EQ(to_string(parse_problem("8x9x10.batch1.sa0.sb0.sd0")), "8x9x10");
  EXPECT_EQ(to_string(parse_problem("8x9x10.batch4.sa80.sb90.sd72")), "8x9x10.batch4");
  EXPECT_EQ(to_string(parse_problem("8x9x10.ldb12.dfp32.lda11")), "8x9x10.dfp32.lda11.ldb12")
      << "in any order";
  EXPECT_EQ(to_string(parse_problem("8x9x10.normal")), "8x9x10");
  EXPECT_EQ(to_string(parse_problem("8x9x10.zeros.lda11.fp16")), "8x9x10.fp16.lda11.zeros");
  EXPECT_EQ(to_string(parse_problem("8x9x10", DataType::kFp16)), "8x9x10.fp16");
  EXPECT_EQ(to_string(parse_problem("8x9x10.dfp32", DataType::kFp16)), "8x9x10.fp16.dfp32");
  EXPECT_EQ(to_string(parse_problem("8x9x10.bf16", DataType::kFp16)), "8x9x10");
}

// The letters say which extent is a stored row, and so which leading dimension needs no field.
TEST(ProblemKey, LeavesOutTheLeadingDimensionsOfRowsWithoutPaddingInEachLayout) {
  EXPECT_EQ(to_string(parse_problem("8x16x32.layoutTN.lda32.ldb32.ldd16")), "8x16x32");
  EXPECT_EQ(to_string(parse_problem("8x16x32.layoutNN.lda8.ldb32")), "8x16x32.layoutNN");
  EXPECT_EQ(to_string(parse_problem("8x16x32.layoutNT.lda8.ldb16")), "8x16x32.layoutNT");
  EXPECT_EQ(to_string(parse_problem("8x16x32.layoutTT.lda32.ldb16")), "8x16x32.layoutTT");
  EXPECT_EQ(to_string(parse_problem("8x16x32.lda32.layoutNT.ldb16")), "8x16x32.layoutNT.lda32");
  EXPECT_THAT(complaint("8x16x32.layoutNT.lda7"),
              HasSubstr("found 7 for lda; expected at least M, 8, the length of a row"));
  EXPECT_THAT(complaint("8x16x32.layoutTT.ldb15"),
              HasSubstr("found 15 for ldb; expected at least N, 16, the length of a row"));
  EXPECT_THAT(complaint("8x16x32.layoutTT.lda31"), HasSubstr("expected at least K, 32"));
}

TEST(ProblemKey, SaysWhereTheProductsOfABatchLie) {
  const GemmProblem heads = parse_problem("64x64x16.sd4200.sb0.lda128.sa16.batch8");
  EXPECT_EQ(to_string(heads), "64x64x16.lda128.batch8.sa16.sb0.sd4200");
  EXPECT_EQ(heads.extents().batch, (Batch{8, 16, 0, 4200}));
  EXPECT_EQ(to_string(parse_problem("64x16x64.layoutTT.ldd128.batch8.sd16.silu.zeros")),
            "64x16x64.layoutTT.ldd128.batch8.sd16.silu.zeros");
  // What is left out follows from the layout and the leading dimensions.
  EXPECT_EQ(to_string(parse_problem("8x16x32.layoutNT.lda24.batch2.sa768.sb512.sd128")),
            "8x16x32.layoutNT.lda24.batch2");
  EXPECT_EQ(to_string(parse_problem("8x16x32.batch2.sa264")), "8x16x32.batch2.sa264");
  EXPECT_FALSE(parse_problem("8x16x32.batch2.sa0").same_problem(parse_problem("8x16x32.batch2")));
  EXPECT_TRUE(parse_problem("8x16x32.batch2.sa256").same_problem(parse_problem("8x16x32.batch2")));
  const GemmProblem anywhere = parse_problem("8x16x32.pointers.batch2");
  EXPECT_EQ(to_string(anywhere), "8x16x32.batch2.pointers");
  EXPECT_TRUE(anywhere.extents().batch.by_pointers && anywhere.kind().by_pointers);
  EXPECT_FALSE(anywhere.same_problem(parse_problem("8x16x32.batch2")));
  EXPECT_EQ(to_string(parse_problem("8x16x32.batch2.pointers.scaled.zeros")),
            "8x16x32.batch2.pointers.scaled.zeros");
  EXPECT_TRUE(
      parse_problem("8x16x32.batch2.strided").same_problem(parse_problem("8x16x32.batch2")));
  // Too long for a kernel, and nobody gave a stride that could be corrected.
  const GemmProblem long_ones = parse_problem("1073741824x1024x8.batch2");
  EXPECT_EQ(to_string(long_ones), "1073741824x1024x8.batch2");
  EXPECT_THAT(why_unsupported(long_ones), HasSubstr("from 0 to 2^36 elements"));
}

TEST(ProblemKey, ComplainsAboutStridesThatNoKernelCanFollow) {
  EXPECT_THAT(complaint("8x16x32.sa256"),
              AllOf(StartsWith("list.txt:3: found 256 for stride_a (sa in a key)"),
                    HasSubstr("a stride needs a batch of 2 or more")));
  EXPECT_THAT(complaint("8x16x32.batch1.sb9"), StartsWith("list.txt:3: found 9 for stride_b"));
  EXPECT_THAT(complaint("8x16x32.sd128.batch1"), StartsWith("list.txt:3: found 128 for stride_d"));
  EXPECT_THAT(complaint("8x16x32.pointers"),
              AllOf(StartsWith("list.txt:3: found pointers, and no batch"),
                    HasSubstr("for a batch of 2 products or more")));
  EXPECT_THAT(complaint("8x16x32.batch2.sb0.pointers"),
              AllOf(StartsWith("list.txt:3: found the strides 256 of A, 0 of B"),
                    HasSubstr("a batch by pointers has no strides"),
                    HasSubstr("leave the strides out, or the pointers")));
  EXPECT_EQ(complaint("8x16x32.batch2.sa256.pointers"), "accepted") << "those without a gap";
  for (const char* shared : {"8x16x32.batch2.sd0", "8x16x32.batch2.sd127", "8x16x32.batch2.sd16",
                             "8x16x32.batch3.ldd40.sd16", "8x16x32.batch2.ldd40.sd15"}) {
    EXPECT_THAT(complaint(shared), AllOf(StartsWith("list.txt:3: found the strides 256 of A"),
                                         HasSubstr("must not share elements of D")))
        << shared;
  }
  EXPECT_EQ(complaint("8x16x32.batch2.ldd40.sd16"), "accepted");
  EXPECT_EQ(complaint("8x16x32.batch2.ldd40.sd296"), "accepted") << "no padding after the last row";
  EXPECT_THAT(complaint("8x16x32.batch2.sa68719476737"), HasSubstr("from 0 to 2^36 elements"));
  EXPECT_EQ(complaint("8x16x32.batch2.sa68719476736"), "accepted");
  EXPECT_THAT(complaint("8x16x32.batch33554433.sb0"), HasSubstr("from 1 to 2^25 products"));
}

TEST(ProblemKey, ComplainsWithThePlaceAndWhatWasFound) {
  for (const char* bad : {"",
                          "8x8",
                          "8x8x8x8",
                          "0x8x8",
                          "8x8x-8",
                          "8x8x8.",
                          "8x8x8..",
                          "8x8x8.tanh",
                          "8x8x8.int8",
                          "8x8x8.fp64",
                          "8x8x8.lda",
                          "8x8x8.ldax",
                          "8x8x8.lda0",
                          "8x8x8.ldc9",
                          "8x8x8.lda9.",
                          "8x8x8.fp16.bf16",
                          "8x8x8.lda9.lda10",
                          "8x8x8.dfp32.dfp32",
                          "8x8x8.d",
                          "8x8x8.dfp64",
                          "8x8x8.afp16",
                          "8x8x8.dfp32.fp16",
                          "8x8x8.batch0",
                          "8x8x8.batch2.sa",
                          "8x8x8.batch2.sax",
                          "8x8x8.batch2.sb-1",
                          "8x8x8.batch2.s64",
                          "8x8x8.batch2.sc64",
                          "8x8x8.batch2.sa0.sa8",
                          "8x8x8.batch2.sd1152921504606846977",
                          "8x8x8.layoutnt",
                          "8x8x8.layoutTC",
                          "8x8x8.scaling-row-blocks",
                          "8x8x8.scaling-1x128",
                          "8x8x8.dscaling-rows",
                          "8x8x8.accfp16",
                          "8x8x8.bias-",
                          "8x8x8.gelu-bias",
                          "8x8x8.bias.relu",
                          "8x8x8.ones",
                          "8x8x8.file",
                          "8x8x8.file-1",
                          "8x8x8.zeros.normal",
                          "8x8x1073741825",
                          "8x8x99999999999999999999",
                          " 8x8x8",
                          "8x8x8 "}) {
    EXPECT_THAT(complaint(bad),
                AllOf(StartsWith("list.txt:3: found \"" + std::string(bad) + '"'),
                      HasSubstr("expected MxNxK"), HasSubstr("64x32000x4096.dfp32")))
        << bad;
  }
  EXPECT_THAT(complaint("8x8x8.fp8"),
              AllOf(HasSubstr("whose \"fp8\" is not supported"), HasSubstr("bf16"),
                    HasSubstr("fp16, e4m3 or e5m2"), HasSubstr("(fp32)")));
  EXPECT_THAT(complaint("8x8x8.fp16.dfp8"), HasSubstr("whose \"dfp8\" is not supported"));
  EXPECT_THAT(complaint("64x48x40.lda39"),
              AllOf(StartsWith("list.txt:3: found 39 for lda"), HasSubstr("at least K, 40")));
  EXPECT_THAT(complaint("64x48x40.ldb39"), StartsWith("list.txt:3: found 39 for ldb"));
  EXPECT_THAT(complaint("64x48x40.dfp32.ldd47"),
              AllOf(StartsWith("list.txt:3: found 47 for ldd"), HasSubstr("at least N, 48")));
}

// ---- JSON ----

TEST(ProblemJson, NamesEveryAttributeInFull) {
  GemmProblem problem = parse_problem("64x48x40.fp16.dfp32.lda48");
  problem.tag = "decode/qkv";
  problem.weight = 32;
  const nlohmann::json json = problem;
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "problem": "64x48x40.fp16.dfp32.lda48", "tag": "decode/qkv", "weight": 32.0,
    "m": 64, "n": 48, "k": 40, "a_dtype": "fp16", "b_dtype": "fp16", "d_dtype": "fp32",
    "c_dtype": "none", "accumulator": "fp32", "layout": "TN", "lda": 48, "ldb": 40, "ldd": 48,
    "batch": 1, "stride_a": 0, "stride_b": 0, "stride_d": 0, "products": "strided",
    "scaling": "none", "d_scaling": "given",
    "epilogue": "plain", "data": "normal"})"));
  const nlohmann::json batch = parse_problem("64x48x40.lda48.batch3.sb0");
  EXPECT_EQ(batch.at("batch"), 3);
  EXPECT_EQ(batch.at("stride_a"), 64 * 48);
  EXPECT_EQ(batch.at("stride_b"), 0);
  EXPECT_EQ(batch.at("stride_d"), 64 * 48);
}

// The worker needs the path, and no key has it.
TEST(ProblemJson, HasTheFilesOfTheData) {
  GemmProblem problem = parse_problem("64x48x40.file-00000000000000ff");
  EXPECT_EQ(problem.data.hash, 255u);
  EXPECT_TRUE(problem.data.lacks_files());
  problem.data.files = "a.npy,b.safetensors:w";
  const auto read = nlohmann::json(problem).get<GemmProblem>();
  EXPECT_EQ(read.data.files, problem.data.files);
  EXPECT_TRUE(read.same_problem(parse_problem("64x48x40.file-00000000000000ff")))
      << "where the file is does not matter";
  EXPECT_FALSE(read.same_problem(parse_problem("64x48x40.file-00000000000000fe")));
  EXPECT_FALSE(read.same_problem(parse_problem("64x48x40")));
  EXPECT_EQ(to_string(read), "64x48x40.file-00000000000000ff");
}

TEST(ProblemJson, RoundTripsEveryProblem) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const GemmProblem problem = random_problem(random);
    const auto json = nlohmann::json::parse(nlohmann::json(problem).dump());
    const auto read = json.get<GemmProblem>();
    ASSERT_TRUE(read.same_problem(problem)) << json;
    ASSERT_EQ(read.tag, problem.tag);
    ASSERT_EQ(read.weight, problem.weight);
    for (const ProblemField& field : problem_fields()) {
      const nlohmann::json& value = json.at(std::string(field.name));
      ASSERT_EQ(field.number ? value.dump() : value.get<std::string>(), field.print(problem));
    }
  }
}

TEST(ProblemJson, NeedsNoMoreThanTheKey) {
  const auto read = nlohmann::json{{"problem", "64x48x40.dfp32"}}.get<GemmProblem>();
  EXPECT_EQ(to_string(read), "64x48x40.dfp32");
  EXPECT_EQ(read.tag, "");
  EXPECT_EQ(read.weight, 1);
  const nlohmann::json bad = {{"problem", "64x48x40.tanh"}};
  EXPECT_THROW(bad.get<GemmProblem>(), InputError);
  for (const char* text :
       {"{}", "[]", "1", "null", R"({"problem": 8})", R"({"problem": "8x8x8", "weight": "2"})",
        R"({"problem": "8x8x8", "data_files": 1})", R"({"problem": "8x8x8", "weight": null})",
        R"({"problem": "8x8x8", "tag": 1})"}) {
    EXPECT_THROW(nlohmann::json::parse(text).get<GemmProblem>(), InputError) << text;
  }
}

// ---- YAML ----

/// A map of a shapes file, with every attribute in full.
std::string yaml_of(const GemmProblem& problem) {
  std::string text = fmt::format("weight: {}", problem.weight);
  if (!problem.tag.empty()) text += ", tag: " + problem.tag;
  for (const ProblemField& field : problem_fields()) {
    text += fmt::format(", {}: {}", field.name, field.print(problem));
  }
  return "{" + text + "}";
}

TEST(ProblemYaml, RoundTripsEveryProblem) {
  const ScratchFiles files;
  std::mt19937 random(4);
  std::vector<GemmProblem> problems;
  std::set<std::string> keys;  // the same ones would be merged
  std::string text = "shapes:\n";
  while (problems.size() < 300) {
    const GemmProblem problem = random_problem(random);
    if (!keys.insert(to_string(problem)).second) continue;
    problems.push_back(problem);
    text += "  - " + yaml_of(problem) + "\n";
  }
  const auto read = load_problems(files.write("all.yaml", text), "");
  ASSERT_EQ(read.size(), problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_TRUE(read[i].same_problem(problems[i])) << to_string(problems[i]);
    EXPECT_EQ(read[i].tag, problems[i].tag);
    EXPECT_EQ(read[i].weight, problems[i].weight);
  }
}

}  // namespace
}  // namespace hgemm
