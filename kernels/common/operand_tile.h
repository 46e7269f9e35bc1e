// An operand's tile in a stage: the boxes that the copy engine writes, and the descriptors by which
// wgmma reads them.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/tiles.h"

namespace hgemm {

/// A tile of one operand in a stage: kExtent elements of M or N by kBk of K, of kBytes each.
/// Offsets are in descriptor units of 16 bytes. A descriptor (PTX ISA, "Matrix Descriptor Format")
/// has the start address, the leading and the stride byte offset (LBO at bit 16, SBO at bit 32),
/// all / 16, and at bit 62 the swizzle: 1 for 128 bytes, 2 for 64.
///
/// K-major: slabs of 128 bytes of K (64 if kBk is), which are 64 (32) 16-bit elements or 128 (64)
/// 8-bit ones, each with a row of so many bytes for every element of M or N. One wgmma's depth is
/// 32 bytes along the row. The hardware swizzles address bits, so a descriptor may begin inside an
/// atom's row. SBO: 8 rows; LBO is not used with a swizzle.
///
/// MN-major (imm-trans-a or -b of wgmma is 1), of 16-bit elements only. M or N is contiguous in
/// memory, so a box of the copy engine with 128-byte swizzle has 64 elements of it (128 bytes) for
/// each of its elements of K: a chunk (common/tiles.h). Before the swizzle, element (mn, k) of a
/// stage is element
///
///     mn / 64 * (64 kBk) + k * 64 + mn % 64.
///
/// PTX ISA, "Strides" and "Canonical Layouts" of wgmma's shared-memory operands: with 128-byte
/// swizzle, elements of 16 bits and MN-major, the shape ((8, 8, m), (8, k)) has the strides
/// ((1, 8, LBO), (64, SBO)): 64 elements of M or N lie side by side, and the next 64 LBO further;
/// 8 elements of K are a row of 128 bytes apart, and the next 8 lie SBO further. So LBO is 64 kBk
/// elements, kBk * 128 bytes, and SBO 8 * 64 elements, 1024 bytes.
///
/// - Both fields have 14 bits: LBO / 16 is 8 kBk <= 1024, SBO / 16 is 64.
/// - The next wgmma of a stage begins 16 elements of K further: 2048 bytes, two atoms. So every
///   descriptor begins with an atom (at 1024 bytes), and the base offset is 0.
/// - The next 64 of wgmma's rows are the next chunk. A consumer's columns begin with a chunk, too
///   (TiledRule::kLayout). If wgmma's N is no multiple of 64, it ends inside a chunk, of which it
///   does not read the rest.
/// - The swizzle XORs bits 4 to 6 of an address (which 16 bytes of a row) with bits 7 to 9 (which
///   row of its atom), for the copy engine and for wgmma alike. Boxes hold whole atoms, so for both
///   an atom begins at a multiple of 1024 bytes.
///
/// tests/kernels/operand_tile_test.cpp follows every element from its box to wgmma's read.
template <Major kMajor, int kExtent, int kBk, int kBytes = kInputBytes>
struct OperandTile {
  static constexpr bool kIsMn = kMajor == Major::kMn;
  static_assert(!kIsMn || kBytes == kInputBytes, "PTX ISA: only 16-bit types may be MN-major");
  static constexpr int kRowBytes = kBk * kBytes < kSwizzleBytes ? kBk * kBytes : kSwizzleBytes;
  static constexpr int kSlab = kRowBytes / kBytes;
  static constexpr int kRowUnits = kRowBytes / 16;
  /// From one element of M or N to the next. MN-major: for multiples of 64 elements.
  static constexpr int kMnUnits = kIsMn ? chunk_bytes(kBk) / 16 / kChunkMn : kRowUnits;

  /// To element k of K, a multiple of 16 bytes.
  static HGEMM_HOST_DEVICE constexpr int k_units(int k) {
    return kIsMn ? k * kSwizzleBytes / 16
                 : k / kSlab * kExtent * kRowUnits + k % kSlab * kBytes / 16;
  }
  static HGEMM_HOST_DEVICE constexpr int mn_units(int mn) { return mn * kMnUnits; }
  /// The start address has 18 bits (PTX ISA, matrix-descriptor-encode), but addresses of a
  /// cluster's CTA have its rank from bit 24 on. Above the 14 bits of the field they would change
  /// the LBO, which only MN-major tiles of several chunks read: without the mask, their second
  /// chunk was wrong in all CTAs but the first (measured).
  static HGEMM_HOST_DEVICE constexpr unsigned start(unsigned address) {
    return kIsMn ? (address & 0x3ffff) >> 4 : address >> 4;
  }
  static HGEMM_HOST_DEVICE constexpr unsigned long long descriptor(unsigned address) {
    constexpr unsigned long long kLeading = kIsMn ? chunk_bytes(kBk) / 16 : 1;
    constexpr unsigned long long kStride = kSwizzleRows * (kIsMn ? kSwizzleBytes : kRowBytes) / 16;
    constexpr unsigned long long kSwizzle = kIsMn || kRowBytes == kSwizzleBytes ? 1 : 2;
    return static_cast<unsigned long long>(start(address)) | (kLeading << 16) | (kStride << 32) |
           (kSwizzle << 62);
  }
};

/// One copy of the copy engine: where it writes in the stage (bytes), and its first column and row
/// in the operand's tensor map.
struct OperandBox {
  int offset;
  int column, row;
};

/// The boxes that a CTA copies of a tile with kExtent elements of M or N and kBk of K: all of them,
/// or its slice if the CTAs of a cluster share the tile. A slice has kSlice rows of a K-major tile,
/// or of an MN-major one kSlice elements of K; kSlice is kExtent (kBk) if it is the whole tile.
///
/// A slab (of an MN-major tile: a chunk) has kSliceExtent elements of M or N of the slice, and each
/// of its boxes kBoxExtent. (With a loop over box numbers, some kernels got other machine code.)
template <Major kMajor, int kExtent, int kBk, int kSlice, int kBytes = kInputBytes>
struct OperandBoxes {
  static constexpr bool kIsPaired = false;
  static constexpr bool kIsMn = kMajor == Major::kMn;
  static constexpr bool kIsWhole = kSlice == (kIsMn ? kBk : kExtent);
  static constexpr int kSlab = OperandTile<kMajor, kExtent, kBk, kBytes>::kSlab;
  static constexpr int kSlabs = kIsMn ? chunks_of(kExtent) : kBk / kSlab;
  static constexpr int kSliceExtent = kIsMn ? kChunkMn : kSlice;
  static constexpr int kBoxExtent = kIsMn ? kChunkMn : box_rows(kSlice);

  /// The box of a slab that begins with element `part` of its slice, a multiple of kBoxExtent. The
  /// tile begins with element `mn` of M or N and `k` of K, the slice with row (element of K)
  /// `begin` of the tile.
  static HGEMM_HOST_DEVICE constexpr OperandBox at(int slab, int part, int k, int mn, int begin) {
    if constexpr (kIsMn) {
      return {chunk_offset(slab, begin, kBk), mn + slab * kChunkMn + part, k + begin};
    } else {
      constexpr int kRowBytes = kSlab * kBytes;
      const int row = begin + part;
      return {slab * kExtent * kRowBytes + row * kRowBytes, k + slab * kSlab, mn + row};
    }
  }
};

/// The boxes of a K-major B whose rows are gates and ups (Gate): each has a run of kRun gates, then
/// the ups of the same columns of D. The tensor map has K, the rows of gates (and ups), and the two
/// halves as dimensions, so `row` counts gates, and what lies beyond the last one arrives as zeros.
template <int kExtent, int kBk, int kSlice, int kRun, int kBytes = kInputBytes>
struct PairedBoxes {
  static constexpr bool kIsPaired = true;
  static constexpr bool kIsWhole = kSlice == kExtent;
  static constexpr int kSlab = OperandTile<Major::kK, kExtent, kBk, kBytes>::kSlab;
  static constexpr int kSlabs = kBk / kSlab;
  static constexpr int kSliceExtent = kSlice;
  static constexpr int kBoxExtent = 2 * kRun;
  static_assert(kSlice % kBoxExtent == 0);

  /// As OperandBoxes::at().
  static HGEMM_HOST_DEVICE constexpr OperandBox at(int slab, int part, int k, int mn, int begin) {
    constexpr int kRowBytes = kSlab * kBytes;
    const int row = begin + part;
    return {slab * kExtent * kRowBytes + row * kRowBytes, k + slab * kSlab, (mn + row) / 2};
  }
};

}  // namespace hgemm
