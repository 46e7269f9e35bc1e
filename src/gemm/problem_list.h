// Lists of problems in user input: "MxNxK,..." and YAML files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// Reads the argument of `--shapes`: a list "MxNxK[,MxNxK...]" of problems in the form of
/// to_string(), or a YAML file. A bare file name is looked up in the working folder, then in
/// `configs_dir`/shapes (".yaml" may be left out). Entries that describe the same problem are
/// merged as by merge_problems(). Throws InputError with file:line:column, what was found and what
/// was expected.
///
/// A file holds one or both of
///
///   shapes:                  # a list of maps or of "MxNxK"
///     - {m: [1, 16], n: "4096:8192:1024", k: 4096, tag: name, weight: 2, dtype: fp16, layout: TN,
///        lda: 4104, ldb: 4104, ldd: 8192, d_dtype: fp32, data: zeros}
///     - {m: 512, n: 512, k: 64, batch: 32, stride_a: 64, lda: 2048}
///   model:                   # a map, or a list of maps: a decoder's linear layers
///     {name: some-8b, hidden: 4096, ffn: 14336, heads: 32, kv_heads: 8, head_dim: 128,
///      vocab: 128256, layers: 32, tensor_parallel: 1, m: [1, 2048], dtype: bf16}
///
/// and `dtype:`, the type of the file's operands (default: bf16). m, n and k are numbers, lists, or
/// inclusive ranges "start:end:step"; an entry stands for the product of their values. The other
/// keys of a map are the names of problem_fields() (gemm/codec.h), and dtype, the type of A, B and
/// D.
///
/// A model needs hidden, ffn, heads, vocab and m. Defaults: kv_heads is heads, head_dim is
/// hidden / heads, layers and tensor_parallel are 1. gemm/decoder.h derives the GEMMs, with
/// separate gate and up and with logits of all rows. A problem's weight is the number of times that
/// it occurs in one forward pass. A file with several models must name them. The name starts the
/// model's tags: "some-8b/prefill/qkv" (prefill from 256 rows, else decode).
///
/// A file may also be just the list of shapes.
std::vector<GemmProblem> load_problems(const std::string& argument, const std::string& configs_dir);
/// The same for the text of such a file; `path` is used in messages only.
std::vector<GemmProblem> parse_problems(std::string_view text, const std::string& path);

/// Merges equal problems into the first of them. Weights add up; distinct tags are joined with '+'.
std::vector<GemmProblem> merge_problems(std::span<const GemmProblem> problems);

/// The sums of problems with 8-bit operands, whatever the problems say.
enum class Sums : unsigned char { kPromoted, kFast, kAny };
/// The value of a word ("promoted", "fast" or "any"); none for other words.
std::optional<Sums> find_sums(std::string_view word);

/// The problems with these sums. Other problems stay as they are. With kAny a problem of 8-bit
/// operands becomes two, of which the one with fast sums is second; it is left out where there can
/// be none (scales of blocks). Merges problems that are equal then.
std::vector<GemmProblem> with_sums(std::span<const GemmProblem> problems, Sums sums);

}  // namespace hgemm
