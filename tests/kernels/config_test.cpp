// The arithmetic of configs: accepted kernels respect what the hardware has, and their parts cover
// what they compute.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "families/family.h"

namespace hgemm {
namespace {

constexpr GemmKind kKinds[] = {{}, {DataType::kBf16, DataType::kFp32}};

bool is_valid(const Kernel& kernel) { return !why_invalid(kernel); }

// Sums of a cluster's CTAs: each box is added up by one of them, which has room for it.
template <class KernelType>
void expect_boxes_owned_once(const KernelType& k) {
  SCOPED_TRACE(build_name(k));
  ASSERT_TRUE(is_valid(k));
  EXPECT_EQ(first_box(k, 0), 0);
  EXPECT_EQ(first_box(k, k.splits), store_boxes(k));
  EXPECT_EQ(box_value(k, store_boxes(k)), accumulators_per_thread(k));
  for (int rank = 0; rank < k.splits; ++rank) {
    for (int box = first_box(k, rank); box < first_box(k, rank + 1); ++box) {
      EXPECT_EQ(box_owner(k, box), rank) << "box " << box;
      EXPECT_LE(box_value(k, box + 1) - box_value(k, box), box_values(k));
    }
    const int values = box_value(k, first_box(k, rank + 1)) - box_value(k, first_box(k, rank));
    EXPECT_LE(values * kSumBytes, sent_bytes(k));
  }
}

TEST(TiledConfigs, EachBoxOfASplitTileHasOneOwner) {
  for (const GemmKind& kind : kKinds) {
    int found = 0;
    for (int bn = 8; bn <= 256; bn += 8) {
      for (int splits = 2; splits <= 8; ++splits) {
        for (const auto& [bm, schedule, consumers] : {std::tuple{64, Schedule::kRows, 1},
                                                      {128, Schedule::kRows, 2},
                                                      {256, Schedule::kRows, 2},
                                                      {192, Schedule::kColumns, 2}}) {
          const TiledKernel k{{.bm = bm,
                               .bn = bn,
                               .bk = 64,
                               .stages = 3,
                               .schedule = schedule,
                               .consumers = consumers,
                               .scheduler = TileScheduler::kClusterSplitK,
                               .splits = splits},
                              kind};
          if (!is_valid(k)) continue;
          expect_boxes_owned_once(k);
          ++found;
        }
      }
    }
    EXPECT_GT(found, 300);
  }
}

TEST(SwapAbConfigs, EachGroupOfATileHasOneOwner) {
  for (const GemmKind& kind : kKinds) {
    for (int bm = 8; bm <= 128; bm += 8) {
      for (int splits = 1; splits <= 8; ++splits) {
        const SwapAbKernel k{{.bm = bm, .bn = 192, .bk = 64, .stages = 3, .splits = splits}, kind};
        expect_boxes_owned_once(k);
        EXPECT_LE(epilogue_bytes(k), smem_layout(k).full) << build_name(k);
      }
    }
  }
}

// What a consumer stores and what each CTA of a cluster fetches are whole, whatever the widths.
void expect_whole_shares(const TiledKernel& k) {
  SCOPED_TRACE(build_name(k));
  EXPECT_EQ(consumer_rows(k) * consumer_cols(k) * readers(k), k.bm * k.bn);
  EXPECT_EQ(accumulators_per_thread(k) * kWarpgroupThreads, consumer_rows(k) * consumer_cols(k));
  for (const auto& [rows, slice, ctas] :
       {std::tuple{k.bm, a_slice_rows(k), k.cluster_n}, {k.bn, b_slice_rows(k), k.cluster_m}}) {
    EXPECT_EQ(slice % 8, 0);
    EXPECT_LE(slice, rows);
    EXPECT_GE(slice * ctas, rows);
    EXPECT_LT(slice * ctas, rows + 8 * ctas);
    EXPECT_EQ(slice % box_rows(slice), 0);
    EXPECT_EQ(box_rows(slice) % 8, 0);
    EXPECT_LE(box_rows(slice), kMaxBoxRows);
  }
  const auto twice = [](int rows, int ctas) {  // rows that arrive twice, as whole swizzle atoms
    return (rows / 8 + ctas - 1) / ctas * ctas * 8 - rows;
  };
  const int extra_rows = twice(k.bm, k.cluster_n) + twice(k.bn, k.cluster_m);
  EXPECT_EQ(arriving_bytes(k),
            a_stage_bytes(k) + b_stage_bytes(k) + extra_rows * k.bk * kInputBytes);
}

TEST(TiledConfigs, SharesAndSlicesCoverTheTile) {
  for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong}) {
    for (int bm = 64; bm <= 384; bm += 64) {
      for (int bn = 8; bn <= 256; bn += 8) {
        for (const int consumers : {1, 2, 3}) {
          for (const auto& [cluster_m, cluster_n] :
               {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 8}}) {
            TiledKernel k{{.bm = bm,
                           .bn = bn,
                           .bk = 32,
                           .stages = 3,
                           .cluster_m = cluster_m,
                           .cluster_n = cluster_n,
                           .schedule = schedule,
                           .consumers = consumers},
                          {}};
            if (is_valid(k)) expect_whole_shares(k);
            std::swap(k.bm, k.bn);
            k.swap = true;
            if (is_valid(k)) expect_whole_shares(k);
          }
        }
      }
    }
  }
}

// setmaxnreg.inc waits for registers that the CTA gave back; what it was launched with is all.
TEST(TiledConfigs, RegistersMovedNeverExceedThoseAtEntry) {
  for (int consumers = 1; consumers <= 3; ++consumers) {
    for (int bn = 8; bn <= 256; bn += 8) {
      for (const StorePath store : {StorePath::kDirect, StorePath::kTma, StorePath::kOverlapped}) {
        for (const TileScheduler scheduler :
             {TileScheduler::kPersistent, TileScheduler::kStreamK}) {
          for (const int ctas : {1, 2}) {
            for (const GemmKind& kind : kKinds) {
              const TiledKernel k{{.bm = 192 * 2,
                                   .bn = bn,
                                   .stages = 3,
                                   .consumers = consumers,
                                   .store = store,
                                   .scheduler = scheduler,
                                   .ctas_per_sm = ctas},
                                  kind};
              if (!moves_registers(k) || ctas * consumers > 4) continue;
              EXPECT_LE(producer_registers(k) + consumers * consumer_registers(k),
                        entry_registers(k) * (consumers + 1));
            }
          }
        }
      }
    }
  }
}

TEST(TiledConfigs, SharedMemoryPartsDoNotOverlapAndAreAligned) {
  for (const GemmKind& kind : kKinds) {
    for (const int bk : {32, 64, 128}) {
      for (int bn = 8; bn <= 256; bn += 8) {
        const TiledKernel k{{.bm = 128, .bn = bn, .bk = bk, .stages = 3}, kind};
        const TiledSmem layout = smem_layout(k);
        EXPECT_EQ(layout.b, 3 * 128 * bk * 2);
        EXPECT_GE(layout.staging, layout.b + 3 * bn * bk * 2);
        EXPECT_EQ(layout.staging % 1024, 0);
        // Consumers, warps, and buffers.
        EXPECT_EQ(layout.full - layout.staging, 2 * 4 * store_buffers(k) * 2048);
        EXPECT_EQ(layout.full % 8, 0);
        EXPECT_EQ(layout.total_bytes, layout.full + 3 * 3 * 8);
      }
    }
  }
}

TEST(TiledConfigs, PromotedOutputHasABufferForEachBoxWhereThereIsRoom) {
  const auto tile = [](int bm, int bn, int stages, int consumers) {
    TiledKernel k{{.bm = bm, .bn = bn, .bk = 128, .stages = stages, .consumers = consumers}, {}};
    k.mma_depth = 0;
    k.promote = 128;
    k.gemm.input = DataType::kE4m3;
    return k;
  };
  EXPECT_EQ(store_buffers(tile(128, 256, 4, 2)), 2) << "the ring has taken the room";
  EXPECT_EQ(store_buffers(tile(128, 256, 3, 2)), 4) << "all boxes: 256 columns of 16 bits";
  TiledKernel plain = tile(128, 256, 3, 2);
  plain.promote = 0;
  EXPECT_EQ(store_buffers(plain), 2);
  const auto ctas = [](int bytes) { return kSmemBytesPerSm / (bytes + kReservedSmemBytes); };
  using enum TileScheduler;
  for (const TileScheduler scheduler : {kPersistent, kSingle, kClusterSplitK}) {
    int most = 0;
    for (int bn = 8; bn <= 256; bn += 8) {
      for (int stages = 2; stages <= 12; ++stages) {
        TiledKernel k = tile(64, bn, stages, 1);
        k.scheduler = scheduler;
        k.splits = scheduler == kClusterSplitK ? 2 : 1;
        const int least = smem_layout_with(k, kFewestStoreBuffers).total_bytes;
        if (least > DeviceLimits{}.smem_bytes_per_cta) continue;
        const TiledSmem layout = smem_layout(k);
        EXPECT_LE(layout.total_bytes, DeviceLimits{}.smem_bytes_per_cta) << bn;
        EXPECT_EQ(ctas(layout.total_bytes), ctas(least)) << bn << ", " << stages;
        EXPECT_LE(layout.staging + store_buffers(k) * 4 * 2048, layout.full) << bn;
        most = std::max(most, store_buffers(k));
      }
    }
    EXPECT_EQ(most, 4) << "boxes of 256 columns, with scheduler " << static_cast<int>(scheduler);
  }
}

TEST(TiledConfigs, ACtaWithOneTileStagesItInTheRingButNotOverReceivedSums) {
  const auto with = [](TileScheduler scheduler, int splits, Schedule schedule) {
    return TiledKernel{{.bm = 128,
                        .bn = 128,
                        .stages = 4,
                        .schedule = schedule,
                        .scheduler = scheduler,
                        .splits = splits},
                       {}};
  };
  constexpr int kRing = 4 * (128 + 128) * 64 * 2;
  const TiledKernel single = with(TileScheduler::kSingle, 1, Schedule::kRows);
  EXPECT_EQ(smem_layout(single).staging, 0);
  EXPECT_EQ(smem_layout(single).full, kRing);
  EXPECT_EQ(smem_layout(with(TileScheduler::kPersistent, 1, Schedule::kRows)).staging, kRing);
  // The other consumer's tile is still in the ring.
  EXPECT_EQ(smem_layout(with(TileScheduler::kSingle, 1, Schedule::kPingPong)).staging, kRing);
  for (int splits = 2; splits <= 8; ++splits) {
    const TiledKernel cut = with(TileScheduler::kClusterSplitK, splits, Schedule::kRows);
    EXPECT_GE(smem_layout(cut).staging, received_bytes(cut));
    EXPECT_GE(smem_layout(cut).full,
              smem_layout(cut).staging + store_buffers(cut) * store_buffers_bytes(cut));
    EXPECT_GE(smem_layout(cut).full, kRing);
  }
  // What a small ring cannot hold extends it.
  TiledKernel small = single;
  small.bm = small.bn = 64;
  small.stages = 2;
  small.bk = 32;
  EXPECT_EQ(smem_layout(small).full, store_buffers(small) * store_buffers_bytes(small));
}

TEST(TiledConfigs, OnlyClustersTellOneAnotherOfTheQueue) {
  const TiledKernel alone{{.scheduler = TileScheduler::kDynamic}, {}};
  TiledKernel pair = alone;
  pair.cluster_m = 2;
  EXPECT_EQ(smem_layout(alone).total_bytes, smem_layout(TiledKernel{}).total_bytes);
  EXPECT_EQ(smem_layout(pair).next % 8, 0);
  EXPECT_EQ(smem_layout(pair).total_bytes, smem_layout(pair).next + 24);
}

}  // namespace
}  // namespace hgemm
