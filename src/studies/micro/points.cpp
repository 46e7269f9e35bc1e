#include "studies/micro/points.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/error.h"
#include "kernels/studies/micro/micro_params.h"

namespace hgemm {
namespace {

template <class Value>
struct Word {
  Value value;
  std::string_view text;
};
constexpr std::array kTypes = {
    Word{MmaTypes::kF32Bf16, "f32.bf16"}, Word{MmaTypes::kF32F16, "f32.f16"},
    Word{MmaTypes::kF16F16, "f16.f16"},   Word{MmaTypes::kF32E4m3, "f32.e4m3"},
    Word{MmaTypes::kF16E4m3, "f16.e4m3"}, Word{MmaTypes::kF32E5m2, "f32.e5m2"}};
constexpr std::array kSources = {Word{false, "ss"}, Word{true, "rs"}};
constexpr std::array kData = {Word{MicroData::kRandom, "random"}, Word{MicroData::kZeros, "zeros"}};
constexpr std::array kPaces = {Word{MicroPace::kIssue, "issue"},
                               Word{MicroPace::kLatency, "latency"}};
constexpr std::array kLevels = {Word{MemoryLevel::kL2, "l2"}, Word{MemoryLevel::kHbm, "hbm"}};
constexpr std::array kSwizzles = {Word{MicroSwizzle::kNone, "swnone"},
                                  Word{MicroSwizzle::k32, "sw32"}, Word{MicroSwizzle::k64, "sw64"},
                                  Word{MicroSwizzle::k128, "sw128"}};
constexpr std::array kRows = {Word{StmatrixRows::kSwizzled, "swizzled"},
                              Word{StmatrixRows::kPadded, "padded"},
                              Word{StmatrixRows::kPlain, "plain"}};
constexpr std::array kOwners = {Word{SmemOwner::kOwn, "own"}, Word{SmemOwner::kPeer, "peer"}};
constexpr std::array kWaits = {Word{BarrierWait::kTest, "test"}, Word{BarrierWait::kTry, "try"}};
constexpr std::array kExtents = {Word{Extent::kOneSm, "one"}, Word{Extent::kAllSms, "all"}};

constexpr std::array kLaunches = {Word{true, "pdl"}, Word{false, "alone"}};

constexpr std::array kIntervals = {Word{0, "never"}, Word{128, "every128"}, Word{256, "every256"},
                                   Word{512, "every512"}};

// The parts of a label are written down once, in the spell() of each family; a Writer makes a label
// from them, and a Reader parses one.

struct Writer {
  std::string label;

  void literal(std::string_view text) { append(text); }
  template <class Value, std::size_t kCount>
  void word(const Value& value, const std::array<Word<Value>, kCount>& words) {
    for (const auto& entry : words) {
      if (entry.value == value) return append(entry.text);
    }
    throw Error("an axis of a microbenchmark has a value without a name");
  }
  void number(std::string_view prefix, int value, const std::string& suffix = "") {
    append(fmt::format("{}{}{}", prefix, value, suffix));
  }
  void numbers(std::string_view prefix, int first, int second) {
    append(fmt::format("{}{}x{}", prefix, first, second));
  }

 private:
  void append(std::string_view text) {
    if (!label.empty()) label += '.';
    label += text;
  }
};

/// Accepts too much; its caller spells the point again and compares the label with the text.
struct Reader {
  std::string_view rest;
  bool ok = true;

  void literal(std::string_view text) { ok &= take(text); }
  template <class Value, std::size_t kCount>
  void word(Value& value, const std::array<Word<Value>, kCount>& words) {
    for (const auto& entry : words) {
      if (take(entry.text)) {
        value = entry.value;
        return;
      }
    }
    ok = false;
  }
  void number(std::string_view prefix, int& value, const std::string& = "") {
    const std::string_view part = next();
    ok &= part.starts_with(prefix) && read(part.substr(prefix.size()), value);
  }
  void numbers(std::string_view prefix, int& first, int& second) {
    const std::string_view part = next();
    const std::size_t x = part.rfind('x');
    ok &= part.starts_with(prefix) && x != part.npos && x >= prefix.size();
    ok = ok && read(part.substr(prefix.size()), first) && read(part.substr(x + 1), second);
  }

 private:
  bool take(std::string_view text) {
    if (!rest.starts_with(text)) return false;
    if (rest.size() > text.size() && rest[text.size()] != '.') return false;
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return true;
  }
  std::string_view next() {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  }
  static bool read(std::string_view text, int& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  }
};

template <class Codec, class Point>
void spell(Codec& codec, Point& p) {
  using P = std::remove_const_t<Point>;
  if constexpr (std::is_same_v<P, WgmmaPoint>) {
    codec.literal("wgmma");
    codec.number("m64n", p.n, fmt::format("k{}", mma_k(p.types)));
    codec.word(p.types, kTypes);
    codec.word(p.a_from_registers, kSources);
    codec.word(p.data, kData);
    codec.word(p.pace, kPaces);
    codec.number("wg", p.warpgroups);
  } else if constexpr (std::is_same_v<P, PromotedPoint>) {
    codec.literal("promoted");
    codec.number("m64n", p.n, "k32");
    codec.word(p.every, kIntervals);
    codec.number("wg", p.warpgroups);
  } else if constexpr (std::is_same_v<P, MmaPoint>) {
    codec.literal("mma.m16n8k16");
    codec.word(p.types, kTypes);
    codec.word(p.data, kData);
    codec.word(p.pace, kPaces);
    codec.number("w", p.warps);
  } else if constexpr (std::is_same_v<P, TmaPoint>) {
    codec.literal("tma");
    codec.numbers("box", p.box_rows, p.box_columns);
    codec.word(p.swizzle, kSwizzles);
    codec.number("mc", p.multicast);
    codec.word(p.level, kLevels);
    codec.word(p.pace, kPaces);
    codec.number("q", p.in_flight);
  } else if constexpr (std::is_same_v<P, BulkPoint>) {
    codec.literal("bulk");
    codec.number("b", p.bytes);
    codec.word(p.level, kLevels);
    codec.word(p.pace, kPaces);
    codec.number("q", p.in_flight);
  } else if constexpr (std::is_same_v<P, ReadPoint>) {
    codec.literal("read");
    codec.word(p.level, kLevels);
    codec.number("t", p.threads);
    codec.number("u", p.unroll);
  } else if constexpr (std::is_same_v<P, StreamPoint>) {
    codec.literal("stream");
    codec.number("kib", p.kib);
    codec.word(p.pdl, kLaunches);
    codec.number("t", p.threads);
    codec.number("u", p.unroll);
  } else if constexpr (std::is_same_v<P, MbarrierPoint>) {
    codec.literal("mbarrier");
    codec.word(p.owner, kOwners);
    codec.word(p.wait, kWaits);
  } else if constexpr (std::is_same_v<P, SmemPoint>) {
    codec.literal("smem");
    codec.word(p.owner, kOwners);
    codec.word(p.pace, kPaces);
    codec.number("t", p.threads);
  } else if constexpr (std::is_same_v<P, StmatrixPoint>) {
    codec.literal("stmatrix.x4");
    codec.word(p.rows, kRows);
    codec.number("w", p.warps);
  } else if constexpr (std::is_same_v<P, AccumulatorPoint>) {
    codec.literal("accumulator");
    codec.word(p.types, kTypes);
  } else {
    static_assert(std::is_same_v<P, ContentionPoint>);
    codec.literal("contention");
    codec.number("m64n", p.n, "k16");
    codec.number("wg", p.warpgroups);
    codec.number("fill", p.fill_bytes_per_clk);
    codec.word(p.extent, kExtents);
  }
}

template <class Point>
std::optional<MicroPoint> read_as(std::string_view label) {
  Reader reader{label};
  Point point;
  spell(reader, point);
  if (!reader.ok || micro_label(point) != label) return std::nullopt;
  return point;
}

int swizzle_span_bytes(MicroSwizzle swizzle) {
  switch (swizzle) {
    case MicroSwizzle::kNone:
      return 512;  // the longest row that a box of 256 elements has
    case MicroSwizzle::k32:
      return 32;
    case MicroSwizzle::k64:
      return 64;
    case MicroSwizzle::k128:
      return 128;
  }
  throw Error("a swizzle outside its enumeration");
}

using Reason = std::optional<std::string>;

constexpr int kMostRegisters = 255;  // of a thread

Reason bad_n(int n) {
  if (n >= 8 && n <= 256 && n % 8 == 0) return std::nullopt;
  return "wgmma has N = 8, 16, ... 256";
}
Reason bad_warps(int warps) {
  if (warps >= 1 && warps <= 16) return std::nullopt;
  return "the kernel takes 1 to 16 warps";
}
Reason bad_threads(int threads) {
  if (threads >= 32 && threads <= 1024 && threads % 32 == 0) return std::nullopt;
  return "the kernel takes whole warps, 32 to 1024 threads";
}
Reason bad_ring(int item_bytes, MicroPace pace, int in_flight, int cluster) {
  if (in_flight < 1 || in_flight > micro::kMaxInFlight) {
    return fmt::format("1 to {} copies can be in flight", micro::kMaxInFlight);
  }
  if (pace == MicroPace::kLatency && in_flight != 1) return "latency is that of one copy";
  if (micro::copy_smem_bytes(item_bytes, in_flight, cluster) > micro::kSmemLimit) {
    return fmt::format("{} slots of {} bytes do not fit the shared memory", in_flight,
                       item_bytes * cluster);
  }
  return std::nullopt;
}

Reason bad_timed_types(MmaTypes types) {
  if (types != MmaTypes::kF32E5m2) return std::nullopt;
  return "e5m2 takes the times of e4m3, and its values are for accumulator only";
}

Reason why(const WgmmaPoint& p) {
  if (const Reason reason = bad_timed_types(p.types)) return reason;
  if (const Reason reason = bad_n(p.n)) return reason;
  if (p.pace == MicroPace::kLatency && p.warpgroups != 1) {
    return "latency is that of one warpgroup";
  }
  if (p.warpgroups < 1 || p.warpgroups > 4) return "1 to 4 warpgroups";
  if (p.warpgroups > max_warpgroups(p)) {
    return fmt::format("{} warpgroups leave each thread {} registers, too few for its operands",
                       p.warpgroups, p.warpgroups == 4 ? 128 : 168);
  }
  return std::nullopt;
}
Reason why(const PromotedPoint& p) {
  if (const Reason reason = bad_n(p.n)) return reason;
  if (p.warpgroups < 1 || p.warpgroups > kPromotedWarpgroups) return "1 or 2 warpgroups";
  // Both sums and about 26 more, as in max_warpgroups().
  if (p.every != 0 && p.n + 26 > kMostRegisters) {
    return fmt::format(
        "two sums of each value and about 26 more registers are over the {} of a thread",
        kMostRegisters);
  }
  return std::nullopt;
}
Reason why(const MmaPoint& p) {
  if (mma_k(p.types) != 16) return "mma.m16n8k16 is for 16-bit elements";
  if (p.pace == MicroPace::kLatency && p.warps != 1) return "latency is that of one warp";
  return bad_warps(p.warps);
}
Reason why(const TmaPoint& p) {
  if (p.box_rows < 8 || p.box_rows > 256 || p.box_rows % 8 != 0) return "boxes have 8 to 256 rows";
  if (p.box_columns < 8 || p.box_columns > 256 || 4096 % p.box_columns != 0) {
    return "boxes have 8, 16, ... 256 columns";
  }
  if (p.box_columns * 2 > swizzle_span_bytes(p.swizzle)) {
    return "a row of a box is at most as long as the span of the swizzle";
  }
  if (p.multicast != 1 && p.multicast != 2 && p.multicast != 4) return "multicast to 1, 2 or 4";
  return bad_ring(p.box_rows * p.box_columns * 2, p.pace, p.in_flight, p.multicast);
}
Reason why(const BulkPoint& p) {
  if (p.bytes < 128 || p.bytes > 65536 || (p.bytes & (p.bytes - 1)) != 0) {
    return "copies of 128, 256, ... 65536 bytes";
  }
  return bad_ring(p.bytes, p.pace, p.in_flight, 1);
}
Reason why(const ReadPoint& p) {
  if (p.unroll != 1 && p.unroll != 2 && p.unroll != 4 && p.unroll != 8) {
    return "1, 2, 4 or 8 loads in flight";
  }
  return bad_threads(p.threads);
}
Reason why(const StreamPoint& p) {
  if (p.kib < 64 || p.kib > 1 << 20) return "64 KiB to 1 GiB";
  return why(ReadPoint{MemoryLevel::kHbm, p.threads, p.unroll});
}
Reason why(const MbarrierPoint&) { return std::nullopt; }
Reason why(const SmemPoint& p) {
  if (p.pace == MicroPace::kLatency && p.threads != 32) return "latency is that of one warp";
  return bad_threads(p.threads);
}
Reason why(const StmatrixPoint& p) { return bad_warps(p.warps); }
Reason why(const AccumulatorPoint& p) {
  if (p.types == MmaTypes::kF16F16 || p.types == MmaTypes::kF16E4m3) {
    return "a sum in fp16 has 11 bits, fewer than the tensor cores keep";
  }
  return std::nullopt;
}
Reason why(const ContentionPoint& p) {
  if (const Reason reason = bad_n(p.n)) return reason;
  if (p.warpgroups < 1 || p.warpgroups > 2) return "1 or 2 warpgroups";
  if (p.fill_bytes_per_clk < 0 || p.fill_bytes_per_clk > 1024) return "fill 0 to 1024";
  return std::nullopt;
}

}  // namespace

int mma_k(MmaTypes types) {
  const bool has_8_bits =
      types == MmaTypes::kF32E4m3 || types == MmaTypes::kF16E4m3 || types == MmaTypes::kF32E5m2;
  return has_8_bits ? 32 : 16;
}
double wgmma_flops(const WgmmaPoint& point) { return 2.0 * 64 * point.n * mma_k(point.types); }
double mma_flops() { return 2.0 * 16 * 8 * 16; }
double peak_flops_per_clk(MmaTypes types) { return 256.0 * mma_k(types); }

std::string micro_label(const MicroPoint& point) {
  Writer writer;
  std::visit([&](const auto& p) { spell(writer, p); }, point);
  return writer.label;
}

std::optional<MicroPoint> read_micro(std::string_view label) {
  std::optional<MicroPoint> point;
  const auto attempt = [&]<class Point>(const Point*) {
    if (!point) point = read_as<Point>(label);
  };
  attempt(static_cast<WgmmaPoint*>(nullptr));
  attempt(static_cast<PromotedPoint*>(nullptr));
  attempt(static_cast<MmaPoint*>(nullptr));
  attempt(static_cast<TmaPoint*>(nullptr));
  attempt(static_cast<BulkPoint*>(nullptr));
  attempt(static_cast<ReadPoint*>(nullptr));
  attempt(static_cast<StreamPoint*>(nullptr));
  attempt(static_cast<MbarrierPoint*>(nullptr));
  attempt(static_cast<SmemPoint*>(nullptr));
  attempt(static_cast<StmatrixPoint*>(nullptr));
  attempt(static_cast<AccumulatorPoint*>(nullptr));
  attempt(static_cast<ContentionPoint*>(nullptr));
  return point;
}

MicroPoint parse_micro(std::string_view label) {
  const std::optional<MicroPoint> point = read_micro(label);
  if (!point) {
    throw InputError(
        fmt::format("{} is no microbenchmark; hgemm-tune micro --list names them, e.g. {}", label,
                    micro_label(WgmmaPoint{})));
  }
  if (const Reason reason = why_impossible(*point)) {
    throw InputError(fmt::format("{} cannot be: {}", label, *reason));
  }
  return *point;
}

std::optional<std::string> why_impossible(const MicroPoint& point) {
  return std::visit([](const auto& p) { return why(p); }, point);
}

int max_warpgroups(const WgmmaPoint& point) {
  // The registers of a wgmma and about 26 more must fit in the registers that a thread has at
  // entry, floor(512 / warps per sub-partition / 8) * 8: 128 with 4 warpgroups, 168 with 3 (ptxas
  // 13.0: C7602 and spills above).
  const bool f32 = point.types != MmaTypes::kF16F16 && point.types != MmaTypes::kF16E4m3;
  const int accumulators = f32 ? point.n / 2 : point.n / 4;
  const int fragments = point.a_from_registers ? 4 * micro::kStepsPerStage : 0;
  const int needed = accumulators + fragments + 26;
  return needed <= 128 ? 4 : needed <= 168 ? 3 : 2;
}

}  // namespace hgemm
