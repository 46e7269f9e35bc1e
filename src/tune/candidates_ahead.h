// Makes the candidates of searches in the background, ahead of the races. Private to the module.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <thread>
#include <vector>

#include "families/cost.h"
#include "search/search.h"
#include "tune/choice.h"

namespace hgemm {

/// Makes candidates in threads of its own. They take half a second of a core for each problem, for
/// which GPUs would otherwise wait.
class CandidatesAhead {
 public:
  /// Begins with the first of these problems, in all regimes. `plan` must outlive this.
  CandidatesAhead(const TunePlan& plan, std::map<Regime, CostFigures> figures,
                  std::vector<GemmProblem> problems);
  ~CandidatesAhead();  ///< abandons what is not begun

  const CostFigures& figures(Regime regime) const { return figures_.at(regime); }
  /// Waits until they are made. The problem must be one of those given. Any thread may call it.
  const Candidates& at(const GemmProblem& problem, Regime regime) const;

 private:
  struct Place {
    GemmProblem problem;
    Regime regime;
    std::promise<Candidates> promise = {};
    std::shared_future<Candidates> made = promise.get_future().share();
  };
  void make();

  const TunePlan& plan_;
  std::map<Regime, CostFigures> figures_;
  std::vector<Place> places_;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> threads_;  ///< last member, because they use the others
};

}  // namespace hgemm
