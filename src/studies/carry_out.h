// Carries out studies: compiles, runs and records them, as tune.h does for trials.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compile/compiler.h"
#include "store/store.h"
#include "worker/lab.h"

namespace hgemm {

/// Receives events while studies are carried out; every function has an empty default.
class StudyListener {
 public:
  virtual ~StudyListener() = default;
  virtual void compiling(int /*done*/, int /*total*/, int /*failed*/) {}  ///< distinct sources
  /// A study is about to be measured; `done` of all requests have ended.
  virtual void studying(int /*done*/, int /*total*/, const std::string& /*label*/) {}
  virtual void finished(const Study& /*study*/) {}
};

struct StudiesDone {
  int measured = 0;  ///< recorded by this call, with any status
  int already = 0;   ///< in the store: same conditions, label, shape and cubin
  int failed = 0;    ///< those of `measured` with a status other than ok
  bool stopped = false;
};

/// compile_sources() of compile/compiler.h, or a substitute.
using CompileSources = std::function<void(std::span<const StudySource>, const CompileOptions&,
                                          const std::function<void(std::size_t, Build)>&)>;

/// Compiles the sources of the requests, carries out those that the store lacks, one at a time, and
/// commits each as it ends. A study that does not compile is recorded with that status. A study
/// that takes the worker down is recorded as timed_out or crashed, and the next one gets a new
/// worker. `stop` is polled between steps.
///
/// Throws Error if a new worker is lost twice in a row before it does anything, or if four studies
/// in a row take theirs down: the GPU is then probably at fault. These studies are recorded
/// nevertheless, and not tried again.
StudiesDone carry_out(std::span<const StudyRequest> requests, Lab& lab, Store& store,
                      const CompileOptions& compile, const std::string& command_line,
                      const CompileSources& compile_sources, const std::function<bool()>& stop = {},
                      StudyListener* listener = nullptr);

}  // namespace hgemm
