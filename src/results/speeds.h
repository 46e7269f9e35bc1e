// Speeds of configs from recorded races: the input of searches and the measure of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "record/trial.h"

namespace hgemm {

/// Collects races of one problem, in one regime and under the same conditions. If a config has
/// several trials that went equally far, the newest counts.
///
/// The speed of a config that was in the final is the median of its final rounds. Other configs
/// have screening rounds only, where clocks may differ (device/protocol.h), and they left because
/// they were behind. If the fastest of them appears faster than the median finalist, all of them
/// are scaled down until it is not.
class KnownSpeeds {
 public:
  void add(const Race& race);  ///< call in order, oldest race first

  std::size_t size() const { return configs_.size(); }
  bool has_final() const;  ///< some config was measured to the end

  /// By label: cublas' time over the config's; 0: it did not end ok or was never timed.
  std::map<std::string, double> all() const;

 private:
  /// A config that was in the final and left it has no screening rounds either.
  enum class Reached : std::uint8_t { kNothing, kScreening, kFinal, kEnd };
  struct Known {
    double speed = 0;
    Reached reached = Reached::kNothing;
  };
  double screening_scale() const;

  std::map<std::string, Known> configs_;
};

}  // namespace hgemm
