// A peer: CUTLASS's own Hopper GEMM for e4m3, a few tiles and schedules of the collective builder,
// with every kind of scales. D is bf16; with scales of 1x128 blocks of both operands also fp32. The
// file instantiates templates of a checkout of CUTLASS 4.7, which the user has:
//
//     nvcc -std=c++17 -O3 -DNDEBUG -shared -Xcompiler -fPIC --expt-relaxed-constexpr -arch=sm_90a \
//         -I$CUTLASS_DIR/include -Iinclude examples/peers/cutlass_fp8.cu -o cutlass_fp8.so
//
// Scales of tensors and rows are applied by a visitor tree of the epilogue, those of blocks by the
// blockwise main loop. Sums that must not be fast are promoted every 128 products (CUTLASS's
// default) or every 512. A variant is a row of a table of kernels with an order of tiles.
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/detail/blockwise_scale_layout.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/dispatch_policy.hpp"
#include "cutlass/epilogue/fusion/operations.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_compute_tma_warpspecialized.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_load_tma_warpspecialized.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_tma_warpspecialized.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/kernel_hardware_info.hpp"
#include "cutlass/version.h"
#include "hgemm_peer.h"

namespace {

using cute::_0;
using cute::_1;
using cute::_128;
using cute::Int;
using cute::Shape;
using cute::Stride;

using Fp8 = cutlass::float_e4m3_t;
using Bf16 = cutlass::bfloat16_t;

using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using PingPong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using FastCooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum;
using FastPingPong = cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum;
using BlockCooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise;
using BlockPingPong = cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8Blockwise;
using Persistent = cutlass::gemm::PersistentScheduler;
using StreamK = cutlass::gemm::StreamKScheduler;

template <class Schedule>
using EpilogueOf =
    std::conditional_t<std::is_base_of_v<PingPong, Schedule>, cutlass::epilogue::TmaWarpSpecialized,
                       cutlass::epilogue::TmaWarpSpecializedCooperative>;

const char* failed = "";

/// How a launch differs for the same kernel.
struct Order {
  int swizzle;   ///< columns (or rows) of tiles that are computed together
  bool along_n;  ///< next is the tile to the right, otherwise the one below
};
constexpr std::array kOrders = {Order{1, false}, Order{1, true}, Order{8, false}, Order{8, true}};
/// Wgmmas, of 32 products each, from one promotion to the next.
constexpr std::array kPromotions = {4, 16};
struct Choice {
  Order order;
  int promotion;  ///< one of kPromotions; without a meaning where sums are fast or blocks scaled
};

constexpr int ceil_div(std::int64_t a, int b) { return static_cast<int>((a + b - 1) / b); }
constexpr int up4(std::int64_t value) { return ceil_div(value, 4) * 4; }
constexpr int kBlock = 128;

// ---- What is done to the sums: how a kernel is built for it, and its arguments ----

template <class Out>
using Product = cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, Out, float,
                                                       cutlass::FloatRoundStyle::round_to_nearest>;
using Sums = cutlass::epilogue::fusion::Sm90AccFetch;

/// One scale of A and one of B; or none, which are 1.
struct ByTensor {
  template <class Tile>
  using Fusion = cutlass::epilogue::fusion::Sm90EVT<
      Product<Bf16>, cutlass::epilogue::fusion::Sm90ScalarBroadcast<float, Stride<_0, _0, _0>, 2>,
      Sums>;
  template <class Tile>
  static typename Fusion<Tile>::Arguments arguments(const hgemm_peer_operands& o) {
    return {{{1.0f, 1.0f}, {o.scale_a, o.scale_b}, {}}, {}, {}};
  }
};
/// One for each row of A and of B.
struct ByRows {
  template <class Tile>
  using Fusion = cutlass::epilogue::fusion::Sm90EVT<
      Product<Bf16>, cutlass::epilogue::fusion::Sm90ColBroadcast<0, Tile, float>,
      cutlass::epilogue::fusion::Sm90EVT<
          Product<float>, cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float>, Sums>>;
  template <class Tile>
  static typename Fusion<Tile>::Arguments arguments(const hgemm_peer_operands& o) {
    return {{o.scale_a, 0.0f, {}}, {{o.scale_b, 0.0f, {}}, {}, {}}, {}};
  }
};

using cute::GMMA::Major;
/// For 1x128 blocks of A, and for blocks of kRows x 128 of B.
template <int kRows>
struct ByBlocks {
  /// B's scales lie one block of K after the other, if they are for more rows than one.
  using Config = cutlass::detail::Sm90BlockwiseScaleConfig<1, kRows, kBlock, Major::MN,
                                                           kRows == 1 ? Major::MN : Major::K>;
  using OfA = decltype(Config::deduce_layoutSFA());
  using OfB = decltype(Config::deduce_layoutSFB());

  static OfA of_a(const hgemm_peer_problem& p) {
    const int m = static_cast<int>(p.m);
    return cute::make_layout(
        cute::make_shape(cute::make_shape(_1{}, m), cute::make_shape(_128{}, ceil_div(p.k, kBlock)),
                         1),
        cute::make_stride(cute::make_stride(_0{}, _1{}), cute::make_stride(_0{}, up4(m)), 0));
  }
  static OfB of_b(const hgemm_peer_problem& p) {
    const int along_k = ceil_div(p.k, kBlock);
    const auto shape = cute::make_shape(cute::make_shape(Int<kRows>{}, ceil_div(p.n, kRows)),
                                        cute::make_shape(_128{}, along_k), 1);
    if constexpr (kRows == 1) {
      return cute::make_layout(shape, cute::make_stride(cute::make_stride(_0{}, _1{}),
                                                        cute::make_stride(_0{}, up4(p.n)), 0));
    } else {
      const bool is_packed = p.scaling == HGEMM_PEER_SCALING_PACKED_BLOCKS;
      return cute::make_layout(
          shape, cute::make_stride(cute::make_stride(_0{}, is_packed ? along_k : up4(along_k)),
                                   cute::make_stride(_0{}, _1{}), 0));
    }
  }
};

constexpr int kInputAlignment = 16;
template <class Out, class Tile, class Cluster, class Schedule, class... Fusion>
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, cutlass::layout::RowMajor,
    16 / sizeof(Out), Out, cutlass::layout::RowMajor, 16 / sizeof(Out), EpilogueOf<Schedule>,
    Fusion...>::CollectiveOp;
/// D (row-major) = A (row-major) x B^T, where B is N x K row-major: column-major K x N to CUTLASS.
template <class LayoutA, class LayoutB, class Tile, class Cluster, class Schedule, class Epilogue>
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Fp8, LayoutA, kInputAlignment, Fp8,
    LayoutB, kInputAlignment, float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
        sizeof(typename Epilogue::SharedStorage))>,
    Schedule>::CollectiveOp;
template <class Mainloop, class Epilogue, class Scheduler>
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<
    cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, Scheduler>>;

auto stride(std::int64_t leading) {
  return cute::make_stride(leading, cute::Int<1>{}, std::int64_t{0});
}

/// The arguments without those of the main loop and the fusion.
template <class Gemm>
typename Gemm::Arguments common_arguments(const hgemm_peer_problem& p, const hgemm_peer_operands& o,
                                          Order order) {
  static const int sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  using RasterOrder = cutlass::gemm::kernel::detail::RasterOrderOptions;
  typename Gemm::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k),
                             1};
  arguments.mainloop.ptr_A = static_cast<const Fp8*>(o.a);
  arguments.mainloop.dA = stride(p.lda);
  arguments.mainloop.ptr_B = static_cast<const Fp8*>(o.b);
  arguments.mainloop.dB = stride(p.ldb);
  arguments.epilogue.dC = stride(p.ldd);
  arguments.epilogue.ptr_D = static_cast<typename Gemm::ElementD*>(o.d);
  arguments.epilogue.dD = stride(p.ldd);
  arguments.hw_info.sm_count = sm_count;
  arguments.scheduler.max_swizzle_size = order.swizzle;
  arguments.scheduler.raster_order = order.along_n ? RasterOrder::AlongN : RasterOrder::AlongM;
  return arguments;
}

/// Scales in the epilogue.
template <class Scales, class Tile, class Cluster, class Schedule, class Scheduler>
struct Fused {
  using Ending = Epilogue<Bf16, Tile, Cluster, Schedule, typename Scales::template Fusion<Tile>>;
  using Loop = Mainloop<cutlass::layout::RowMajor, cutlass::layout::ColumnMajor, Tile, Cluster,
                        Schedule, Ending>;
  using Kernel = Gemm<Loop, Ending, Scheduler>;
  static auto arguments(const hgemm_peer_problem& p, const hgemm_peer_operands& o, Choice choice) {
    auto arguments = common_arguments<Kernel>(p, o, choice.order);
    arguments.epilogue.thread = Scales::template arguments<Tile>(o);
    if constexpr (std::is_same_v<Schedule, Cooperative> || std::is_same_v<Schedule, PingPong>) {
      arguments.mainloop.mma_promotion_interval = static_cast<std::uint32_t>(choice.promotion);
    }
    return arguments;
  }
};

/// Scales in the main loop.
template <class Scales, class Out, class Tile, class Cluster, class Schedule, class Scheduler>
struct Blockwise {
  using Ending = Epilogue<Out, Tile, Cluster, Schedule>;
  using Loop = Mainloop<cute::tuple<cutlass::layout::RowMajor, typename Scales::OfA>,
                        cute::tuple<cutlass::layout::ColumnMajor, typename Scales::OfB>, Tile,
                        Cluster, Schedule, Ending>;
  using Kernel = Gemm<Loop, Ending, Scheduler>;
  static auto arguments(const hgemm_peer_problem& p, const hgemm_peer_operands& o, Choice choice) {
    auto arguments = common_arguments<Kernel>(p, o, choice.order);
    arguments.mainloop.ptr_SFA = o.scale_a;
    arguments.mainloop.layout_SFA = Scales::of_a(p);
    arguments.mainloop.ptr_SFB = o.scale_b;
    arguments.mainloop.layout_SFB = Scales::of_b(p);
    arguments.epilogue.thread.alpha = 1.0f;
    arguments.epilogue.thread.beta = 0.0f;
    return arguments;
  }
};

template <class Form>
bool can(const hgemm_peer_problem& p) {
  const Choice any = {kOrders[0], kPromotions[0]};
  return Form::Kernel::can_implement(Form::arguments(p, {}, any)) == cutlass::Status::kSuccess;
}
template <class Form>
std::int64_t workspace(const hgemm_peer_problem& p, Choice choice) {
  return static_cast<std::int64_t>(
      Form::Kernel::get_workspace_size(Form::arguments(p, {}, choice)));
}
template <class Form>
int run(const hgemm_peer_problem& p, const hgemm_peer_operands& o, Choice choice,
        cudaStream_t stream) {
  typename Form::Kernel gemm;
  const auto status = gemm.run(Form::arguments(p, o, choice), o.workspace, stream);
  if (status != cutlass::Status::kSuccess) failed = cutlassGetStatusString(status);
  return status != cutlass::Status::kSuccess;
}

// ---- The kernels ----

struct Entry {
  const char* text;
  bool (*can)(const hgemm_peer_problem&);
  std::int64_t (*workspace)(const hgemm_peer_problem&, Choice);
  int (*run)(const hgemm_peer_problem&, const hgemm_peer_operands&, Choice, cudaStream_t);
};
template <class Form>
constexpr Entry entry(const char* text) {
  return {text, can<Form>, workspace<Form>, run<Form>};
}

template <int kM, int kN>
using Tile = Shape<Int<kM>, Int<kN>, _128>;
template <int kM, int kN>
using Cluster = Shape<Int<kM>, Int<kN>, _1>;

/// Promoted sums have two sets of registers, which tiles of 256 have no room for.
template <class S>
constexpr std::array kPromoted = {
    entry<Fused<S, Tile<128, 128>, Cluster<2, 1>, Cooperative, Persistent>>(
        "128x128x128, cluster 2x1, cooperative"),
    entry<Fused<S, Tile<128, 128>, Cluster<1, 2>, Cooperative, Persistent>>(
        "128x128x128, cluster 1x2, cooperative"),
    entry<Fused<S, Tile<64, 128>, Cluster<2, 1>, PingPong, Persistent>>(
        "64x128x128, cluster 2x1, ping-pong"),
    entry<Fused<S, Tile<64, 128>, Cluster<1, 1>, PingPong, Persistent>>(
        "64x128x128, cluster 1x1, ping-pong"),
    entry<Fused<S, Tile<64, 64>, Cluster<1, 1>, PingPong, Persistent>>(
        "64x64x128, cluster 1x1, ping-pong"),
    entry<Fused<S, Tile<128, 128>, Cluster<1, 1>, Cooperative, StreamK>>(
        "128x128x128, cluster 1x1, cooperative, stream-K"),
};
template <class S>
constexpr std::array kFast = {
    entry<Fused<S, Tile<128, 256>, Cluster<2, 1>, FastCooperative, Persistent>>(
        "128x256x128, cluster 2x1, cooperative"),
    entry<Fused<S, Tile<256, 128>, Cluster<2, 1>, FastCooperative, Persistent>>(
        "256x128x128, cluster 2x1, cooperative"),
    entry<Fused<S, Tile<256, 128>, Cluster<1, 2>, FastCooperative, Persistent>>(
        "256x128x128, cluster 1x2, cooperative"),
    entry<Fused<S, Tile<128, 128>, Cluster<2, 1>, FastCooperative, Persistent>>(
        "128x128x128, cluster 2x1, cooperative"),
    entry<Fused<S, Tile<128, 128>, Cluster<2, 1>, FastPingPong, Persistent>>(
        "128x128x128, cluster 2x1, ping-pong"),
    entry<Fused<S, Tile<64, 128>, Cluster<2, 1>, FastPingPong, Persistent>>(
        "64x128x128, cluster 2x1, ping-pong"),
    entry<Fused<S, Tile<64, 128>, Cluster<1, 1>, FastPingPong, Persistent>>(
        "64x128x128, cluster 1x1, ping-pong"),
    entry<Fused<S, Tile<64, 64>, Cluster<1, 1>, FastPingPong, Persistent>>(
        "64x64x128, cluster 1x1, ping-pong"),
    entry<Fused<S, Tile<128, 128>, Cluster<1, 1>, FastCooperative, StreamK>>(
        "128x128x128, cluster 1x1, cooperative, stream-K"),
};
/// The blockwise main loop has tiles of 128 or 256 rows, in multiples of B's block of columns.
constexpr std::array kBlocks = {
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<128, 128>, Cluster<1, 1>, BlockCooperative,
                    Persistent>>("128x128x128, cluster 1x1, cooperative, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<128, 128>, Cluster<2, 1>, BlockCooperative,
                    Persistent>>("128x128x128, cluster 2x1, cooperative, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<128, 128>, Cluster<1, 2>, BlockCooperative,
                    Persistent>>("128x128x128, cluster 1x2, cooperative, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<256, 128>, Cluster<2, 1>, BlockCooperative,
                    Persistent>>("256x128x128, cluster 2x1, cooperative, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<256, 128>, Cluster<1, 2>, BlockCooperative,
                    Persistent>>("256x128x128, cluster 1x2, cooperative, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<128, 128>, Cluster<1, 1>, BlockPingPong, Persistent>>(
        "128x128x128, cluster 1x1, ping-pong, blockwise"),
    entry<Blockwise<ByBlocks<128>, Bf16, Tile<128, 128>, Cluster<1, 1>, BlockCooperative, StreamK>>(
        "128x128x128, cluster 1x1, cooperative, blockwise, stream-K"),
};
template <class Out>
constexpr std::array kRowBlocks = {
    entry<Blockwise<ByBlocks<1>, Out, Tile<128, 128>, Cluster<1, 1>, BlockCooperative, Persistent>>(
        "128x128x128, cluster 1x1, cooperative, groupwise"),
    entry<Blockwise<ByBlocks<1>, Out, Tile<128, 128>, Cluster<1, 2>, BlockCooperative, Persistent>>(
        "128x128x128, cluster 1x2, cooperative, groupwise"),
};

struct Variant {
  Entry kernel;
  Choice choice;
  bool is_promoted;
};

/// The variants that can compute the problem: the interface counts them from 0.
std::vector<Variant> able(const hgemm_peer_problem& p) {
  std::vector<Variant> variants;
  const auto add = [&](const auto& kernels, bool is_promoted) {
    for (const Entry& kernel : kernels) {
      if (!kernel.can(p)) continue;
      for (const int promotion : kPromotions) {
        if (!is_promoted && promotion != kPromotions[0]) continue;
        for (const Order order : kOrders) {
          variants.push_back({kernel, {order, promotion}, is_promoted});
        }
      }
    }
  };
  // can_implement() looks at M, N and K, and not at the leading dimensions.
  const bool is_aligned = p.lda % 16 == 0 && p.ldb % 16 == 0 && p.ldd % 8 == 0;
  if (p.a_type != HGEMM_PEER_E4M3 || p.b_type != HGEMM_PEER_E4M3 || !is_aligned) return variants;
  const bool is_bf16 = p.d_type == HGEMM_PEER_BF16;
  const bool is_fast = p.accumulator == HGEMM_PEER_SUMS_FAST;
  switch (p.scaling) {
    case HGEMM_PEER_SCALING_NONE:
    case HGEMM_PEER_SCALING_TENSOR:
      if (is_bf16 && is_fast) add(kFast<ByTensor>, false);
      if (is_bf16 && !is_fast) add(kPromoted<ByTensor>, true);
      break;
    case HGEMM_PEER_SCALING_ROWS:
      if (is_bf16 && is_fast) add(kFast<ByRows>, false);
      if (is_bf16 && !is_fast) add(kPromoted<ByRows>, true);
      break;
    case HGEMM_PEER_SCALING_BLOCKS:
    case HGEMM_PEER_SCALING_PACKED_BLOCKS:
      if (is_bf16) add(kBlocks, false);
      break;
    case HGEMM_PEER_SCALING_ROW_BLOCKS:
      if (is_bf16) add(kRowBlocks<Bf16>, false);
      if (p.d_type == HGEMM_PEER_FP32) add(kRowBlocks<float>, false);
      break;
    default:
      break;
  }
  return variants;
}
Variant at(const hgemm_peer_problem& p, int variant) {
  return able(p).at(static_cast<std::size_t>(variant));
}

const char* describe(const hgemm_peer_problem& p, int variant) {
  static std::string text;
  const Variant chosen = at(p, variant);
  text = chosen.kernel.text;
  if (chosen.is_promoted) {
    text += ", promoted every " + std::to_string(chosen.choice.promotion * 32);
  }
  text += ", swizzle " + std::to_string(chosen.choice.order.swizzle) +
          (chosen.choice.order.along_n ? " along N" : " along M");
  return text.c_str();
}

std::string version() {
  return std::to_string(CUTLASS_MAJOR) + "." + std::to_string(CUTLASS_MINOR) + "." +
         std::to_string(CUTLASS_PATCH);
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const std::string kVersion = version();
  static const hgemm_peer kTable = {
      HGEMM_PEER_ABI,
      sizeof(hgemm_peer),
      "cutlass_fp8",
      kVersion.c_str(),
      HGEMM_PEER_KNOWS_8_BIT | HGEMM_PEER_KNOWS_SCALES,
      0,
      [](const char*, void**) { return 0; },
      [](void*) {},
      [](void*) { return failed; },
      [](void*, const hgemm_peer_problem* p) { return static_cast<int>(able(*p).size()); },
      [](void*, const hgemm_peer_problem* p, int variant) { return describe(*p, variant); },
      [](void*, const hgemm_peer_problem* p, int variant) {
        const Variant chosen = at(*p, variant);
        return chosen.kernel.workspace(*p, chosen.choice);
      },
      [](void*, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
         hgemm_peer_stream stream) {
        const Variant chosen = at(*p, variant);
        return chosen.kernel.run(*p, *o, chosen.choice, stream);
      }};
  return &kTable;
}
