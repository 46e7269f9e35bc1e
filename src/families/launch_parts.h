// Parts that the launches of all families share. Shared with exported packages, as launch.h is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "families/gpcs.h"
#include "families/operands.h"
#include "kernels/common/extents.h"
#include "kernels/common/params.h"
#include "kernels/common/scales.h"
#include "kernels/common/tiles.h"

namespace hgemm {

/// The parameters of one launch, and of the launch before it that packs, if anything is packed.
struct LaunchParams {
  BlockScaledParams kernel;  ///< of which others read the part that is their parameters
  PackParams pack;
};

// ---- Addresses ----

inline bool is_multiple_of(const void* address, std::uintptr_t unit) {
  return reinterpret_cast<std::uintptr_t>(address) % unit == 0;
}

/// An operand whose address a kernel cannot use; none if `name` is null.
struct Misaligned {
  const char* name = nullptr;  ///< "A"
  const void* address = nullptr;
  int bytes = 0;          ///< the address must be a multiple of this
  const char* cure = "";  ///< the configs that could use it, for messages
};

/// What may begin at any element; otherwise it begins at a multiple of 16 bytes.
struct AnyAddress {
  bool a, b;
  bool output;  ///< D, the second output, C and the bias
};
/// By pointers the operands are arrays of addresses in device memory, which no host code sees.
inline Misaligned find_misaligned_array(const Operands& operands) {
  const auto look = [](const char* name, const void* address) -> Misaligned {
    constexpr int kUnit = sizeof(void*);
    if (is_multiple_of(address, kUnit)) return {};
    return {name, address, kUnit, ""};
  };
  if (const auto a = look("the array of A's addresses", operands.a); a.name) return a;
  if (const auto b = look("the array of B's addresses", operands.b); b.name) return b;
  return look("the array of D's addresses", operands.d);
}
/// A kernel with `packs` also packs a matrix that begins between two units of 16 bytes, if the
/// matrix can be packed at all.
inline AnyAddress any_address(bool packs, bool stores_anywhere, const ProblemExtents& p) {
  return {packs && can_be_packed(all_of_a(p)), packs && can_be_packed(all_of_b(p)),
          stores_anywhere};
}
inline Misaligned find_misaligned_scale(Scaling scaling, const Operands& operands) {
  const int kBytes = is_of_blocks(scaling) ? kUnitBytes : static_cast<int>(sizeof(float));
  if (!is_multiple_of(operands.scale_a, kBytes)) {
    return {"the scales of A", operands.scale_a, kBytes, ""};
  }
  if (!is_multiple_of(operands.scale_b, kBytes)) {
    return {"the scales of B", operands.scale_b, kBytes, ""};
  }
  return {};
}
inline Misaligned find_misaligned_output_scale(const GemmKind& kind, const Operands& operands) {
  constexpr int kBytes = static_cast<int>(sizeof(float));
  if (finds_output_scales(kind)) {
    if (is_multiple_of(operands.scales_d, kUnitBytes)) return {};
    return {"the scales of D", operands.scales_d, kUnitBytes, ""};
  }
  if (is_multiple_of(operands.scale_d, kBytes)) return {};
  return {"the scale of D", operands.scale_d, kBytes, ""};
}
inline Misaligned find_misaligned(const GemmKind& kind, const AnyAddress& any,
                                  const Operands& operands) {
  if (kind.scaling != Scaling::kNone) {
    if (const auto scale = find_misaligned_scale(kind.scaling, operands); scale.name) return scale;
  }
  if (is_8_bit(kind.output)) {
    if (const auto scale = find_misaligned_output_scale(kind, operands); scale.name) return scale;
  }
  if (kind.by_pointers) return find_misaligned_array(operands);
  const auto look = [](const char* name, const void* address, bool anywhere, DataType type,
                       const char* cure) -> Misaligned {
    const int unit = anywhere ? element_bytes(type) : kUnitBytes;
    if (is_multiple_of(address, static_cast<std::uintptr_t>(unit))) return {};
    return {name, address, unit, anywhere ? "" : cure};
  };
  constexpr const char* kPacked = "that takes a config with pack";
  const char* const packed = is_8_bit(kind.input) ? "" : kPacked;
  if (const auto a = look("A", operands.a, any.a, input_a(kind), packed); a.name) return a;
  if (const auto b = look("B", operands.b, any.b, input_b(kind), packed); b.name) return b;
  const auto output = [&](const char* name, const void* address, DataType type) -> Misaligned {
    return look(name, address, any.output, type, "that takes a config whose store is staged");
  };
  const DataType addend = addend_type(kind.output);
  if (const auto c = output("C", operands.c, addend); kind.adds_c && c.name) return c;
  if (const auto bias = output("the bias", operands.bias, addend);
      kind.epilogue.bias != Bias::kNone && bias.name) {
    return bias;
  }
  if (const auto aux = output("the second output", operands.aux, kind.output);
      kind.epilogue.aux && aux.name) {
    return aux;
  }
  return output("D", operands.d, kind.output);
}

// ---- Workspace ----

/// Positions in the tile order are 32-bit and are multiplied by splits; schedulers step past the
/// last one by a grid. Orders multiply positions by groups of up to 64: with one tile more that is
/// 2^31.
inline constexpr long long kMaxTiles = (1 << 25) - 1;

/// Memory through which CTAs of a launch communicate: sums of parts of K with their flags, or the
/// number of tiles taken (KernelParams::partials, ::flags). It also holds A and B with aligned rows
/// if the config packs them. Flags must be zero before the first launch; each launch leaves them
/// zero.
struct WorkspaceBytes {
  std::size_t partials = 0, flags = 0;
  std::size_t packed_a = 0, packed_b = 0;
};
/// Addresses of these, each a multiple of 256 bytes; and the numbers of clusters by their GPC, if
/// the kernel has them (families/gpcs.h).
struct WorkspaceAddresses {
  void* partials = nullptr;
  void* flags = nullptr;
  void* packed_a = nullptr;
  void* packed_b = nullptr;
  const ClusterNumbers* numbers = nullptr;
};

/// Elements from one row of a packed matrix to the next.
inline long long packed_leading(long long cols, DataType type) {
  const int unit = unit_elements(type);
  return (cols + unit - 1) / unit * unit;
}

inline void add_packed_bytes(const GemmKind& kind, const ProblemExtents& p, WorkspaceBytes& bytes) {
  const auto packed = [&](const StoredMatrices& all) {
    return static_cast<std::size_t>(all.rows * all.count) *
           static_cast<std::size_t>(packed_leading(all.cols, kind.input) *
                                    element_bytes(kind.input));
  };
  bytes.packed_a = packed(all_of_a(p));
  bytes.packed_b = packed(all_of_b(p));
}

// ---- Tensor maps and parameters ----

/// A dimension of a map beyond those of a matrix.
struct OuterDimension {
  long long extent = 0;
  long long stride_bytes = 0;
  int box = 1;
};
/// A matrix for the copy engine: the arguments of cuTensorMapEncodeTiled for two dimensions, and
/// for others that choose a matrix: planes (gates and ups, or the matrices of many products), or an
/// address (kernels/common/params.h).
struct MatrixMap {
  const char* name = "";  ///< "A"
  void* data = nullptr;
  DataType type = DataType::kBf16;
  long long cols = 0, rows = 0;
  long long stride_bytes = 0;  ///< from one row to the next
  int box_cols = 0, box_rows = 0;
  int swizzle_bytes = 0;    ///< 0 (none), 64 or 128
  int promotion_bytes = 0;  ///< 0 (none), 64, 128 or 256
  int outer_dimensions = 0;
  OuterDimension outer[2] = {};
};

/// A matrix whose rows lie `leading` elements apart, or those of many products.
struct LeadingMatrix {
  const char* name;
  void* data;
  DataType type;
  StoredMatrices all;
  bool batched;      ///< the kernel computes many products, which may share this matrix
  bool by_pointers;  ///< `data` is an array of their addresses

  MatrixMap map(int box_cols, int box_rows, int swizzle_bytes, int promotion_bytes) const {
    // A single row has no next row, and a single matrix no next one: any multiple of the unit
    // works.
    const long long row = all.rows == 1 ? packed_leading(all.cols, type) : all.leading;
    const long long plane = all.count == 1 ? all.rows * row : all.stride;
    MatrixMap map{
        name,     data,     type,          all.cols,       all.rows, row * element_bytes(type),
        box_cols, box_rows, swizzle_bytes, promotion_bytes};
    if (by_pointers) {
      map.data = nullptr;
      map.outer_dimensions = 2;
      map.outer[0] = {static_cast<long long>(kUnitsBelow), kUnitBytes};
      map.outer[1] = {static_cast<long long>(kRunsOfUnits),
                      static_cast<long long>(kUnitsBelow) * kUnitBytes};
    } else if (batched) {
      map.outer_dimensions = 1;
      map.outer[0] = {all.count, plane * element_bytes(type)};
    }
    return map;
  }
  /// By pointers: a matrix with these extents at a mapped address (PointersParams).
  LeadingMatrix outside() const {
    auto* const array = static_cast<unsigned char*>(data);
    const auto past = reinterpret_cast<std::uintptr_t>(array) % kUnitBytes;
    return {name, array - past, type, all, false, false};
  }
};

/// The boxes of an MN-major operand, of which a CTA fetches `slice_k` elements of K of each chunk.
inline MatrixMap map_of_chunks(const LeadingMatrix& matrix, int slice_k, int promotion_bytes) {
  return matrix.map(kChunkMn, slice_k, kSwizzleBytes, promotion_bytes);
}

/// The boxes of a K-major B whose rows are gates and ups (PairedBoxes): gates and ups are a plane
/// each. A box has `box_rows` gates and as many ups.
inline MatrixMap map_of_pairs(const LeadingMatrix& matrix, Gate gate, int box_cols, int box_rows,
                              int swizzle_bytes, int promotion_bytes) {
  MatrixMap map = matrix.map(box_cols, box_rows, swizzle_bytes, promotion_bytes);
  map.rows = matrix.all.rows / 2;
  map.outer_dimensions = 1;
  if (gate == Gate::kInterleaved) {
    // Rows interleave with those of the other plane. (About strides: kernels/common/params.h.)
    map.outer[0] = {2, map.stride_bytes, 2};
    map.stride_bytes *= 2;
  } else {
    map.outer[0] = {2, map.rows * map.stride_bytes, 2};
  }
  return map;
}

/// The bias is a matrix of one row.
struct OperandMatrices {
  LeadingMatrix a, b, c, d, bias, aux;
};
inline OperandMatrices matrices_of(const GemmKind& kind, const ProblemExtents& p,
                                   const Operands& operands) {
  const long long bias_elements = kind.epilogue.bias == Bias::kAlongM ? p.m : p.n;
  const StoredMatrices bias{{1, bias_elements, bias_elements}, 1, 0};
  const auto matrix = [&](const char* name, const void* data, DataType type,
                          const StoredMatrices& all) -> LeadingMatrix {
    return {name, const_cast<void*>(data), type, all, kind.batched, kind.by_pointers};
  };
  return {matrix("A", operands.a, input_a(kind), all_of_a(p)),
          matrix("B", operands.b, input_b(kind), all_of_b(p)),
          matrix("C", operands.c, addend_type(kind.output), all_of_d(p)),
          matrix("D", operands.d, kind.output, all_of_d(p)),
          matrix("the bias", operands.bias, addend_type(kind.output), bias),
          matrix("the second output", operands.aux, kind.output, all_of_d(p))};
}

/// If the rows of `matrix` are not aligned, makes it the packed matrix and returns the packing
/// work. (Matrices of many products are packed as one: can_be_packed().)
inline PackedMatrix pack_if_needed(LeadingMatrix& matrix, void* packed) {
  if (is_multiple_of(matrix.data, kUnitBytes) && rows_are_aligned(matrix.all, matrix.type)) {
    return {};
  }
  StoredMatrices& all = matrix.all;
  const PackedMatrix work{matrix.data, packed, all.leading, static_cast<int>(all.rows * all.count),
                          static_cast<int>(all.cols)};
  matrix.data = packed;
  all.leading = packed_leading(all.cols, matrix.type);
  if (all.count > 1) all.stride = stride_without_gap(all);
  return work;
}

/// The boxes of scales of blocks (BlockScaledParams), for tiles of so many rows of A and of B.
template <class Encode>
void encode_block_scales(const GemmKind& kind, const ProblemExtents& p, const Operands& operands,
                         int a_rows, int b_rows, const Encode& encode, BlockScaledParams& params) {
  if (!is_of_blocks(kind.scaling)) return;
  const auto encode_numbers = [&](const char* name, const float* data, const StoredMatrices& all,
                                  int box_cols, int box_of_rows) {
    const LeadingMatrix matrix{name, const_cast<float*>(data), DataType::kFp32, all, false, false};
    return encode(matrix.map(box_cols, box_of_rows, 0, 0));
  };
  params.scale_a_map = encode_numbers("the scales of A", operands.scale_a, scales_of_rows(p.m, p.k),
                                      box_rows(a_rows), 1);
  StoredMatrices of_b = scales_of_b(kind.scaling, p.n, p.k);
  const bool is_packed = kind.scaling == Scaling::kPackedBlocks;
  // Packed rows may begin at any number, so they are read as one row.
  if (is_packed) of_b = {{1, of_b.rows * of_b.cols, scale_leading(of_b.rows * of_b.cols)}, 1, 0};
  const bool has_row_blocks = has_row_blocks_of_b(kind.scaling);
  params.scale_b_map =
      encode_numbers("the scales of B", operands.scale_b, of_b,
                     has_row_blocks ? kScaleBoxBlocks : box_rows(b_rows),
                     has_row_blocks && !is_packed ? row_blocks_of_tile(b_rows) : 1);
}

/// All parameters except the tensor maps, and the packing work if the kernel packs.
inline LaunchParams params_without_maps(bool packs, const ProblemExtents& p,
                                        const Operands& operands, OperandMatrices& matrices,
                                        const WorkspaceAddresses& workspace) {
  LaunchParams launch{};
  if (packs) {
    launch.pack = {pack_if_needed(matrices.a, workspace.packed_a),
                   pack_if_needed(matrices.b, workspace.packed_b)};
  }
  BlockScaledParams& params = launch.kernel;
  params.a_pointer = matrices.a.data;
  params.b_pointer = matrices.b.data;
  params.d_pointer = matrices.d.data;
  params.c = matrices.c.data;
  params.bias = matrices.bias.data;
  params.alpha = operands.alpha;
  params.beta = operands.beta;
  params.aux_pointer = matrices.aux.data;
  params.scale_a = operands.scale_a;
  params.scale_b = operands.scale_b;
  params.scale_d = operands.scale_d;
  params.scales_d = operands.scales_d;
  params.partials = static_cast<float*>(workspace.partials);
  params.flags = static_cast<unsigned*>(workspace.flags);
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.lda = static_cast<int>(matrices.a.all.leading);
  params.ldb = static_cast<int>(matrices.b.all.leading);
  params.ldd = static_cast<int>(matrices.d.all.leading);
  params.products = static_cast<int>(p.batch.count);
  params.a_step = matrices.a.all.count > 1 ? 1 : 0;
  params.b_step = matrices.b.all.count > 1 ? 1 : 0;
  params.d_stride = matrices.d.all.stride;
  return launch;
}

}  // namespace hgemm
