// The two forms in which shapes are written: MxNxK and YAML files. Private to the module.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "space/shape.h"

namespace hgemm {

/// One "MxNxK", with ".bf16", ".fp16" or ".fp32" appended to overrule `dtype`, and leading
/// dimensions (".lda4104"). `place` begins messages.
Shape parse_shape(std::string_view text, Dtype dtype, const std::string& place);

/// All shapes of a YAML file in its order, before merging. A file holds one or both of
///
///   shapes:                  # a list of maps or of "MxNxK"
///     - {m: [1, 16], n: "4096:8192:1024", k: 4096, tag: name, weight: 2, dtype: fp16, layout: TN,
///        lda: 4104, ldb: 4104, ldd: 8192}
///   model:                   # a map, or a list of maps: a decoder's linear layers
///     {name: some-8b, hidden: 4096, ffn: 14336, heads: 32, kv_heads: 8, head_dim: 128,
///      vocab: 128256, layers: 32, tensor_parallel: 1, m: [1, 2048], dtype: bf16}
///
/// and `dtype:`, the default of the file (else bf16). m, n and k are numbers, lists, or inclusive
/// ranges "start:end:step", and give their product. Leading dimensions (lda, ldb, ldd) that are
/// left out are those of rows without padding. A model needs hidden, ffn, heads, vocab and m;
/// kv_heads is heads, head_dim is hidden / heads, layers and tensor_parallel are 1 if left out. Its
/// weights count how often a shape occurs in one forward pass. name is needed beside other models,
/// and begins its tags: "some-8b/prefill/qkv" (from 256 rows, else decode).
/// A file may also be just the list of shapes.
std::vector<Shape> read_shapes_file(const std::string& path);

}  // namespace hgemm
