// Stored winners checked again, with data that they have not seen.
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
    Regime regime = Regime::kSustained;  ///< in which it won: where a failure is recorded
    std::string label;
  };
  std::vector<Winner> winners;
  std::vector<std::uint64_t> seeds;  ///< one draw of inputs for each
  CompileOptions compile;
  std::string command_line;
};

/// A winner on one draw of inputs. One that does not compile ends so on its first draw.
struct Recheck {
  VerifyPlan::Winner winner;
  std::uint64_t seed = 0;
  Prepared outcome;
};

/// Compiles the winners from this program's kernel sources and runs each on one draw after another;
/// `done` hears of each recheck as it ends. A winner that does not end ok is recorded as a trial of
/// a race of its own, with its status, so that best no longer counts it, and is not run again.
/// Nothing else is written. One that takes the measurer down harms only itself. Problems that do
/// not fit are left out, with a warning. `stop` as in tune(). Throws Error if the measurer is lost
/// while it opens a problem, twice in a row, and it was not a cuBLASLt algorithm's doing.
void verify(const VerifyPlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
            const std::function<void(const Recheck&)>& done,
            const std::function<void(const std::string&)>& warn, const std::function<bool()>& stop);

}  // namespace hgemm
