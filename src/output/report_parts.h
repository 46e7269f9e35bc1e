// Parts from which the sections of the report data are made (report.h describes each section).
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "families/kernel.h"
#include "output/json.h"
#include "results/replay.h"
#include "search/devices.h"
#include "search/space.h"
#include "store/store.h"

namespace hgemm::report {

/// The origin of figures: collected from all of them, then stated once.
class Source {
 public:
  void add(const RecordedRace& race);
  void add(const RecordedStudy& study);
  void add_regime(Regime regime) { regimes_.insert(std::string(to_string(regime))); }
  Json json() const;

 private:
  void add(const Environment& environment, const RunInfo& run, const std::string& started_utc,
           const std::string& command_line);

  std::set<std::string> environments_, regimes_, kernels_, dates_;
  std::vector<std::string> commands_;  ///< in the order of appearance
};

Json missing(const std::string& sentence, const std::string& how);

/// "prefill" of "prefill/qkv". Without a tag "other", or of 8-bit operands the kind of problem:
/// "e4m3.scaling-blocks".
std::string group_of(const GemmProblem& problem);

/// With fewer configs a map of tiles has holes.
inline constexpr std::size_t kFewConfigs = 100;

struct Known {
  std::span<const RecordedRace> races;
  std::span<const RecordedRace> spaces;  ///< the races behind `truths`
  std::span<const Truth> truths;
  std::span<const RecordedStudy> studies;
  std::span<const Device> devices;
  const Space& space;
  const Device* device = nullptr;  ///< the device of this GPU; null if it is not known
};

/// A named entry of the report.
struct Section {
  std::string name;
  Json content;
};

/// Parses a label from a database. nullopt if no family of this program reads it.
std::optional<KernelConfig> find_config(const std::string& label);

std::vector<Section> best_sections(const Known& known);  ///< the sections best and configs
Json configs_section(std::span<const RecordedRace* const> races);
/// Changes from the recordings `before` to the recordings `after`. `names` has their names.
Json comparison_section(std::span<const RecordedRace> before, std::span<const RecordedRace> after,
                        const std::vector<std::string>& names);
Json sustained_section(const Known& known);
Json tiles_section(const Known& known);
Json search_section(const Known& known);

}  // namespace hgemm::report
