// Carrying out studies: compile, run, keep. What tune.h is for trials.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compile/compiler.h"
#include "store/store.h"
#include "study/lab.h"

namespace hgemm {

/// What happens while studies are carried out; every function has an empty default.
class StudyListener {
 public:
  virtual ~StudyListener() = default;
  virtual void compiling(int /*done*/, int /*total*/, int /*failed*/) {}
  virtual void studying(int /*done*/, int /*total*/, const std::string& /*label*/) {}
  virtual void finished(const Study& /*study*/) {}
};

struct StudiesDone {
  int measured = 0;
  int already = 0;  ///< in the store: same conditions, label, shape and cubin
  int failed = 0;   ///< of the measured, those with a status other than ok
  bool stopped = false;
};

/// Compiles what the requests need, carries out those that the store does not have yet, one at a
/// time, and commits each as it ends. A request whose study took the worker down ends as timed_out
/// or crashed; two fresh workers that fail one after the other end the run with Error. `stop` is
/// asked between two studies.
StudiesDone carry_out(std::span<const StudyRequest> requests, Lab& lab, Store& store,
                      const CompileOptions& compile, const std::string& command_line,
                      const std::function<bool()>& stop = {}, StudyListener* listener = nullptr);

}  // namespace hgemm
