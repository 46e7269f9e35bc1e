#include "gemm/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hgemm {
namespace {

constexpr std::string_view kTypes = "bf16, fp16, fp32, e4m3 or e5m2";
constexpr std::string_view kExamples =
    "write it like 4096x4096x1024, 4096x4096x1024.fp16, 64x32000x4096.dfp32 (D in fp32), "
    "4096x4096x1024.e4m3, 4096x4096x1024.layoutNT, 4096x4096x1024.bias-gelu, 64x64x64.batch512 or, "
    "with leading dimensions, 4096x4096x1000.lda1024.ldb1024";

template <std::int64_t GemmProblem::*extent>
bool parse_extent(GemmProblem& problem, std::string_view word) {
  const auto number = find_number(word);
  if (!number || *number < 1 || *number > kMaxExtent) return false;
  problem.*extent = *number;
  return true;
}
template <std::int64_t GemmProblem::*extent>
std::string print_extent(const GemmProblem& problem) {
  return fmt::to_string(problem.*extent);
}
bool never(const GemmProblem&) { return false; }

template <std::int64_t GemmProblem::*extent>
constexpr ProblemField extent_row(std::string_view name, std::string_view help) {
  return {.name = name,
          .prefix = "",
          .values = "a whole number from 1 to 2^30",
          .number = true,
          .help = help,
          .print = print_extent<extent>,
          .parse = parse_extent<extent>,
          .is_default = never};
}

template <std::int64_t GemmProblem::*leading, std::int64_t (GemmProblem::*in_full)() const,
          std::int64_t (GemmProblem::*row)() const>
constexpr ProblemField leading_row(std::string_view name, std::string_view help) {
  return {.name = name,
          .prefix = name,
          .values = "a whole number from 1 to 2^30",
          .number = true,
          .help = help,
          .print = [](const GemmProblem& p) { return fmt::to_string((p.*in_full)()); },
          .parse = parse_extent<leading>,
          .is_default = [](const GemmProblem& p) { return (p.*in_full)() == (p.*row)(); }};
}

/// The longest stride without a gap. check_padding() has the limit of others, which kernels set.
constexpr std::int64_t kMaxStride = kMaxExtent * kMaxExtent;

/// 0 stands for a matrix that all products share, and for the stride of a single product.
template <std::optional<std::int64_t> GemmProblem::*stride>
bool parse_stride(GemmProblem& problem, std::string_view word) {
  const auto number = find_number(word);
  if (!number || *number > kMaxStride) return false;
  problem.*stride = *number;
  return true;
}
template <std::optional<std::int64_t> GemmProblem::*stride, long long Batch::*in_full>
constexpr ProblemField stride_row(std::string_view name, std::string_view prefix,
                                  std::string_view values, std::string_view help) {
  return {.name = name,
          .prefix = prefix,
          .values = values,
          .number = true,
          .help = help,
          .column = false,
          .print = [](const GemmProblem& p) { return fmt::to_string(p.extents().batch.*in_full); },
          .parse = parse_stride<stride>,
          .is_default =
              [](const GemmProblem& p) {
                const ProblemExtents extents = p.extents();
                const Batch without_gaps = batch_without_gaps(extents, extents.batch.count);
                return extents.batch.*in_full == without_gaps.*in_full;
              }};
}

template <DataType GemmProblem::*type>
bool parse_type(GemmProblem& problem, std::string_view word) {
  const auto found = find_data_type(word);
  if (found) problem.*type = *found;
  return found.has_value();
}
template <DataType GemmProblem::*type>
std::string print_type(const GemmProblem& problem) {
  return std::string(to_string(problem.*type));
}
/// `alike` is the type of the attribute if it is not given.
template <DataType GemmProblem::*type>
constexpr ProblemField type_row(std::string_view name, std::string_view prefix,
                                std::string_view help, bool (*is_default)(const GemmProblem&)) {
  return {.name = name,
          .prefix = prefix,
          .values = kTypes,
          .number = false,
          .help = help,
          .print = print_type<type>,
          .parse = parse_type<type>,
          .is_default = is_default};
}

constexpr std::string_view kNoType = "none";

constexpr std::array kFields = {
    extent_row<&GemmProblem::m>("m", "rows of A and D"),
    extent_row<&GemmProblem::n>("n", "rows of B; columns of D, which has half as many with a gate"),
    extent_row<&GemmProblem::k>("k", "columns of A and B: the depth of the product"),
    type_row<&GemmProblem::a_type>(
        "a_dtype", "",
        "type of A; alone in a key (\"fp16\") that of A, B and D (with 8-bit operands D is bf16)",
        [](const GemmProblem& p) { return p.a_type == DataType::kBf16; }),
    type_row<&GemmProblem::b_type>("b_dtype", "b", "type of B",
                                   [](const GemmProblem& p) { return p.b_type == p.a_type; }),
    type_row<&GemmProblem::d_type>(
        "d_dtype", "d", "type of D",
        [](const GemmProblem& p) { return p.d_type == default_output(p.a_type); }),
    ProblemField{.name = "c_dtype",
                 .prefix = "c",
                 .values = "none, bf16, fp16 or fp32",
                 .number = false,
                 .help = "type of C, which is added to the sums: that of D, or bf16 if D has 8 "
                         "bits; none: there is no C",
                 .print =
                     [](const GemmProblem& p) {
                       return std::string(p.c_type ? to_string(*p.c_type) : kNoType);
                     },
                 .parse =
                     [](GemmProblem& p, std::string_view word) {
                       const auto found = find_data_type(word);
                       if (found || word == kNoType) p.c_type = found;
                       return found || word == kNoType;
                     },
                 .is_default = [](const GemmProblem& p) { return !p.c_type; }},
    ProblemField{
        .name = "accumulator",
        .prefix = "acc",
        .values = "fp32 or fast",
        .number = false,
        .help = "how sums are kept: in fp32, or (fast, for 8-bit operands) in the tensor cores to "
                "the end, which keep about 14 bits of them",
        .print = [](const GemmProblem& p) { return std::string(to_string(p.accumulator)); },
        .parse =
            [](GemmProblem& p, std::string_view word) {
              const auto found = find_accumulator(word);
              if (found) p.accumulator = *found;
              return found.has_value();
            },
        .is_default = [](const GemmProblem& p) { return p.accumulator == Accumulator::kFp32; }},
    ProblemField{.name = "layout",
                 .prefix = "layout",
                 .values = "TN, NN, NT or TT",
                 .number = false,
                 .help =
                     "of A (first letter) and B; contiguous in K are A with T and B with N, and "
                     "in M or N A with N and B with T",
                 .print = [](const GemmProblem& p) { return std::string(to_string(p.layout)); },
                 .parse =
                     [](GemmProblem& p, std::string_view word) {
                       const auto found = find_layout(word);
                       if (found) p.layout = *found;
                       return found.has_value();
                     },
                 .is_default = [](const GemmProblem& p) { return p.layout == Layout::kTN; }},
    leading_row<&GemmProblem::lda, &GemmProblem::leading_a, &GemmProblem::contiguous_a>(
        "lda", "elements from one row of A to the next; K (TN, TT) or M without padding"),
    leading_row<&GemmProblem::ldb, &GemmProblem::leading_b, &GemmProblem::contiguous_b>(
        "ldb", "elements from one row of B to the next; K (TN, NN) or N without padding"),
    leading_row<&GemmProblem::ldd, &GemmProblem::leading_d, &GemmProblem::contiguous_d>(
        "ldd", "elements from one row of D to the next; without padding N, or N / 2 with a gate"),
    ProblemField{.name = "batch",
                 .prefix = "batch",
                 .values = "a whole number from 1 to 2^30",
                 .number = true,
                 .help = "independent products; strides say how they lie in memory",
                 .print = print_extent<&GemmProblem::batch>,
                 .parse = parse_extent<&GemmProblem::batch>,
                 .is_default = [](const GemmProblem& p) { return p.batch == 1; }},
    stride_row<&GemmProblem::stride_a, &Batch::stride_a>(
        "stride_a", "sa", "a whole number from 0 to 2^36",
        "elements from one product's A to the next; 0: all products have the same A; without it "
        "they follow one another without a gap"),
    stride_row<&GemmProblem::stride_b, &Batch::stride_b>(
        "stride_b", "sb", "a whole number from 0 to 2^36",
        "elements from one product's B to the next; 0: all products have the same B; without it "
        "they follow one another without a gap"),
    stride_row<&GemmProblem::stride_d, &Batch::stride_d>(
        "stride_d", "sd", "a whole number from 1 to 2^36, or 0 for a single product",
        "elements from one product's D to the next; without it they follow one another without a "
        "gap"),
    ProblemField{.name = "products",
                 .prefix = "",
                 .values = "strided or pointers",
                 .number = false,
                 .help = "how the products of a batch are found: at strides, or by arrays of "
                         "addresses in device memory, as for cublasGemmBatchedEx; then they lie "
                         "anywhere, and have no strides",
                 .column = false,
                 .print = [](const GemmProblem& p) -> std::string {
                   return p.by_pointers ? "pointers" : "strided";
                 },
                 .parse =
                     [](GemmProblem& p, std::string_view word) {
                       if (word != "pointers" && word != "strided") return false;
                       p.by_pointers = word == "pointers";
                       return true;
                     },
                 .is_default = [](const GemmProblem& p) { return !p.by_pointers; }},
    ProblemField{
        .name = "scaling",
        .prefix = "scaling-",
        .values = "none, tensor, rows, blocks, packed_blocks or row_blocks",
        .number = false,
        .help =
            "factors of 8-bit operands, fp32 numbers in device memory: one for A and one for B "
            "(tensor); one for each row of A and of B (rows); or for each 128 of K one for "
            "each row of A and one for each 128 rows of B (blocks; packed_blocks, if those of B "
            "have no padding) or for each row of B (row_blocks)",
        .print = [](const GemmProblem& p) { return std::string(to_string(p.scaling)); },
        .parse =
            [](GemmProblem& p, std::string_view word) {
              const auto found = find_scaling(word);
              if (found) p.scaling = *found;
              return found.has_value();
            },
        .is_default = [](const GemmProblem& p) { return p.scaling == Scaling::kNone; }},
    ProblemField{
        .name = "d_scaling",
        .prefix = "dscaling-",
        .values = "given or blocks",
        .number = false,
        .help = "scale of a D of 8 bits, in device memory: one fp32 number that multiplies D "
                "(given); or one for each row and each 128 columns of D, which the kernel finds "
                "and writes, as A's with scaling-blocks: the largest magnitude over the largest "
                "value of the type (blocks)",
        .column = false,
        .print = [](const GemmProblem& p) { return std::string(to_string(p.output_scaling)); },
        .parse =
            [](GemmProblem& p, std::string_view word) {
              const auto found = find_output_scaling(word);
              if (found) p.output_scaling = *found;
              return found.has_value();
            },
        .is_default =
            [](const GemmProblem& p) { return p.output_scaling == OutputScaling::kGiven; }},
    ProblemField{.name = "epilogue",
                 .prefix = "",
                 .values =
                     "plain, scaled, bias, biasm (along M), relu, gelu, gelu_erf, silu, or "
                     "several of these in this order, like scaled-bias-gelu; with a gate "
                     "bilinear, reglu, geglu, geglu_erf, swiglu, or one of these and -interleaved; "
                     "after an activation without a gate -aux",
                 .number = false,
                 .help = "what is computed on the sums, and on C if there is one, before they "
                         "become D: alpha and beta scale them and C, a bias along N (or M) is "
                         "added, then the activation. With a "
                         "gate D has N / 2 columns, activation(gate) x up: gates are the first "
                         "half of the rows of B, or every second one from the first on "
                         "(interleaved). With aux the kernel also writes what the activation is "
                         "applied to",
                 .print = [](const GemmProblem& p) { return to_string(p.epilogue); },
                 .parse =
                     [](GemmProblem& p, std::string_view word) {
                       const auto found = find_epilogue(word);
                       if (found) p.epilogue = *found;
                       return found.has_value();
                     },
                 .is_default = [](const GemmProblem& p) { return p.epilogue == Epilogue{}; }},
    ProblemField{.name = "data",
                 .prefix = "",
                 .values = kInputDataWords,
                 .number = false,
                 .help = "what A and B hold where the problem is timed",
                 .column = false,
                 .print = [](const GemmProblem& p) { return to_string(p.data); },
                 .parse =
                     [](GemmProblem& p, std::string_view word) {
                       const auto found = find_input_data(word);
                       if (found) p.data = *found;
                       return found.has_value();
                     },
                 .is_default = [](const GemmProblem& p) { return p.data.is_normal(); }},
};
constexpr std::size_t kExtents = 3;  ///< the first rows, which start a key

/// Splits off the text before the next `separator`, or the whole text if there is none.
std::string_view take(std::string_view& rest, std::string_view separators) {
  const auto end = std::min(rest.find_first_of(separators), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

/// Reads "MxNxK". Returns false if the text has another form.
bool read_extents(std::string_view text, GemmProblem& problem) {
  if (std::ranges::count_if(text, [](char c) { return c == 'x' || c == 'X'; }) != 2) return false;
  return std::ranges::all_of(std::span(kFields).first(kExtents), [&](const ProblemField& field) {
    return field.parse(problem, take(text, "xX"));
  });
}

/// Reads the fields after MxNxK, each at most once and in any order, except that the type of all
/// operands comes before the type of one. Returns the first field that it could not read, or
/// nullopt.
std::optional<std::string_view> read_fields(std::string_view text, GemmProblem& problem) {
  const auto rows = problem_fields().subspan(kExtents);
  std::vector<std::string_view> known;
  while (!text.empty()) {
    const std::string_view field = take(text, ".");
    if (const auto types = find_data_type(field)) {
      const auto is_type = [](std::string_view name) { return name.ends_with("dtype"); };
      if (std::ranges::any_of(known, is_type)) return field;
      problem.set_types(*types);
      known.emplace_back("dtype");
      continue;
    }
    const auto row = std::ranges::find_if(rows, [&](const ProblemField& candidate) {
      return field.starts_with(candidate.prefix) &&
             candidate.parse(problem, field.substr(candidate.prefix.size()));
    });
    if (row == rows.end() || std::ranges::find(known, row->name) != known.end()) return field;
    known.push_back(row->name);
  }
  return std::nullopt;
}

}  // namespace

std::span<const ProblemField> problem_fields() { return kFields; }

const ProblemField* find_problem_field(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &ProblemField::name);
  return found == kFields.end() ? nullptr : &*found;
}

std::string to_string(const GemmProblem& problem) {
  std::string text;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const ProblemField& field = kFields[i];
    if (field.is_default(problem)) continue;
    if (i > 0) text += i < kExtents ? "x" : ".";
    text += field.prefix;
    text += field.print(problem);
  }
  return text;
}

GemmProblem parse_problem(std::string_view text, DataType types, const std::string& place) {
  GemmProblem problem;
  problem.set_types(types);
  std::string_view rest = text;
  const std::string_view extents = take(rest, ".");
  const bool dangling = text.ends_with('.');
  if (dangling || !read_extents(extents, problem)) {
    throw InputError(
        fmt::format("{}: found {}; expected MxNxK, three whole numbers from 1 to {}; {}", place,
                    in_quotes(text), kMaxExtent, kExamples));
  }
  if (const auto unknown = read_fields(rest, problem)) {
    throw InputError(fmt::format(
        "{}: found {}, whose {} is not supported there; expected MxNxK, the type of A and B (bf16, "
        "which is the default, fp16, e4m3 or e5m2), that of D if it is another one (fp32), and "
        "other fields, each once; {}",
        place, in_quotes(text), in_quotes(*unknown), kExamples));
  }
  check_padding(problem, place);
  return problem;
}

namespace {

/// Strides without a gap are left to why_unsupported(): there is no other one to give.
void check_strides(const GemmProblem& problem, const std::string& place) {
  const auto check_single = [&](const char* name, const char* prefix,
                                const std::optional<std::int64_t>& stride) {
    if (stride.value_or(0) == 0) return;
    throw InputError(fmt::format(
        "{}: found {} for {} ({} in a key), and no batch; a stride needs a batch of 2 or more; add "
        "one, or leave the stride out",
        place, *stride, name, prefix));
  };
  if (problem.batch == 1) {
    check_single("stride_a", "sa", problem.stride_a);
    check_single("stride_b", "sb", problem.stride_b);
    check_single("stride_d", "sd", problem.stride_d);
    if (problem.by_pointers) {
      throw InputError(fmt::format(
          "{}: found pointers, and no batch; arrays of pointers are for a batch of 2 products or "
          "more; add one, or leave the pointers out",
          place));
    }
    return;
  }
  const ProblemExtents extents = problem.extents();
  const Batch& batch = extents.batch;
  if (batch == batch_without_gaps(extents, batch.count)) return;
  if (const char* const reason = why_unsupported_batch(extents)) {
    throw InputError(
        fmt::format("{}: found the strides {} of A, {} of B and {} of D for {} products; {}; {}",
                    place, batch.stride_a, batch.stride_b, batch.stride_d, batch.count, reason,
                    batch.by_pointers ? "leave the strides out, or the pointers"
                                      : "leave a stride out for products without gaps"));
  }
}

}  // namespace

void check_padding(const GemmProblem& problem, const std::string& place) {
  const auto check = [&](const char* name, std::int64_t leading, const char* row,
                         std::int64_t length) {
    if (leading >= length) return;
    throw InputError(fmt::format(
        "{}: found {} for {}; expected at least {}, {}, the length of a row; leave it out for rows "
        "without padding",
        place, leading, name, row, length));
  };
  check("lda", problem.leading_a(), problem.a_major() == Major::kK ? "K" : "M",
        problem.contiguous_a());
  check("ldb", problem.leading_b(), problem.b_major() == Major::kK ? "K" : "N",
        problem.contiguous_b());
  check("ldd", problem.leading_d(), problem.is_gated() ? "N / 2" : "N", problem.contiguous_d());
  check_strides(problem, place);
}

void to_json(nlohmann::json& json, const GemmProblem& problem) {
  json = {{"problem", to_string(problem)}, {"tag", problem.tag}, {"weight", problem.weight}};
  for (const ProblemField& field : kFields) {
    const std::string word = field.print(problem);
    if (field.number) {
      json[field.name] = *find_number(word);
    } else {
      json[field.name] = word;
    }
  }
  if (!problem.data.files.empty()) json["data_files"] = problem.data.files;
}

void from_json(const nlohmann::json& json, GemmProblem& problem) {
  try {
    problem = parse_problem(json.at("problem").get<std::string>());
    problem.tag = json.value("tag", "");
    problem.weight = json.value("weight", 1.0);
    problem.data.files = json.value("data_files", "");
  } catch (const nlohmann::json::exception&) {
    throw InputError(
        "a problem in JSON: expected a map with the text \"problem\" (MxNxK), and the texts "
        "\"tag\" and \"data_files\" and the number \"weight\" if they are there");
  }
}

}  // namespace hgemm
