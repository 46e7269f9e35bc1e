// What --budget takes.
#include <cmath>

#include "program/search.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  const std::string text(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const cli::Allowance allowance = cli::parse_allowance(text);
    fuzz::require(!(allowance.seconds && allowance.configs), "a budget is of one kind");
    if (allowance.seconds) {
      fuzz::require(*allowance.seconds >= 1 && *allowance.seconds <= 1e6, "1 s to 1e6 s");
    }
  });
  fuzz::accepts([&] {
    const Budget budget = cli::parse_budget(text);
    fuzz::require((budget.share != 0) != (budget.trials != 0), "a share or a count");
    if (budget.share != 0)
      fuzz::require(budget.share > 0 && budget.share <= 1, "at most all of them");
    if (budget.trials != 0) fuzz::require(budget.trials >= 1, "at least one");
  });
  return 0;
}
