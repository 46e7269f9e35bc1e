// Checks stored winners again, with new input data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/measurer.h"
#include "store/store.h"

namespace hgemm {

struct VerifyPlan {
  struct Winner {
    GemmProblem problem;
    Regime regime = Regime::kSustained;  ///< in which it won; a failure is recorded for this regime
    std::string label;
  };
  std::vector<Winner> winners;
  std::vector<std::uint64_t> seeds;  ///< each gives one set of inputs
  CompileOptions compile;
  std::string command_line;
};

/// A winner with one set of inputs. A winner that does not compile has one recheck only.
struct Recheck {
  VerifyPlan::Winner winner;
  std::uint64_t seed = 0;
  Prepared outcome;
};

/// Compiles the winners from this program's kernel sources and runs each with one set of inputs
/// after another; calls `done` after each recheck. A winner that does not end ok is recorded as a
/// trial in a race of its own, with its status, so that best no longer counts it; it is not run
/// again. Nothing else is written. A winner that takes the measurer down does not affect the
/// others. Problems that do not fit in memory are left out with a warning. `stop` works as in
/// tune(). Throws Error if the measurer is lost twice in a row while it opens a problem, and not
/// because of a cuBLASLt algorithm.
void verify(const VerifyPlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
            const std::function<void(const Recheck&)>& done,
            const std::function<void(const std::string&)>& warn, const std::function<bool()>& stop);

}  // namespace hgemm
