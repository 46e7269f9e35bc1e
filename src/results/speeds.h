// How fast configs are, by races that were recorded: what searches are told, and judged by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "record/trial.h"

namespace hgemm {

/// Of races of one problem, in one regime and under the same conditions. A config with several
/// trials that went equally far the newest counts.
///
/// The speed of a config that was in the final is the median of its final rounds. Others have
/// rounds of screening only, where clocks may be other ones (device/protocol.h), and left because
/// they were behind: if the fastest of them seems faster than the median finalist, all of them are
/// scaled down until it is not.
class KnownSpeeds {
 public:
  void add(const Race& race);  ///< oldest first

  std::size_t size() const { return configs_.size(); }
  bool has_final() const;  ///< some config was measured to the end

  /// By label: cublas' time over the config's; 0: it did not end ok, or was never timed.
  std::map<std::string, double> all() const;

 private:
  /// Who was in the final and left it has no rounds of screening either.
  enum class Reached : std::uint8_t { kNothing, kScreening, kFinal, kEnd };
  struct Known {
    double speed = 0;
    Reached reached = Reached::kNothing;
  };
  double screening_scale() const;

  std::map<std::string, Known> configs_;
};

/// What a strategy is told of it (search/strategy.h).
inline std::optional<double> told_time(double speed) {
  return speed > 0 ? std::optional(1 / speed) : std::nullopt;
}

}  // namespace hgemm
