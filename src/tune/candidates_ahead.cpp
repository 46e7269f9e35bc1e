#include "tune/candidates_ahead.h"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace hgemm {

CandidatesAhead::CandidatesAhead(const TunePlan& plan, std::map<Regime, CostFigures> figures,
                                 std::vector<GemmProblem> problems)
    : plan_(plan), figures_(std::move(figures)) {
  for (const GemmProblem& problem : problems) {
    for (const auto& [regime, of_regime] : figures_) places_.push_back({problem, regime});
  }
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(cores, places_.size()); ++i) {
    threads_.emplace_back([this] {
      // The threads of races have priority. On Linux this is the calling thread's own.
      constexpr int kNiceness = 5;
      setpriority(PRIO_PROCESS, 0, kNiceness);
      make();
    });
  }
}

CandidatesAhead::~CandidatesAhead() { next_ = places_.size(); }

void CandidatesAhead::make() {
  for (std::size_t i = next_++; i < places_.size(); i = next_++) {
    Place& place = places_[i];
    try {
      place.promise.set_value(candidates_for(place.problem, plan_, figures(place.regime)));
    } catch (...) {
      place.promise.set_exception(std::current_exception());
    }
  }
}

const Candidates& CandidatesAhead::at(const GemmProblem& problem, Regime regime) const {
  const auto place = std::ranges::find_if(places_, [&](const Place& one) {
    return one.regime == regime && one.problem.same_problem(problem);
  });
  if (place == places_.end()) throw std::logic_error("no candidates were asked for this problem");
  return place->made.get();
}

}  // namespace hgemm
