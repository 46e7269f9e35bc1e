// The cost model's figures of a GPU, made from its known data for an environment and a regime.
#pragma once

#include <span>

#include "families/cost.h"
#include "record/environment.h"
#include "record/trial.h"
#include "search/devices.h"

namespace hgemm {

CostFigures cost_figures(const Device& device);  ///< sustained, at the device's default power limit
/// The figures of the device that the environment names. If it is not among `devices`, these are an
/// H200's figures with the environment's number of SMs. The power limit is the environment's.
CostFigures cost_figures(std::span<const Device> devices, const Environment& environment,
                         Regime regime);

/// The environment of a GPU of this device, as far as it is known without one: no driver, no
/// libraries.
Environment environment_of(const Device& device);

}  // namespace hgemm
