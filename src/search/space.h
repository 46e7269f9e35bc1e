// The search space: grids of axis values, enumerated into valid configs and counted rejections.
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

/// The cartesian product of one list of values for each axis of a family.
struct Grid {
  std::string family;  ///< one of family_names()
  /// One list for each axis, in the order of axes_of(family): words that the axis can parse.
  std::vector<std::vector<std::string>> values;
};

/// A union of grids; a config that several grids contain counts once.
struct Space {
  std::string name;
  std::vector<Grid> grids;
};

/// `argument`: a YAML file, or a name ("quick") looked up in the working folder and then in
/// `configs_dir`/spaces. The file is a map of `name:` (else the file's), `include:` (other spaces,
/// whose grids come first: files beside this one, or looked up as `argument` is) and `grids:`, a
/// list of maps. A grid names its `family` (tiled if left out) and has for each axis of the family
/// a value, a list, or for numbers an inclusive range "start:end:step". Axes and their values are
/// those of the family's axis table (`hgemm-tune plan --axes`); an axis that is left out has the
/// value that its row says. Grids of older versions are read as well (space_file.cpp).
///
/// A file that is included more than once counts once. Files include one another at most 32 deep.
///
/// Throws InputError with file:line:column; unknown keys name the nearest known one.
Space load_space(const std::string& argument, const std::string& configs_dir);
/// The same of a file's text; `path` is for messages, and for what it includes.
Space parse_space(std::string_view text, const std::string& path, const std::string& configs_dir);

struct Enumeration {
  std::vector<KernelConfig> valid;  ///< distinct, in a stable order
  /// How many points break each rule (the first that they break), by its name.
  std::map<std::string, std::int64_t> rejected;
  std::map<std::string, std::string> reasons;  ///< what each of these rules demands
};
/// Points that are valid for the types of any of `kinds` (bf16 if there are none). A number of
/// stages of "max" becomes the most that shared memory allows for a kind; where not even the fewest
/// fit, the point is counted as rejected.
Enumeration enumerate(const Space& space, std::span<const GemmKind> kinds = {},
                      const DeviceLimits& limits = {});
/// The same for the types of these problems.
Enumeration enumerate(const Space& space, std::span<const GemmProblem> problems,
                      const DeviceLimits& limits = {});

/// How many of the configs suit each problem; 0 for what no kernel can compute.
std::vector<std::int64_t> count_suited(std::span<const KernelConfig> configs,
                                       std::span<const GemmProblem> problems);

/// axis -> its distinct values among `configs`, written as in space files, in ascending order. Axes
/// that several families have are listed once.
std::map<std::string, std::vector<std::string>> axis_values(std::span<const KernelConfig> configs);

}  // namespace hgemm
