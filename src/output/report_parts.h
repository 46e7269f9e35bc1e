// What the sections of report data are made from and of (report.h says what is in each).
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

/// Where figures are from: gathered, then said once.
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

/// "prefill" of "prefill/qkv"; "other" without a tag.
std::string group_of(const GemmProblem& problem);

/// So few leave holes in a map of tiles.
inline constexpr std::size_t kFewConfigs = 100;

struct Known {
  std::span<const RecordedRace> races;
  std::span<const RecordedRace> spaces;  ///< what `truths` are of
  std::span<const Truth> truths;
  std::span<const RecordedStudy> studies;
  std::span<const Device> devices;
  const Space& space;
  const Device* device = nullptr;  ///< of this GPU; null if it is not known
};

/// An entry of the report.
struct Section {
  std::string name;
  Json content;
};

/// The config of a label in a database; none if no family of this program reads it.
std::optional<KernelConfig> find_config(const std::string& label);

std::vector<Section> best_sections(const Known& known);  ///< best, configs
Json configs_section(std::span<const RecordedRace* const> races);
/// What changed from other recordings to these, by their names.
Json comparison_section(std::span<const RecordedRace> before, std::span<const RecordedRace> after,
                        const std::vector<std::string>& names);
Json sustained_section(const Known& known);
Json tiles_section(const Known& known);
Json search_section(const Known& known);

}  // namespace hgemm::report
