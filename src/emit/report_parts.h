// The sections of report data (emit/report.h says what is in each), for report.cpp alone.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/json.h"
#include "model/device.h"
#include "replay/replay.h"
#include "space/space.h"
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
  void add(const Environment& environment, const std::string& started_utc,
           const std::string& command_line);

  std::set<std::string> environments_, regimes_, kernels_, dates_;
  std::vector<std::string> commands_;  ///< in the order of appearance
};

Json missing(const std::string& sentence, const std::string& how);

/// "prefill" of "prefill/qkv"; "other" without a tag.
std::string group_of(const Shape& shape);

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

Json best_section(const Known& known);
Json sustained_section(const Known& known);
Json ladder_section(const Known& known);
Json cycles_section(const Known& known);
Json wgmma_section(const Known& known);
Json tile_order_section(const Known& known);
Json tiles_section(const Known& known);
Json search_section(const Known& known);

}  // namespace hgemm::report
