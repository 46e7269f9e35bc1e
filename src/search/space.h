// The search space: grids of axis values, from which valid configs are enumerated and rejected
// points are counted.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "gemm/problem.h"

namespace hgemm {

/// The Cartesian product of one list of values for each axis of a family.
struct Grid {
  std::string family;  ///< one of family_names()
  /// One list for each axis, in the order of axes_of(family): words that the axis can parse.
  std::vector<std::vector<std::string>> values;
};

/// A union of grids; a config in several grids counts once.
struct Space {
  std::string name;
  std::vector<Grid> grids;
};

/// Loads a space. `argument` is a YAML file, or a name ("quick") that is looked up in the working
/// folder and then in `configs_dir`/spaces. The file is a map of `name:` (default: the file's
/// name), `include:` (other spaces, whose grids come first: files beside this one, or looked up as
/// `argument` is) and `grids:`, a list of maps. A grid names its `family` (default: tiled) and
/// gives for each axis of the family a value, a list, or for numbers an inclusive range
/// "start:end:step". The family's axis table lists axes and values (`hgemm-tune plan --axes`); an
/// axis that is missing has the value in its row. Grids of older versions are read too
/// (space_file.cpp).
///
/// A file that is included more than once counts once. Files include one another at most 32 deep.
///
/// Throws InputError with file:line:column; unknown keys name the nearest known one.
Space load_space(const std::string& argument, const std::string& configs_dir);
/// The same for a file's text; `path` is for messages, and to find included files.
Space parse_space(std::string_view text, const std::string& path, const std::string& configs_dir);

struct Enumeration {
  std::vector<KernelConfig> valid;  ///< distinct, in a stable order
  /// For each rule (by its name), the number of points for which it is the first broken rule.
  std::map<std::string, std::int64_t> rejected;
  std::map<std::string, std::string> reasons;  ///< the requirement of each of these rules, in words
};
/// The size of a space.
struct SpaceCount {
  bool estimated = false;  ///< from random points, within a few percent
  std::int64_t valid = 0;
  std::map<std::string, std::int64_t> rejected;  ///< as Enumeration has it
  std::map<std::string, std::string> reasons;
  /// From each axis to its distinct values among the valid points, spelled as in space files, in
  /// ascending order. An axis that several families share is listed once.
  std::map<std::string, std::vector<std::string>> axes;
};
SpaceCount count_of(const Enumeration& points);

/// The points that are valid for the types of at least one of `kinds` (bf16 if there are none). A
/// number of stages of "max" becomes the largest that shared memory allows for a kind; if not even
/// the smallest fits, the point counts as rejected.
Enumeration enumerate(const Space& space, std::span<const GemmKind> kinds = {},
                      const DeviceLimits& limits = {});
/// The same for the types of these problems.
Enumeration enumerate(const Space& space, std::span<const GemmProblem> problems,
                      const DeviceLimits& limits = {});

/// Number of configs that suit each problem; 0 for a problem that no kernel can compute.
std::vector<std::int64_t> count_suited(std::span<const KernelConfig> configs,
                                       std::span<const GemmProblem> problems);

/// From each axis to its distinct values among `configs`, spelled as in space files, in ascending
/// order. An axis that several families share is listed once.
std::map<std::string, std::vector<std::string>> axis_values(std::span<const KernelConfig> configs);

}  // namespace hgemm
