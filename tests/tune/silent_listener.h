// A listener that a test does not listen to.
#pragma once

#include "tune/tune.h"

namespace hgemm::testing {

struct SilentListener : TuneListener {
  void compiling(const Compiling&) override {}
  void race_started(int, const GemmProblem&, Regime, int, int, int) override {}
  void preparing(int, int, int) override {}
  void measuring(int, int, int) override {}
  void racing(int, int, int, const std::string&, double) override {}
  void weighing(int, int, int) override {}
  void race_finished(int, const GemmProblem&) override {}
  void warning(const std::string&) override {}
  void advanced(double) override {}
};

}  // namespace hgemm::testing
