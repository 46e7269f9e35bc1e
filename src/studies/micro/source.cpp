// The source text of the microbenchmarks: an include of the family's header; for tensor-core
// instructions also the one statement that a template cannot make, because its operand list depends
// on N.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

struct TypeNames {
  const char* accumulator;  ///< PTX name
  const char* operand;
  const char* cpp;         ///< C++ type of an accumulator register
  const char* constraint;  ///< its asm constraint
  int accumulators_per_register;
};
TypeNames names_of(MmaTypes types) {
  switch (types) {
    case MmaTypes::kF32Bf16:
      return {"f32", "bf16", "float", "f", 1};
    case MmaTypes::kF32F16:
      return {"f32", "f16", "float", "f", 1};
    case MmaTypes::kF16F16:
      return {"f16", "f16", "hgemm::u32", "r", 2};
    case MmaTypes::kF32E4m3:
      return {"f32", "e4m3", "float", "f", 1};
    case MmaTypes::kF16E4m3:
      return {"f16", "e4m3", "hgemm::u32", "r", 2};
    case MmaTypes::kF32E5m2:
      return {"f32", "e5m2", "float", "f", 1};
  }
  throw Error("an operand type outside its enumeration");
}

/// "%3, %4, %5"
std::string placeholders(int first, int count) {
  std::vector<std::string> texts;
  for (int i = first; i < first + count; ++i) texts.push_back(fmt::format("%{}", i));
  return fmt::format("{}", fmt::join(texts, ", "));
}
/// "+f"(d[0]), "+f"(d[1])
std::string operands(const std::string& constraint, const char* array, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i)
    texts.push_back(fmt::format("\"{}\"({}[{}])", constraint, array, i));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The wrapper of one wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
/// Operation"): A and B K-major, no negation.
std::string wgmma_struct(int n, MmaTypes types, bool a_from_registers, int warpgroups) {
  const TypeNames names = names_of(types);
  const int registers = 64 * n / 128 / names.accumulators_per_register;
  const bool fp8 = mma_k(types) == 32;
  const int a_operands = a_from_registers ? 4 : 1;
  // For 16-bit elements the instruction ends with flags that say which operands in shared memory
  // are transposed.
  const char* transposed = fp8 ? "" : a_from_registers ? ", 0" : ", 0, 0";
  return fmt::format(
      R"(struct Mma {{
  static constexpr int kN = {n}, kWarpgroups = {warpgroups}, kAccumulators = {registers};
  static constexpr bool kFp8 = {fp8}, kAFromRegisters = {rs};
  using Accumulator = {cpp};
  static __device__ __forceinline__ void touch({cpp}& d) {{ asm volatile("" : "+{constraint}"(d)); }}
  static __device__ __forceinline__ void mma({cpp} (&d)[{registers}], {a_type}, hgemm::u64 b,
                                             int accumulate) {{
    asm volatile(
        "{{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %{predicate}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{n}k{k}.{accumulator}.{operand}.{operand} "
        "{{{d}}}, {a}, %{b}, p, 1, 1{transposed};\n"
        "}}"
        : {outputs}
        : {a_inputs}, "l"(b), "r"(accumulate));
  }}
}};
)",
      fmt::arg("n", n), fmt::arg("warpgroups", warpgroups), fmt::arg("registers", registers),
      fmt::arg("fp8", fp8), fmt::arg("rs", a_from_registers), fmt::arg("cpp", names.cpp),
      fmt::arg("constraint", names.constraint),
      fmt::arg("a_type", a_from_registers ? "const hgemm::u32 (&a)[4]" : "hgemm::u64 a"),
      fmt::arg("predicate", registers + a_operands + 1), fmt::arg("k", mma_k(types)),
      fmt::arg("accumulator", names.accumulator), fmt::arg("operand", names.operand),
      fmt::arg("d", placeholders(0, registers)),
      fmt::arg("a", a_from_registers ? fmt::format("{{{}}}", placeholders(registers, 4))
                                     : placeholders(registers, 1)),
      fmt::arg("b", registers + a_operands), fmt::arg("transposed", transposed),
      fmt::arg("outputs", operands(fmt::format("+{}", names.constraint), "d", registers)),
      fmt::arg("a_inputs", a_from_registers ? operands("r", "a", 4) : std::string("\"l\"(a)")));
}

/// The wrapper of one mma.sync (PTX ISA, "Warp Level Matrix Multiply-Accumulate").
std::string mma_struct(MmaTypes types) {
  const TypeNames names = names_of(types);
  const int registers = 4 / names.accumulators_per_register;
  return fmt::format(
      R"(struct Mma {{
  static constexpr int kAccumulators = {registers};
  using Accumulator = {cpp};
  static __device__ __forceinline__ void mma({cpp} (&d)[{registers}], const hgemm::u32 (&a)[4],
                                             const hgemm::u32 (&b)[2]) {{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.{accumulator}.{operand}.{operand}.{accumulator} "
        "{{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};"
        : {outputs}
        : {a_inputs}, {b_inputs});
  }}
}};
)",
      fmt::arg("registers", registers), fmt::arg("cpp", names.cpp),
      fmt::arg("accumulator", names.accumulator), fmt::arg("operand", names.operand),
      fmt::arg("d", placeholders(0, registers)), fmt::arg("a", placeholders(registers, 4)),
      fmt::arg("b", placeholders(registers + 4, 2)),
      fmt::arg("outputs", operands(fmt::format("+{}", names.constraint), "d", registers)),
      fmt::arg("a_inputs", operands("r", "a", 4)), fmt::arg("b_inputs", operands("r", "b", 2)));
}

std::string include(const char* header) {
  return fmt::format("#include \"studies/micro/{}.cuh\"\n\n", header);
}

/// A kernel of at most `threads` threads that executes `call` with its parameters; if it copies, a
/// tensor map comes before them.
std::string kernel(const std::string& name, int threads, const std::string& params,
                   const std::string& call, bool copies = false) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1)\n"
      "    {}({}const __grid_constant__ hgemm::micro::{} params) {{\n"
      "  hgemm::micro::{}({}params);\n"
      "}}\n",
      threads, name, copies ? "const __grid_constant__ hgemm::TensorMap map, " : "", params, call,
      copies ? "map, " : "");
}

const char* pace_name(MicroPace pace) { return pace == MicroPace::kIssue ? "issue" : "latency"; }

std::string source_of(const WgmmaPoint& p) {
  const int warpgroups = max_warpgroups(p);
  return include("wgmma") + wgmma_struct(p.n, p.types, p.a_from_registers, warpgroups) +
         kernel("wgmma_issue", warpgroups * 128, "ComputeParams", "time_wgmma<Mma, false>") +
         kernel("wgmma_latency", warpgroups * 128, "ComputeParams", "time_wgmma<Mma, true>");
}
std::string name_of(const WgmmaPoint& p) { return fmt::format("wgmma_{}", pace_name(p.pace)); }

std::string source_of(const PromotedPoint& p) {
  std::string text =
      include("promoted") + wgmma_struct(p.n, MmaTypes::kF32E4m3, false, kPromotedWarpgroups);
  for (const int every : {0, 128, 256, 512}) {
    if (why_impossible(PromotedPoint{p.n, every, 1})) continue;
    text += kernel(fmt::format("promoted_{}", every), kPromotedWarpgroups * 128, "ComputeParams",
                   fmt::format("time_promoted<Mma, {}>", every));
  }
  return text;
}
std::string name_of(const PromotedPoint& p) { return fmt::format("promoted_{}", p.every); }

std::string source_of(const MmaPoint& p) {
  return include("mma") + mma_struct(p.types) +
         kernel("mma_issue", 512, "ComputeParams", "time_mma<Mma, hgemm::micro::kMmaChains>") +
         kernel("mma_latency", 512, "ComputeParams", "time_mma<Mma, 1>");
}
std::string name_of(const MmaPoint& p) { return fmt::format("mma_{}", pace_name(p.pace)); }

std::string copy_source() {
  return include("copy") +
         kernel("tma_issue", 64, "CopyParams", "time_copies<hgemm::micro::TmaCopy>", true) +
         kernel("tma_latency", 64, "CopyParams", "time_copy_latency<hgemm::micro::TmaCopy>", true) +
         kernel("bulk_issue", 64, "CopyParams", "time_copies<hgemm::micro::BulkCopy>", true) +
         kernel("bulk_latency", 64, "CopyParams", "time_copy_latency<hgemm::micro::BulkCopy>",
                true);
}
std::string source_of(const TmaPoint&) { return copy_source(); }
std::string name_of(const TmaPoint& p) { return fmt::format("tma_{}", pace_name(p.pace)); }
std::string source_of(const BulkPoint&) { return copy_source(); }
std::string name_of(const BulkPoint& p) { return fmt::format("bulk_{}", pace_name(p.pace)); }

std::string source_of(const ReadPoint&) {
  std::string text = include("read");
  for (const int unroll : {1, 2, 4, 8}) {
    text += kernel(fmt::format("read_{}", unroll), 1024, "ReadParams",
                   fmt::format("time_reads<{}>", unroll));
  }
  return text;
}
std::string name_of(const ReadPoint& p) { return fmt::format("read_{}", p.unroll); }
std::string source_of(const StreamPoint&) {
  std::string text = include("read");
  for (const int unroll : {1, 2, 4, 8}) {
    text += kernel(fmt::format("stream_{}", unroll), 1024, "StreamParams",
                   fmt::format("stream<{}>", unroll));
  }
  return text;
}
std::string name_of(const StreamPoint& p) { return fmt::format("stream_{}", p.unroll); }

std::string cluster_source() {
  return include("cluster") +
         kernel("mbarrier_round_trip_test", 64, "ClusterParams", "time_round_trip<false>") +
         kernel("mbarrier_round_trip_try", 64, "ClusterParams", "time_round_trip<true>") +
         kernel("smem_latency_own", 32, "ClusterParams", "time_shared_latency<false>") +
         kernel("smem_latency_peer", 32, "ClusterParams", "time_shared_latency<true>") +
         kernel("smem_issue_own", 1024, "ClusterParams", "time_shared_reads<false>") +
         kernel("smem_issue_peer", 1024, "ClusterParams", "time_shared_reads<true>");
}
std::string source_of(const MbarrierPoint&) { return cluster_source(); }
std::string name_of(const MbarrierPoint& p) {
  return p.wait == BarrierWait::kTest ? "mbarrier_round_trip_test" : "mbarrier_round_trip_try";
}
std::string source_of(const SmemPoint&) { return cluster_source(); }
std::string name_of(const SmemPoint& p) {
  return fmt::format("smem_{}_{}", pace_name(p.pace), p.owner == SmemOwner::kOwn ? "own" : "peer");
}

std::string source_of(const StmatrixPoint&) {
  return include("stmatrix") + kernel("stmatrix", 512, "ComputeParams", "time_stmatrix");
}
std::string name_of(const StmatrixPoint&) { return "stmatrix"; }

std::string source_of(const AccumulatorPoint& p) {
  constexpr int kN = 8;  // the fewest columns, of which one is used
  return include("accumulator") + wgmma_struct(kN, p.types, false, 1) +
         kernel("accumulator", 128, "AccumulatorParams", "add_cases<Mma>");
}
std::string name_of(const AccumulatorPoint&) { return "accumulator"; }

std::string source_of(const ContentionPoint& p) {
  return include("contention") + wgmma_struct(p.n, MmaTypes::kF32Bf16, false, 2) +
         kernel("contention", 2 * 128 + 32, "ContentionParams", "time_contention<Mma>", true);
}
std::string name_of(const ContentionPoint&) { return "contention"; }

}  // namespace

std::string micro_source(const MicroPoint& point) {
  return std::visit([](const auto& p) { return source_of(p); }, point);
}
std::string micro_kernel(const MicroPoint& point) {
  return std::visit([](const auto& p) { return name_of(p); }, point);
}

}  // namespace hgemm
