// Lists of problems as people write them: "MxNxK,..." and YAML files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// What `--shapes` takes: a list "MxNxK[,MxNxK...]", each as to_string() writes it, or a YAML file.
/// A bare file name is looked up in the working folder, then in `configs_dir`/shapes (".yaml" may
/// be left out). Entries that describe the same problem are merged (weights add up, tags are joined
/// with
/// '+'). Throws InputError with file:line:column, what was found, what was expected.
///
/// A file holds one or both of
///
///   shapes:                  # a list of maps or of "MxNxK"
///     - {m: [1, 16], n: "4096:8192:1024", k: 4096, tag: name, weight: 2, dtype: fp16, layout: TN,
///        lda: 4104, ldb: 4104, ldd: 8192, d_dtype: fp32}
///   model:                   # a map, or a list of maps: a decoder's linear layers
///     {name: some-8b, hidden: 4096, ffn: 14336, heads: 32, kv_heads: 8, head_dim: 128,
///      vocab: 128256, layers: 32, tensor_parallel: 1, m: [1, 2048], dtype: bf16}
///
/// and `dtype:`, the type of the file's operands (else bf16). m, n and k are numbers, lists, or
/// inclusive ranges "start:end:step", and give their product. The other keys of a map are the names
/// of problem_fields() (gemm/codec.h), and dtype, the type of A, B and D. A model needs hidden,
/// ffn, heads, vocab and m; kv_heads is heads, head_dim is hidden / heads, layers and
/// tensor_parallel are 1 if left out. gemm/decoder.h has its GEMMs: gate and up are apart, logits
/// are of all rows. Its weights count how often a problem occurs in one forward
/// pass. name is needed beside other models, and begins its tags: "some-8b/prefill/qkv" (from 256
/// rows, else decode). A file may also be just the list of shapes.
std::vector<GemmProblem> load_problems(const std::string& argument, const std::string& configs_dir);
/// The same of such a file's text; `path` is for messages.
std::vector<GemmProblem> parse_problems(std::string_view text, const std::string& path);

/// Each problem once: the first of those that are the same, with the sum of their weights and their
/// distinct tags, joined with '+'.
std::vector<GemmProblem> merge_problems(std::span<const GemmProblem> problems);

}  // namespace hgemm
