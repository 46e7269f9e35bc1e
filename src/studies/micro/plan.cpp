// Chooses the microbenchmarks to run.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

constexpr std::initializer_list<int> kTellingN = {8, 16, 32, 64, 128, 256};
constexpr std::initializer_list<MmaTypes> kAllTypes = {MmaTypes::kF32Bf16, MmaTypes::kF32F16,
                                                       MmaTypes::kF16F16, MmaTypes::kF32E4m3,
                                                       MmaTypes::kF16E4m3};
constexpr std::initializer_list<MmaTypes> kHalfTypes = {MmaTypes::kF32Bf16, MmaTypes::kF32F16,
                                                        MmaTypes::kF16F16};
constexpr std::initializer_list<MemoryLevel> kBothLevels = {MemoryLevel::kL2, MemoryLevel::kHbm};

std::vector<int> every_n() {
  std::vector<int> all;
  for (int n = 8; n <= 256; n += 8) all.push_back(n);
  return all;
}

/// Collects points in the order in which they are added, each once; impossible points with the
/// reason.
class PlanBuilder {
 public:
  void add(const MicroPoint& point) {
    const std::string label = micro_label(point);
    if (!labels_.insert(label).second) return;
    if (const auto reason = why_impossible(point)) {
      plan_.left_out.push_back({label, *reason});
    } else {
      plan_.points.push_back(point);
    }
  }
  MicroPlan take() { return std::move(plan_); }

 private:
  std::set<std::string> labels_;
  MicroPlan plan_;
};

void add_wgmma(PlanBuilder& plan) {
  struct Combination {
    MmaTypes types;
    bool a_from_registers;
  };
  for (const auto& [types, rs] :
       {Combination{MmaTypes::kF32Bf16, false}, Combination{MmaTypes::kF32F16, false},
        Combination{MmaTypes::kF16F16, false}, Combination{MmaTypes::kF32E4m3, false},
        Combination{MmaTypes::kF32Bf16, true}}) {
    for (const int n : every_n()) {
      plan.add(WgmmaPoint{.n = n, .types = types, .a_from_registers = rs});
    }
  }
  for (const MmaTypes types : kAllTypes) {
    for (const bool rs : {false, true}) {
      for (const int n : kTellingN) {
        const WgmmaPoint point{.n = n, .types = types, .a_from_registers = rs};
        plan.add(point);
        WgmmaPoint alone = point;
        alone.pace = MicroPace::kLatency;
        plan.add(alone);
        if (rs && types != MmaTypes::kF32Bf16) continue;
        WgmmaPoint zeros = point;
        zeros.data = MicroData::kZeros;
        plan.add(zeros);
        if (types == MmaTypes::kF16E4m3) continue;
        for (const int warpgroups : {2, 3, 4}) {
          WgmmaPoint shared = point;
          shared.warpgroups = warpgroups;
          plan.add(shared);
        }
      }
    }
  }
}

void add_all_wgmma(PlanBuilder& plan) {
  for (const MmaTypes types : kAllTypes) {
    for (const bool rs : {false, true}) {
      for (const int n : every_n()) {
        for (const MicroData data : {MicroData::kRandom, MicroData::kZeros}) {
          for (const int warpgroups : {1, 2, 3, 4}) {
            plan.add(WgmmaPoint{n, types, rs, data, MicroPace::kIssue, warpgroups});
          }
          plan.add(WgmmaPoint{n, types, rs, data, MicroPace::kLatency, 1});
        }
      }
    }
  }
}

void add_promoted(PlanBuilder& plan, bool full) {
  for (const int n : full ? every_n() : std::vector{64, 128, 192, 224}) {
    for (const int warpgroups : {1, kPromotedWarpgroups}) {
      for (const int every : {0, 128, 256, 512}) plan.add(PromotedPoint{n, every, warpgroups});
    }
  }
}

void add_mma(PlanBuilder& plan, bool full) {
  for (const MmaTypes types : kHalfTypes) {
    for (const MicroData data : {MicroData::kRandom, MicroData::kZeros}) {
      const bool random = data == MicroData::kRandom;
      for (const int warps : {1, 2, 4, 8, 12, 16}) {
        if (full || random || warps == 16) {
          plan.add(MmaPoint{types, data, MicroPace::kIssue, warps});
        }
      }
      if (full || random) plan.add(MmaPoint{types, data, MicroPace::kLatency, 1});
    }
  }
}

void add_tma(PlanBuilder& plan, bool full) {
  struct Layout {
    MicroSwizzle swizzle;
    int columns;
  };
  // Rows have the length of the swizzle span, because a longer row is not allowed.
  for (const auto& [swizzle, columns] :
       {Layout{MicroSwizzle::k128, 64}, Layout{MicroSwizzle::k64, 32},
        Layout{MicroSwizzle::k32, 16}, Layout{MicroSwizzle::kNone, 64}}) {
    for (const int rows : {8, 16, 32, 64, 128, 256}) {
      for (const int multicast : {1, 2, 4}) {
        const bool plain = swizzle == MicroSwizzle::k128 && multicast == 1;
        if (!full && !plain && rows != 64 && !(swizzle == MicroSwizzle::k128 && rows == 128)) {
          continue;
        }
        for (const MemoryLevel level : kBothLevels) {
          plan.add(TmaPoint{rows, columns, swizzle, multicast, level, MicroPace::kLatency, 1});
          for (const int in_flight : {1, 2, 4, 8, 16}) {
            if (!full && swizzle != MicroSwizzle::k128 && in_flight != 8) continue;
            plan.add(
                TmaPoint{rows, columns, swizzle, multicast, level, MicroPace::kIssue, in_flight});
          }
        }
      }
    }
  }
}

void add_memory(PlanBuilder& plan) {
  for (const MemoryLevel level : kBothLevels) {
    for (const int bytes : {4096, 8192, 16384}) {
      plan.add(BulkPoint{bytes, level, MicroPace::kLatency, 1});
      for (const int in_flight : {1, 2, 4, 8, 16}) {
        plan.add(BulkPoint{bytes, level, MicroPace::kIssue, in_flight});
      }
    }
    for (const int threads : {128, 256, 512, 1024}) {
      for (const int unroll : {1, 2, 4, 8}) plan.add(ReadPoint{level, threads, unroll});
    }
  }
  for (const int mib : {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256}) {
    for (const bool pdl : {true, false}) {
      for (const int threads : {512, 1024}) {
        for (const int unroll : {4, 8}) {
          plan.add(StreamPoint{mib * 1024, pdl, threads, unroll});
        }
      }
    }
  }
}

void add_within_the_sm(PlanBuilder& plan) {
  for (const SmemOwner owner : {SmemOwner::kOwn, SmemOwner::kPeer}) {
    for (const BarrierWait wait : {BarrierWait::kTest, BarrierWait::kTry}) {
      plan.add(MbarrierPoint{owner, wait});
    }
  }
  for (const SmemOwner owner : {SmemOwner::kOwn, SmemOwner::kPeer}) {
    plan.add(SmemPoint{owner, MicroPace::kLatency, 32});
    for (const int threads : {32, 128, 256, 512, 1024}) {
      plan.add(SmemPoint{owner, MicroPace::kIssue, threads});
    }
  }
  for (const StmatrixRows rows :
       {StmatrixRows::kSwizzled, StmatrixRows::kPadded, StmatrixRows::kPlain}) {
    for (const int warps : {1, 4, 8, 16}) plan.add(StmatrixPoint{rows, warps});
  }
}

void add_accumulator(PlanBuilder& plan) {
  for (const MmaTypes types :
       {MmaTypes::kF32E4m3, MmaTypes::kF32E5m2, MmaTypes::kF32F16, MmaTypes::kF32Bf16}) {
    plan.add(AccumulatorPoint{types});
  }
}

void add_contention(PlanBuilder& plan, bool full) {
  const auto ns = full ? every_n() : std::vector{64, 128, 192, 256};
  for (const Extent extent : {Extent::kOneSm, Extent::kAllSms}) {
    for (const int n : ns) {
      for (const int warpgroups : {1, 2}) {
        for (const int fill : {0, 16, 32, 48, 64, 96}) {
          plan.add(ContentionPoint{n, warpgroups, fill, extent});
        }
      }
    }
  }
}

bool picks(const std::string& pattern, const std::string& label) {
  if (pattern.find_first_of("*?[") == std::string::npos) return label.starts_with(pattern);
  return fnmatch(pattern.c_str(), label.c_str(), 0) == 0;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

/// Adds the points of `from` that match the pattern. Returns false if none does.
bool add_matches(PlanBuilder& plan, const std::vector<MicroPoint>& from,
                 const std::string& pattern) {
  bool any = false;
  for (const MicroPoint& point : from) {
    if (!picks(pattern, micro_label(point))) continue;
    plan.add(point);
    any = true;
  }
  return any;
}

[[noreturn]] void throw_unmatched(const std::string& pattern, const std::vector<MicroPoint>& all) {
  std::set<std::string> families;
  for (const MicroPoint& point : all) {
    const std::string label = micro_label(point);
    families.insert(label.substr(0, label.find('.')));
  }
  const std::vector<std::string> names(families.begin(), families.end());
  throw InputError(fmt::format("{} matches no microbenchmark; {}hgemm-tune micro --list names them",
                               pattern, did_you_mean(pattern, names)));
}

}  // namespace

MicroPlan micro_plan(bool full) {
  PlanBuilder plan;
  if (full) {
    add_all_wgmma(plan);
  } else {
    add_wgmma(plan);
  }
  add_promoted(plan, full);
  add_mma(plan, full);
  add_tma(plan, full);
  add_memory(plan);
  add_within_the_sm(plan);
  add_accumulator(plan);
  add_contention(plan, full);
  return plan.take();
}

MicroPlan micro_plan(bool full, std::string_view only) {
  const std::vector<std::string> patterns = split(only);
  MicroPlan base = micro_plan(full);
  if (patterns.empty()) return base;
  PlanBuilder plan;
  for (const std::string& pattern : patterns) {
    if (add_matches(plan, base.points, pattern)) continue;
    const std::vector<MicroPoint> all = micro_plan(true).points;
    if (add_matches(plan, all, pattern)) continue;
    // The label of any possible point is accepted, also outside the plans.
    if (!read_micro(pattern)) throw_unmatched(pattern, all);
    plan.add(parse_micro(pattern));
  }
  return plan.take();
}

}  // namespace hgemm
