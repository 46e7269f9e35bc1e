// The default command: shapes x configs -> compiled, raced on the GPU, recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "measure/measurer.h"
#include "store/store.h"

namespace hgemm {

/// How a race is run; the defaults are the protocol of results/.
struct RacePolicy {
  int screen_rounds = 3;            ///< rounds that candidates must survive
  double screen_keep_ratio = 0.85;  ///< after each, keep what is within this of the fastest
  int finalists = 8;                ///< configs that go on to the final rounds
  int lt_finalists = 3;             ///< cuBLASLt algorithms that go on
  int min_rounds = 9;               ///< final rounds
  int max_rounds = 40;
  double interval_half_width = 0.005;  ///< stop once the winner's ratios are known this well
  std::uint64_t seed = 0;              ///< of data and of the order in rounds
};

/// Told what happens, for progress and logs; called in the driver's thread.
class TuneListener {
 public:
  virtual ~TuneListener() = default;
  virtual void compiling(int done, int total, int failed) = 0;
  virtual void shape_started(const Shape& shape, int index, int count, int candidates) = 0;
  virtual void preparing(int done, int total) = 0;
  virtual void racing(int round, int alive, const std::string& leader, double ratio_cublas) = 0;
  virtual void shape_finished(const Shape& shape) = 0;
  virtual void warning(const std::string& text) = 0;
};

struct TunePlan {
  std::vector<Shape> shapes;
  std::vector<KernelConfig> configs;
  Regime regime = Regime::kSustained;
  RacePolicy policy;
  CompileOptions compile;
  std::string command_line;
};

using CompileAll = std::function<void(std::span<const KernelConfig>, const CompileOptions&,
                                      const std::function<void(Build)>&)>;

/// Measures what the store does not have yet; every trial is committed as it ends. `stop` is polled
/// between steps: when it returns true the driver returns early with all finished work committed.
/// Returns the number of candidate trials recorded by this call.
std::int64_t tune(const TunePlan& plan, Measurer& measurer, Store& store,
                  const CompileAll& compile_all, TuneListener& listener,
                  const std::function<bool()>& stop);

}  // namespace hgemm
