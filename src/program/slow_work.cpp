#include "program/slow_work.h"

#include "base/console.h"

namespace hgemm::cli {

void SlowWork::one_done() {
  constexpr std::chrono::seconds kInterval{5};
  ++done_;
  const auto now = Clock::now();
  if (now - last_ < kInterval || done_ == count_) return;
  last_ = now;
  say("{} of {} {}\n", done_, count_, what_);
}

}  // namespace hgemm::cli
