// State that the tiled kernel's roles share in addition to the ring of stages: for each stage the
// origin of its output tile, which the producer writes, so that consumers learn it together with
// the data; output staging; and the turns of ping-pong consumers.
#pragma once

#include "common/pipeline.cuh"
#include "tiled/config.h"

namespace hgemm {

/// How a CTA knows the D of a product: there is only one, by the product's number, or by its
/// address.
struct OnlyProduct {};
template <bool kBatched, bool kByPointers>
struct ProductType {
  using Type = OnlyProduct;
};
template <>
struct ProductType<true, false> {
  using Type = int;
};
template <>
struct ProductType<true, true> {
  using Type = u64;
};
template <TiledKernel kKernel>
using Product = typename ProductType<kKernel.gemm.batched, kKernel.gemm.by_pointers>::Type;

/// An element of D, by its row and column, and of many products its product.
template <class Product>
struct alignas(16) Position {
  int m, n;
  Product product;

  /// One of the same product.
  __device__ __forceinline__ Position at(int row, int column) const {
    return {row, column, product};
  }
};
template <>
struct Position<OnlyProduct> {
  int m, n;

  __device__ __forceinline__ Position at(int row, int column) const { return {row, column}; }
};
template <class Product>
__device__ __forceinline__ Position<Product> position_of(int row, int column, Product product) {
  return {row, column, product};
}
__device__ __forceinline__ Position<OnlyProduct> position_of(int row, int column, OnlyProduct) {
  return {row, column};
}

/// A tile's first row and column of D. Columns are multiples of 8, so the lowest bit of n is free.
/// (TileScheduler::kDynamic: in the tile's last stage it tells whether this is the CTA's last
/// tile.)
template <TiledKernel kKernel>
using TileOrigin = Position<Product<kKernel>>;

template <TiledKernel kKernel>
struct TiledPipeline : Pipeline<kKernel> {
  using Base = Pipeline<kKernel>;
  using Base::kLayout, Base::kSenders, Base::smem, Base::smem_base, Base::empty;
  using typename Base::State;

  __device__ __forceinline__ explicit TiledPipeline(unsigned char* shared) : Base(shared) {}

  /// Address of a consumer warp's output staging.
  __device__ __forceinline__ u32 staging(int consumer_warp) const {
    constexpr int kWarpBytes = store_buffers(kKernel) * kStoreBufferBytes;
    return smem_base + static_cast<u32>(kLayout.staging + consumer_warp * kWarpBytes);
  }
  __device__ __forceinline__ TileOrigin<kKernel>& origin(int stage) const {
    static_assert(sizeof(TileOrigin<kKernel>) == origin_bytes(kKernel));
    return reinterpret_cast<TileOrigin<kKernel>*>(smem + kLayout.origin)[stage];
  }

  /// Address of the scales of a consumer's part of a tile.
  __device__ __forceinline__ u32 scales(int consumer) const {
    return smem_base +
           static_cast<u32>(kLayout.scales + consumer * scale_bytes(kKernel.gemm.scaling,
                                                                    consumer_rows(kKernel),
                                                                    consumer_cols(kKernel)));
  }

  /// Address at which the cluster's first CTA writes this CTA's next tile, followed by its
  /// barriers.
  __device__ __forceinline__ u32 next() const { return smem_base + static_cast<u32>(kLayout.next); }
  __device__ __forceinline__ u32 next_full() const { return next() + 8; }
  __device__ __forceinline__ u32 next_empty() const { return next() + 16; }

  /// For a consumer warp. `reader`: the lane that later releases the stage to this CTA's producer
  /// reads it, so that its own arrival orders the read before the next write (and racecheck sees
  /// that).
  __device__ __forceinline__ TileOrigin<kKernel> read_origin(int stage, int reader,
                                                             int lane) const {
    TileOrigin<kKernel> at{};
    if (lane == reader) at = origin(stage);
    Product<kKernel> product{};
    if constexpr (kKernel.gemm.batched) product = __shfl_sync(~0u, at.product, reader);
    return position_of(__shfl_sync(~0u, at.m, reader), __shfl_sync(~0u, at.n, reader), product);
  }

  /// One thread calls it once, before any other use; a CTA or cluster barrier must follow.
  __device__ __forceinline__ void init() const {
    Base::init_stages();
    if constexpr (is_dynamic(kKernel) && kSenders > 1) {
      ptx::mbarrier_init(next_full(), 1);
      ptx::mbarrier_init(next_empty(), 1);
    }
    ptx::fence_mbarrier_init();
  }

  /// For the producer's copying lane, after its last copy: waits until every stage that it filled
  /// was released.
  __device__ __forceinline__ void await_readers(State state) const {
#pragma unroll 1
    for (int i = 0; i < kKernel.stages; ++i) {
      if (state.round > 0) ptx::mbarrier_wait(empty(state.stage), state.parity() ^ 1);
      state.advance();
    }
  }
};

/// Turns of ping-pong consumers. A consumer passes its turn on when it has issued all wgmmas of its
/// tile (with a C or a bias: when the last of their stages is full, addends.cuh), so that those of
/// the other follow without a gap while its own tile is stored.
///
/// Without turns both would multiply at once, each at half the speed, and both would store at once
/// while the tensor cores idle.
template <bool kTakesTurns>
struct Turn {
  int consumer;

  __device__ __forceinline__ explicit Turn(int this_consumer) : consumer(this_consumer) {
    if (kTakesTurns && consumer == 1) pass();  // the first turn is consumer 0's
  }
  __device__ __forceinline__ void await() const {
    if constexpr (kTakesTurns) {
      __syncwarp();  // one thread may still be storing the previous tile
      ptx::named_barrier_sync<2 * kWarpgroupThreads>(1 + consumer);
    }
  }
  __device__ __forceinline__ void pass() const {
    if constexpr (kTakesTurns) ptx::named_barrier_arrive<2 * kWarpgroupThreads>(2 - consumer);
  }
};

}  // namespace hgemm
