// A peer: CUTLASS's own Hopper GEMM, a few tiles and schedules of the collective builder. The file
// instantiates templates of a checkout of CUTLASS 3.8 or later, which the user has:
//
//     nvcc -std=c++17 -O3 -DNDEBUG -shared -Xcompiler -fPIC --expt-relaxed-constexpr -arch=sm_90a \
//         -I$CUTLASS_DIR/include -I$CUTLASS_DIR/tools/util/include -Iinclude \
//         examples/peers/cutlass.cu -o cutlass.so
//
// Without NDEBUG, an assertion in the main loop makes ptxas serialise wgmma (its warning C7510).
//
// A variant is a row of kKernels with an order of tiles. All accumulate in fp32 and store bf16 or
// fp16.
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/dispatch_policy.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/kernel_hardware_info.hpp"
#include "cutlass/version.h"
#include "hgemm_peer.h"

namespace {

using cute::_1;
using cute::_128;
using cute::_192;
using cute::_2;
using cute::_256;
using cute::_64;
using cute::Shape;

using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using PingPong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using Persistent = cutlass::gemm::PersistentScheduler;
using StreamK = cutlass::gemm::StreamKScheduler;

template <class Schedule>
using EpilogueOf =
    std::conditional_t<std::is_same_v<Schedule, PingPong>, cutlass::epilogue::TmaWarpSpecialized,
                       cutlass::epilogue::TmaWarpSpecializedCooperative>;

/// D (row-major) = A (row-major) x B^T, where B is N x K row-major: column-major K x N to CUTLASS.
template <class Element, class Tile, class Cluster, class Schedule, class Scheduler>
struct Kernel {
  static constexpr int kAlignment = 16 / sizeof(Element);
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void,
      cutlass::layout::RowMajor, kAlignment, Element, cutlass::layout::RowMajor, kAlignment,
      EpilogueOf<Schedule>>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, cutlass::layout::RowMajor,
      kAlignment, Element, cutlass::layout::ColumnMajor, kAlignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<cutlass::gemm::kernel::GemmUniversal<
      Shape<int, int, int, int>, Mainloop, Epilogue, Scheduler>>;
};

const char* failed = "";

/// The order in which tiles are computed; both are arguments of CUTLASS's schedulers.
struct Order {
  int swizzle;   ///< columns (or rows) of tiles that are computed together
  bool along_n;  ///< next is the tile to the right, otherwise the one below
};
constexpr std::array kOrders = {Order{1, false}, Order{1, true}, Order{8, false}, Order{8, true}};

template <class Gemm>
typename Gemm::Arguments arguments_of(const hgemm_peer_problem& p, const hgemm_peer_operands& o,
                                      Order order) {
  static const int sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  using Element = typename Gemm::ElementA;
  using RasterOrder = cutlass::gemm::kernel::detail::RasterOrderOptions;
  const auto stride = [](std::int64_t leading) {
    return cute::make_stride(leading, cute::Int<1>{}, std::int64_t{0});
  };
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1},
      {static_cast<const Element*>(o.a), stride(p.lda), static_cast<const Element*>(o.b),
       stride(p.ldb)},
      {{1.0f, 0.0f}, nullptr, stride(p.ldd), static_cast<Element*>(o.d), stride(p.ldd)}};
  arguments.hw_info.sm_count = sm_count;
  arguments.scheduler.max_swizzle_size = order.swizzle;
  arguments.scheduler.raster_order = order.along_n ? RasterOrder::AlongN : RasterOrder::AlongM;
  return arguments;
}

template <class Gemm>
bool can(const hgemm_peer_problem& p) {
  return Gemm::can_implement(arguments_of<Gemm>(p, {}, kOrders[0])) == cutlass::Status::kSuccess;
}
template <class Gemm>
std::int64_t workspace(const hgemm_peer_problem& p, Order order) {
  return static_cast<std::int64_t>(Gemm::get_workspace_size(arguments_of<Gemm>(p, {}, order)));
}
template <class Gemm>
int run(const hgemm_peer_problem& p, const hgemm_peer_operands& o, Order order,
        cudaStream_t stream) {
  Gemm gemm;
  const auto status = gemm.run(arguments_of<Gemm>(p, o, order), o.workspace, stream);
  if (status != cutlass::Status::kSuccess) failed = cutlassGetStatusString(status);
  return status != cutlass::Status::kSuccess;
}

struct Entry {
  const char* text;
  bool (*can)(const hgemm_peer_problem&);
  std::int64_t (*workspace)(const hgemm_peer_problem&, Order);
  int (*run)(const hgemm_peer_problem&, const hgemm_peer_operands&, Order, cudaStream_t);
};
template <class Element, class Tile, class Cluster, class Schedule, class Scheduler>
constexpr Entry entry(const char* text) {
  using Gemm = typename Kernel<Element, Tile, Cluster, Schedule, Scheduler>::Gemm;
  return {text, can<Gemm>, workspace<Gemm>, run<Gemm>};
}

template <class E>
constexpr std::array kKernels = {
    entry<E, Shape<_128, _256, _64>, Shape<_2, _1, _1>, Cooperative, Persistent>(
        "128x256x64, cluster 2x1, cooperative"),
    entry<E, Shape<_128, _256, _64>, Shape<_1, _2, _1>, Cooperative, Persistent>(
        "128x256x64, cluster 1x2, cooperative"),
    entry<E, Shape<_256, _128, _64>, Shape<_2, _1, _1>, Cooperative, Persistent>(
        "256x128x64, cluster 2x1, cooperative"),
    entry<E, Shape<_256, _128, _64>, Shape<_1, _2, _1>, Cooperative, Persistent>(
        "256x128x64, cluster 1x2, cooperative"),
    entry<E, Shape<_128, _192, _64>, Shape<_2, _1, _1>, Cooperative, Persistent>(
        "128x192x64, cluster 2x1, cooperative"),
    entry<E, Shape<_128, _128, _64>, Shape<_2, _1, _1>, Cooperative, Persistent>(
        "128x128x64, cluster 2x1, cooperative"),
    entry<E, Shape<_64, _256, _64>, Shape<_2, _1, _1>, PingPong, Persistent>(
        "64x256x64, cluster 2x1, ping-pong"),
    entry<E, Shape<_64, _128, _64>, Shape<_2, _1, _1>, PingPong, Persistent>(
        "64x128x64, cluster 2x1, ping-pong"),
    entry<E, Shape<_64, _64, _64>, Shape<_1, _1, _1>, PingPong, Persistent>(
        "64x64x64, cluster 1x1, ping-pong"),
    entry<E, Shape<_128, _256, _64>, Shape<_2, _1, _1>, Cooperative, StreamK>(
        "128x256x64, cluster 2x1, cooperative, stream-K"),
    entry<E, Shape<_128, _128, _64>, Shape<_1, _1, _1>, Cooperative, StreamK>(
        "128x128x64, cluster 1x1, cooperative, stream-K"),
};

struct Variant {
  Entry kernel;
  Order order;
};

/// The variants for the problem's types that can compute it: the interface counts them from 0.
std::vector<Variant> able(const hgemm_peer_problem& p) {
  std::vector<Variant> variants;
  if (p.a_type != p.b_type || p.a_type != p.d_type) return variants;
  const auto add = [&](const auto& kernels) {
    for (const Entry& kernel : kernels) {
      if (!kernel.can(p)) continue;
      for (const Order order : kOrders) variants.push_back({kernel, order});
    }
  };
  if (p.a_type == HGEMM_PEER_BF16) add(kKernels<cutlass::bfloat16_t>);
  if (p.a_type == HGEMM_PEER_FP16) add(kKernels<cutlass::half_t>);
  return variants;
}
Variant at(const hgemm_peer_problem& p, int variant) {
  return able(p).at(static_cast<std::size_t>(variant));
}

const char* describe(const hgemm_peer_problem& p, int variant) {
  static std::string text;
  const Variant chosen = at(p, variant);
  text = std::string(chosen.kernel.text) + ", swizzle " + std::to_string(chosen.order.swizzle) +
         (chosen.order.along_n ? " along N" : " along M");
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
      "cutlass",
      kVersion.c_str(),
      0,  // knows nothing of 8-bit operands and scales
      0,
      [](const char*, void**) { return 0; },
      [](void*) {},
      [](void*) { return failed; },
      [](void*, const hgemm_peer_problem* p) { return static_cast<int>(able(*p).size()); },
      [](void*, const hgemm_peer_problem* p, int variant) { return describe(*p, variant); },
      [](void*, const hgemm_peer_problem* p, int variant) {
        const Variant chosen = at(*p, variant);
        return chosen.kernel.workspace(*p, chosen.order);
      },
      [](void*, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
         hgemm_peer_stream stream) {
        const Variant chosen = at(*p, variant);
        return chosen.kernel.run(*p, *o, chosen.order, stream);
      }};
  return &kTable;
}
