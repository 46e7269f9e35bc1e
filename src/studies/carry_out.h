// Carrying out studies: compile, run, keep. What tune.h is for trials.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compile/compiler.h"
#include "store/store.h"
#include "worker/lab.h"

namespace hgemm {

/// What happens while studies are carried out; every function has an empty default.
class StudyListener {
 public:
  virtual ~StudyListener() = default;
  virtual void compiling(int /*done*/, int /*total*/, int /*failed*/) {}  ///< distinct sources
  /// About to be measured; `done` of all requests have ended.
  virtual void studying(int /*done*/, int /*total*/, const std::string& /*label*/) {}
  virtual void finished(const Study& /*study*/) {}
};

struct StudiesDone {
  int measured = 0;  ///< recorded by this call, with any status
  int already = 0;   ///< in the store: same conditions, label, shape and cubin
  int failed = 0;    ///< of the measured, those with a status other than ok
  bool stopped = false;
};

/// compile_sources() of compile/compiler.h, or a stand-in.
using CompileSources = std::function<void(std::span<const StudySource>, const CompileOptions&,
                                          const std::function<void(std::size_t, Build)>&)>;

/// Compiles what the requests need, carries out those that the store does not have yet, one at a
/// time, and commits each as it ends. One that does not compile is recorded as that. A request
/// whose study took the worker down ends as timed_out or crashed, and the next one has a fresh
/// worker. `stop` is asked between two steps.
///
/// Throws Error if a fresh worker is lost before it does anything, twice in a row, or if four
/// studies in a row take theirs down: then it looks as if the GPU is at fault. These are recorded
/// nevertheless, and not tried again.
StudiesDone carry_out(std::span<const StudyRequest> requests, Lab& lab, Store& store,
                      const CompileOptions& compile, const std::string& command_line,
                      const CompileSources& compile_sources, const std::function<bool()>& stop = {},
                      StudyListener* listener = nullptr);

}  // namespace hgemm
