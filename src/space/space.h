// The search space: grids of axis values, enumerated into valid configs and counted rejections.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/rules.h"
#include "space/shape.h"

namespace hgemm {

/// The cartesian product of one list per axis.
struct Grid {
  std::vector<int> bm, bn, bk;
  /// Pipeline stages; kMaxStagesThatFit stands for the most that shared memory allows ("max").
  std::vector<int> stages;
  struct Cluster {
    int m, n;
  };
  std::vector<Cluster> cluster;
  std::vector<Schedule> schedule;
  std::vector<int> consumers;
  std::vector<int> mma_depth;
  struct Order {
    TileOrder order;
    int group;
  };
  std::vector<Order> order;
  std::vector<Epilogue> epilogue;
  struct Deal {
    Walk walk;
    int splits;
  };
  std::vector<Deal> walk;
  std::vector<Dtype> dtype;
  std::vector<CacheHint> a_hint, b_hint, d_hint;
  std::vector<int> promotion;
  std::vector<int> ctas_per_sm;
  std::vector<int> pdl;    ///< 0 or 1
  std::vector<int> pack;   ///< 0 or 1
  std::vector<int> fixed;  ///< 0 or 1: for any problem, or made for each
};
inline constexpr int kMaxStagesThatFit = 0;

/// A union of grids; a config that several grids contain counts once.
struct Space {
  std::string name;
  std::vector<Grid> grids;
};

/// `argument`: a YAML file, or a name ("quick") looked up in the working folder and then in
/// `configs_dir`/spaces. The file is a map of `name:` (else the file's), `include:` (other spaces,
/// whose grids come first: files beside this one, or looked up as `argument` is) and `grids:`, a
/// list of maps from an axis to a value, a list, or for numbers an inclusive range
/// "start:end:step":
///
///   bm, bn, consumers   required
///   bk                  64                 q          max (or numbers; the pipeline's stages)
///   cluster             1x1                d          1   (wgmma groups left in flight)
///   schedule            coop (cols, pp: the consumers share a tile's columns, or take turns; swap:
///                       tiles of few rows, 64 columns to a consumer; vec: for up to bm rows of A
///                       or B, by CUDA cores)
///   order               linear (hilbert; bands of rows group<G>, snake<G>, of columns ngroup<G>,
///                       nsnake<G>)
///   epilogue            tma (direct, late; staged: for a D of any N and leading dimension)
///   walk                persist (dynamic, single, split<S>, csplit<S>, stream)
///   a_hint, b_hint, d_hint                 none (first, last: what L2 evicts so)
///   promotion           256 (64, 128: the bytes that L2 fetches at least)
///   ctas                1 (2 on each SM)   pdl        0 (1: programmatic dependent launch)
///   pack                0 (1: for A or B whose leading dimension is not a multiple of 8)
///   fixed               0 (1: a kernel for each shape, whose extents are constants in it)
///   dtype               [bf16, fp16]
///
/// Throws InputError with file:line:column; unknown keys name the nearest known one.
Space load_space(const std::string& argument, const std::string& configs_dir);

struct Enumeration {
  std::vector<KernelConfig> valid;        ///< distinct, in a stable order
  std::map<Rule, std::int64_t> rejected;  ///< points that break each rule (first broken rule)
};
/// "max" stages become a number; where not even the fewest fit, the point is counted as rejected.
/// Points of `fixed: 1` become a config for each of `shapes` that they suit.
Enumeration enumerate(const Space& space, std::span<const Shape> shapes,
                      const DeviceLimits& limits = {});

/// Why a kernel of the config cannot compute the shape, or nullptr if it can.
const char* why_unsupported(const KernelConfig& config, const Shape& shape);

/// The same kernel, made for this problem alone.
KernelConfig made_for(KernelConfig config, const Shape& shape);

/// Whether the config's kernel is made for such a problem: for its type and, if it is made for only
/// one, for this one. (It may be unsupported: most kernels at odd sizes.)
bool is_made_for(const KernelConfig& config, const Shape& shape);

/// Whether a space's config is made for such a problem and worth trying on it. Swapped tiles are
/// for shapes of one row of them that leaves less than a third empty, or less than 8 rows; kernels
/// for vectors where the next smaller one would not do; others
/// for shapes that do not leave whole 64-row blocks of the tile empty; packing and staged
/// ones for shapes that others cannot compute. (A config that is asked for
/// by its label is tried on any shape that it is made for.)
bool suits(const KernelConfig& config, const Shape& shape);

/// axis (named as in space files) -> its distinct values among `configs`, written as in labels but
/// without the axis prefix ("128", "2x1", "group8"), in ascending order.
std::map<std::string, std::vector<std::string>> axis_values(
    const std::vector<KernelConfig>& configs);

}  // namespace hgemm
