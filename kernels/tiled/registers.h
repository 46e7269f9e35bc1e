// Registers of the tiled family's kernels: what a consumer needs, and what it gets.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "tiled/config.h"

namespace hgemm {

/// Registers for a tile that waits to be stored, in the output type.
HGEMM_HOST_DEVICE constexpr int waiting_registers(const TiledKernel& k) {
  return k.store == StorePath::kOverlapped && !waits_in_sums(k)
             ? outputs_per_thread(k) * element_bytes(k.gemm.output) / 4
             : 0;
}
/// Registers that a consumer needs in addition to its accumulators and waiting values. Measured
/// with ptxas 13.0: a step of bn more spills. The copy engine's addresses take more registers than
/// those of direct stores, and so do a cluster's.
HGEMM_HOST_DEVICE constexpr int accumulator_reserve(const TiledKernel& k) {
  if (adds_in_cluster(k)) {
    if (k.store == StorePath::kStaged) return k.consumers == 3 ? 88 : 104;
    return k.consumers == 1 && k.gemm.output == DataType::kFp32 ? 104 : 72;
  }
  if (shares_sums(k)) {
    if (k.consumers == 3) return 64;
    if (k.consumers == 2) return k.ctas_per_sm > 1 ? 48 : 40;
    return k.ctas_per_sm > 1 ? 40 : 88;
  }
  if (k.swap && k.scheduler == TileScheduler::kStreamK) return 88;
  // 60 accumulators with 100 to spare spilled, 56 did not (of 74 kernels of batches).
  if ((k.gemm.batched || k.gemm.epilogue.aux) && k.scheduler == TileScheduler::kStreamK &&
      k.consumers == 3) {
    return 104;
  }
  if (k.store == StorePath::kStaged) return k.schedule == Schedule::kPingPong ? 56 : 48;
  return k.store == StorePath::kDirect ? 32 : 40;
}
/// Most accumulators for fp32 outputs that are added up in the workspace, where the sums that were
/// read and those to be written are live at once. Measured with ptxas 13.0 over 1,140 configs,
/// whose spills are not a smooth function of the tile: up to this number no kernel with one or two
/// consumers spills. With three, or with two and two CTAs per SM, some spill at any width.
HGEMM_HOST_DEVICE constexpr int most_added_fp32_values(const TiledConfig& c) {
  if (c.consumers > 2 || c.consumers * c.ctas_per_sm > 2) return 0;
  if (c.consumers == 1) return 160;
  return c.schedule == Schedule::kPingPong && c.store == StorePath::kDirect ? 136 : 168;
}
HGEMM_HOST_DEVICE constexpr bool adds_fp32_outputs(const TiledKernel& k) {
  return k.gemm.output == DataType::kFp32 && k.scheduler == TileScheduler::kStreamK;
}
HGEMM_HOST_DEVICE constexpr int entry_registers(const TiledConfig& c,
                                                const DeviceLimits& limits = {}) {
  return entry_registers(threads_per_cta(c), c.ctas_per_sm, limits);
}
/// Most registers that consumer_registers() gives where the kernel needs no more than 232.
HGEMM_HOST_DEVICE constexpr int most_moved_registers(const TiledConfig& c) {
  if (c.ctas_per_sm > 1) return c.consumers == 1 ? 232 : 104;
  return c.consumers == 1 ? DeviceLimits{}.max_registers_per_thread : c.consumers == 3 ? 160 : 232;
}
/// Whether a block of B may begin at any 8 columns of the tile, all of which are promoted at once.
HGEMM_HOST_DEVICE constexpr bool has_scales_in_runs_of_8(const TiledKernel& k) {
  return has_row_blocks_of_b(k.gemm.scaling) && k.promote != 0 && !k.swap && mma_blocks(k) == 1 &&
         consumer_cols(k) % 16 != 0;
}
HGEMM_HOST_DEVICE constexpr int registers_in_runs_of_8(const TiledKernel& k) {
  return k.gemm.output == DataType::kFp32 ? 64 : 56;
}
/// Registers for the scales of a stage (common/block_scales.cuh). With runs of 8 columns a consumer
/// needs 56 beside its sums, for fp32 outputs 64, and 88 with scheduler csplit; the staged store's
/// reserve is enough. Among 330 such tiles (ptxas 13.0) 24 spilled with 8 here, up to 300 bytes.
/// Now 303 of them are left, which do not spill; nor would 8 of the others. Among 431 tiles with
/// wider runs of columns one spilled with 8, by 16 bytes.
HGEMM_HOST_DEVICE constexpr int block_scale_registers(const TiledKernel& k) {
  if (!is_of_blocks(k.gemm.scaling)) return 0;
  if (!has_scales_in_runs_of_8(k)) return 8;
  const int reserve = accumulator_reserve(k);
  return reserve < 48 ? registers_in_runs_of_8(k) - reserve : adds_in_cluster(k) ? 16 : 8;
}
/// Whether a consumer that promotes all sums at once needs its most registers in the main loop. The
/// tensor cores' sums are live there; when the epilogue begins they are free. Among 176 such tiles
/// at random the 40 that spilled had the staged store, a scale for each row of B, or 208 columns
/// (ptxas 13.0).
HGEMM_HOST_DEVICE constexpr bool frees_sums(const TiledKernel& k) {
  return k.promote != 0 && k.mma_depth == 0 && mma_blocks(k) == 1 && !k.swap && !cuts_k(k) &&
         !is_dynamic(k) && k.ctas_per_sm == 1 && k.store != StorePath::kStaged &&
         !waits_in_sums(k) && k.gemm.scaling != Scaling::kRowBlocks;
}
/// Registers that such a main loop needs: beside the sums those for addresses and scales. Of 144
/// such tiles, with 176 to 200 columns by two consumers and 112 to 128 by three, one spills, by 8
/// bytes (ptxas 13.0).
HGEMM_HOST_DEVICE constexpr int main_loop_registers(const TiledKernel& k) {
  const int rest = has_scales_in_runs_of_8(k) ? registers_in_runs_of_8(k)
                   : k.consumers == 3         ? 32
                                              : 40;
  return 2 * accumulators_per_thread(k) + waiting_registers(k) + rest;
}
/// Pieces in which the sums of a stage are promoted, one after the other, so that they share
/// registers: the 64-row blocks of a consumer, or the two halves of its columns where the sums of
/// all of them do not fit. More than one need an interval of one stage: otherwise each piece would
/// need the stages of the whole interval at once. Two stages in flight are whole.
HGEMM_HOST_DEVICE constexpr int promoted_pieces(const TiledKernel& k) {
  if (k.promote == 0 || k.promote != k.bk || k.mma_depth > 0) return 1;
  if (mma_blocks(k) > 1) return mma_blocks(k);
  const int whole = 2 * accumulators_per_thread(k) + waiting_registers(k) + accumulator_reserve(k) +
                    block_scale_registers(k);
  // consumer_registers() gives two consumers 240 where they need them.
  const int most = k.consumers == 2 ? 240 : most_moved_registers(k);
  const bool fits =
      whole <= most_moved_registers(k) || (frees_sums(k) && main_loop_registers(k) <= most);
  return fits || consumer_cols(k) % 16 != 0 ? 1 : 2;
}
/// Registers for the tensor cores' sums beside those in which they are added up.
HGEMM_HOST_DEVICE constexpr int promoted_registers(const TiledKernel& k) {
  if (k.promote == 0) return 0;
  const int stages = promotes_in_flight(k.promote, k.bk, k.mma_depth) ? 2 : 1;
  return accumulators_per_thread(k) * stages / promoted_pieces(k);
}
/// Registers that a consumer with the direct store needs to add C and the bias. ptxas 13.0 loads
/// more of a 16-bit C at once than with another store path (measured on 122 kernels of 112 to 184
/// accumulators).
HGEMM_HOST_DEVICE constexpr int registers_to_add_and_store(const TiledKernel& k, bool has_other) {
  const bool has_bias = k.gemm.epilogue.bias != Bias::kNone;
  if (k.gemm.output == DataType::kFp32) return has_other ? 44 : 24;
  return !has_other ? 36 : has_bias ? 80 : 64;
}
/// Registers that a consumer needs for its epilogue. Measured with ptxas 13.0 on 750 kernels at
/// random, of which 5 spill, by at most 12 bytes.
HGEMM_HOST_DEVICE constexpr int epilogue_registers(const TiledKernel& k) {
  const bool has_other = k.gemm.epilogue != Epilogue{};
  const bool is_fp32 = k.gemm.output == DataType::kFp32;
  int registers = 0;
  if (k.gemm.adds_c && loads_addends(k)) {
    // ptxas 13.0 loads more of C at once where outputs have 8 bits: without these 56 three kernels
    // of the smoke space spill (64 sums and 64 to be promoted; 12 to 32 bytes).
    registers = (has_other ? 48 : 24) + (is_8_bit(k.gemm.output) ? 56 : 0);
  }
  if (k.gemm.adds_c && copies_addends(k)) {
    registers = shares_sums(k)                  ? 24
                : k.store == StorePath::kDirect ? registers_to_add_and_store(k, has_other)
                                                : 8 + (has_other ? 16 : 0) + (is_fp32 ? 16 : 0);
  }
  if (k.gemm.epilogue.activation == Activation::kGeluErf) {
    registers += k.gemm.adds_c || loads_addends(k) ? 72 : 8;
  }
  const bool keeps_sums = k.gemm.epilogue.aux && k.store == StorePath::kStaged;
  return is_gated(k.gemm) || keeps_sums ? registers + 8 : registers;
}
/// Registers that a consumer of 8-bit operands needs beside, most of them if sums of other CTAs
/// come through memory, and some for a D of 8 bits, whose pairs lanes write one by one. Measured
/// with ptxas 13.0 on the widest tiles of each manner: of those with scheduler stream or split many
/// spill without it, up to 300 bytes; of the others one with scales and the staged store (184
/// accumulators, 8 bytes). A kernel that finds the scales of D holds the values of 128 columns at
/// once: with the 8 or 16 of a given scale 12 of the 200 tightest spilled, by 4 to 32 bytes,
/// with 32 none of 60, and one with a gate, by 8; with a gate and 40, one of the staged store by 8.
/// The registers of promoted sums are free by then (none of 72 spilled).
HGEMM_HOST_DEVICE constexpr int added_fp8_registers(const TiledKernel& k) {
  if (!is_8_bit(k.gemm.input)) return 0;
  const bool has_scales = k.gemm.scaling != Scaling::kNone;
  const bool is_staged = k.store == StorePath::kStaged && !shares_sums(k);
  const bool has_few = k.swap || k.store == StorePath::kDirect;
  const int of_found_scales = k.promote != 0 ? 0 : is_gated(k.gemm) ? (is_staged ? 48 : 40) : 32;
  const int of_output = !is_8_bit(k.gemm.output)      ? 0
                        : finds_output_scales(k.gemm) ? of_found_scales
                        : has_few                     ? 8
                                                      : 16;
  if (!adds_in_workspace(k)) return (has_scales && is_staged ? 8 : 0) + of_output;
  // One of 24 points at random spilled without these 24 (128 sums, bias-gelu; 20 bytes).
  const bool finds_staged = finds_output_scales(k.gemm) && has_epilogue(k.gemm) && is_staged;
  return of_output + (finds_staged ? 24 : 0) + (k.promote != 0 ? 24 : 0) + (has_scales ? 16 : 0) +
         (has_epilogue(k.gemm) ? 24 : 0) + (has_scales && is_staged ? 48 : 0);
}
/// Registers for three or more pieces (promoted_pieces()) of a stage with a bk of 256, in a cluster
/// and for two consumers. Without these 12, 67 of 224 such tiles that need 200 or more spilled, up
/// to 1036 bytes (ptxas 13.0). Of 226 that are left 5 do, all with fp32 outputs, by up to 84; 11
/// that did not spill are lost.
HGEMM_HOST_DEVICE constexpr int piece_registers(const TiledKernel& k) {
  const bool is_tight = promoted_pieces(k) > 2 && k.bk >= 256 && k.consumers == 2 &&
                        cluster_size(k) > 1 && !adds_in_workspace(k);
  const bool has_spare =
      k.store == StorePath::kStaged || (k.store == StorePath::kDirect && is_8_bit(k.gemm.output));
  // Factors of all columns are read for each stage, and kept until it is released. Among 25 of the
  // tightest tiles with the direct store 12 spilled, by 44 to 408 bytes (ptxas 13.0), and 2 if a
  // release did not wait for what is read. All but these 2 have pieces or two stages in flight.
  const bool has_parts = promoted_pieces(k) > 1 || promotes_in_flight(k.promote, k.bk, k.mma_depth);
  const bool reads_much = k.gemm.scaling == Scaling::kRowBlocks && !k.swap &&
                          k.store == StorePath::kDirect && has_parts;
  return reads_much ? 48 : is_tight && !has_spare ? 12 : 0;
}
/// Whether a kernel that promotes its sums has cycle stamps, and is of a kind of which none of 160
/// of the tightest spills with them (ptxas 13.0).
HGEMM_HOST_DEVICE constexpr bool stamps_fit(const TiledKernel& k) {
  const bool scales_fit =
      has_row_blocks_of_b(k.gemm.scaling) ? is_within_blocks(k.bn) : !is_of_blocks(k.gemm.scaling);
  return k.probe && k.promote != 0 && k.consumers == 2 && k.ctas_per_sm == 1 && !k.swap &&
         k.bk <= 128 && k.store == StorePath::kTma && element_bytes(k.gemm.output) == 2 &&
         scales_fit && !has_epilogue(k.gemm);
}
/// Registers that a consumer needs.
HGEMM_HOST_DEVICE constexpr int needed_registers(const TiledKernel& k) {
  const int epilogue = accumulators_per_thread(k) + waiting_registers(k) + accumulator_reserve(k) +
                       epilogue_registers(k) + added_fp8_registers(k);
  const int needed =
      epilogue + promoted_registers(k) + block_scale_registers(k) + piece_registers(k);
  if (needed > most_moved_registers(k) && frees_sums(k) && promoted_pieces(k) == 1) {
    const int main_loop = main_loop_registers(k);
    return main_loop > epilogue ? main_loop : epilogue;
  }
  // With 240 registers for a consumer the producer has 24, which are too few for its stamps.
  return stamps_fit(k) && needed > 232 && needed <= 240 ? 232 : needed;
}
/// Registers that a consumer with cycle stamps needs beside where it promotes sums: of 100 tiles
/// without 8 to spare 20 spilled, and with up to 15 some of three consumers, with the overlapped
/// store, scales of blocks or a bk of 256 (ptxas 13.0).
HGEMM_HOST_DEVICE constexpr int stamp_registers(const TiledKernel& k) {
  if (!k.probe || k.promote == 0 || stamps_fit(k)) return 0;
  const bool needs_many = k.consumers == 3 || k.store == StorePath::kOverlapped ||
                          is_of_blocks(k.gemm.scaling) || k.bk > 128;
  return needs_many ? 24 : 8;
}
/// Whether the producer gives registers to the consumers (setmaxnreg), which delays the start by
/// about 130 cycles (results/h200/probe.md). Not if consumers have as many as they need at kernel
/// entry, and some for the compiler to choose from: more where they hold the sums of other parts
/// too (with 32 to spare, 64 of 124 such kernels of 66 to 128 accumulators spilled, with 64 none;
/// ptxas 13.0). Streamed fp32 sums may spill at any width (most_added_fp32_values), so their
/// consumers get all that there is.
HGEMM_HOST_DEVICE constexpr bool moves_registers(const TiledKernel& k) {
  const int to_spare = shares_sums(k) ? 64 : 32;
  return (needed_registers(k) + to_spare > entry_registers(k) || adds_fp32_outputs(k)) &&
         entry_registers(k) < DeviceLimits{}.max_registers_per_thread;
}
/// setmaxnreg targets. They share the registers with which the CTA was launched (entry registers x
/// warpgroups); with one register more, setmaxnreg.inc waits forever. 40 + 2 * 232 = 24 + 2 * 240 =
/// 3 * 168; 32 + 3 * 160 = 4 * 128. With one consumer the entry count is already the most that a
/// thread can have, unless two CTAs share the SM: 24 + 232 = 2 * 128, and for two consumers 24 + 2
/// * 104 < 3 * 80.
///
/// Two consumers get 240 only for tiles that need it, because with 24 registers some producers
/// spill.
HGEMM_HOST_DEVICE constexpr int consumer_registers(const TiledKernel& k) {
  if (!moves_registers(k)) return entry_registers(k);
  if (k.ctas_per_sm > 1) return k.consumers == 1 ? 232 : 104;
  if (k.consumers == 3) return 160;
  // To find its work, the producer needs more than 24 registers.
  if (cuts_k(k) || is_dynamic(k)) return 232;
  return needed_registers(k) > 232 ? 240 : 232;
}
/// Registers within which ptxas 13.0 keeps a consumer: those of kernel entry if it adds up shares
/// of tiles in the workspace, or loads C or the bias from memory (measured: beyond them it spills,
/// whatever setmaxnreg says).
HGEMM_HOST_DEVICE constexpr int usable_registers(const TiledKernel& k) {
  return shares_sums(k) || loads_addends(k) ? entry_registers(k) : consumer_registers(k);
}
HGEMM_HOST_DEVICE constexpr int producer_registers(const TiledKernel& k) {
  if (!moves_registers(k)) return entry_registers(k);
  if (k.ctas_per_sm > 1) return 24;
  if (k.consumers == 3) return 32;
  return consumer_registers(k) == 240 ? 24 : 40;
}

}  // namespace hgemm
