#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "families/family.h"
#include "families/sum_order.h"
#include "gemm/codec.h"
#include "output/export/export.h"
#include "results/portfolio.h"

namespace hgemm {
namespace {

constexpr const char* kNoWholeSpace =
    "few kernels are chosen from whole spaces, and none was measured there; it may have a row "
    "without --max-kernels";

/// Why a package may not contain the kernel of that label for the problem, as a phrase that starts
/// with a verb; null if it may.
const char* why_not_exportable(const std::string& label, const GemmProblem& problem,
                               const Allowed& allowed) {
  const KernelConfig config = parse_label(label);
  if (is_probed(config)) return "has cycle stamps";
  if (why_not(config, problem) != nullptr) return "is one that the kernel sources no longer take";
  if (allowed.batch_invariant) {
    if (const char* reason = why_bits_follow_m(sum_order(config))) return reason;
    // It must compute every M.
    if (why_not(without_fixed(config), problem) != nullptr) return "is made for one number of rows";
  }
  const PdlKind kind = pdl_kind(config);
  if (kind > allowed.pdl) {
    return kind == PdlKind::kSafe
               ? "uses programmatic dependent launch, which --pdl safe allows"
               : "reads B before the kernel ahead of it is done, which --pdl weights allows";
  }
  return nullptr;
}

bool is_exportable(const std::string& label, const GemmProblem& problem, const Allowed& allowed) {
  return why_none_allowed(allowed, problem.kind()) == nullptr &&
         why_not_exportable(label, problem, allowed) == nullptr;
}

/// Keeps baselines and the configs for which `keep` (called with label and problem) is true.
template <class Keep>
void keep_trials(std::vector<RecordedRace>& races, const Keep& keep) {
  for (RecordedRace& race : races) {
    std::erase_if(race.race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !keep(trial.label, race.race.problem);
    });
  }
}

/// The row of one config, from the races that measured it to the end if there are any.
BestRow row_of(const std::vector<RecordedRace>& races, const GemmProblem& problem,
               const std::string& config_label) {
  std::vector<RecordedRace> here;
  std::ranges::copy_if(races, std::back_inserter(here), [&problem](const RecordedRace& race) {
    return race.race.problem.same_problem(problem);
  });
  keep_trials(here, [&](const std::string& label, const auto&) { return label == config_label; });
  const auto is_final = [&](const RecordedRace& race) {
    return std::ranges::any_of(race.race.trials, [&](const Trial& trial) {
      return trial.label == config_label && trial.stage == Stage::kFinal &&
             trial.status == Status::kOk;
    });
  };
  if (std::ranges::any_of(here, is_final)) std::erase_if(here, std::not_fn(is_final));
  return best_rows(here, {&problem, 1}).front();
}

ExportRow export_row(BestRow best) {
  ExportRow row{.best = std::move(best), .gain = false, .fraction = {}};
  row.gain = row.best.cublas && row.best.cublas->interval.low > 1;  // a NaN is not
  return row;
}

bool has_config(std::span<const RecordedRace> races, const GemmProblem& problem) {
  return std::ranges::any_of(races, [&problem](const RecordedRace& race) {
    return race.race.problem.same_problem(problem) &&
           std::ranges::any_of(race.race.trials,
                               [](const Trial& trial) { return !is_baseline(trial.label); });
  });
}

/// Why there is no row. `races` are those of the regime, with configs of any kind.
const char* why_none(std::span<const RecordedRace> races, const GemmProblem& problem,
                     const Allowed& allowed) {
  if (const char* reason = why_no_kernel(problem)) return reason;
  if (const char* reason = why_none_allowed(allowed, problem.kind())) return reason;
  if (!has_config(races, problem)) return "never recorded";
  if (allowed.batch_invariant) {
    return "no batch-invariant config ended ok; tune with --batch-invariant";
  }
  return allowed.pdl == PdlKind::kWeights
             ? "no config ended ok that the kernel sources still take"
             : "no config of an allowed PDL kind ended ok (--pdl weights allows all)";
}

void add_best(ExportPlan& plan, const std::vector<RecordedRace>& races,
              std::span<const RecordedRace> all, const ExportAim& aim,
              const IsCurrent& is_current) {
  for (BestRow& row : best_rows(races, aim.problems, Objective::kTime, is_current)) {
    if (row.label && row.verified) {
      plan.rows.push_back(export_row(std::move(row)));
    } else {
      plan.left_out.push_back({row.problem, why_none(all, row.problem, aim.allowed)});
    }
  }
}

/// `all` includes the configs that may not be exported. Beside them, the others may have left a
/// race before its end.
void add_portfolio(ExportPlan& plan, const std::vector<RecordedRace>& races,
                   std::span<const RecordedRace> all, const ExportAim& aim) {
  std::vector<Truth> known = truths(all);
  keep_problems(known, aim.problems);
  for (Truth& truth : known) {
    std::erase_if(truth.entries, [&](const Truth::Entry& entry) {
      return entry.speed <= 0 || !is_exportable(label(entry.config), truth.problem, aim.allowed);
    });
  }
  std::erase_if(known, [&](const Truth& truth) {
    if (!truth.entries.empty()) return false;
    plan.left_out.push_back({truth.problem, why_none(all, truth.problem, aim.allowed)});
    return true;
  });
  const Portfolio portfolio = choose_portfolio(known, aim.max_kernels);
  for (const Portfolio::Choice& choice : portfolio.choices) {
    plan.rows.push_back(export_row(row_of(races, choice.problem, choice.label)));
    plan.rows.back().best.problem = choice.problem;
    plan.rows.back().fraction = choice.fraction;
  }
  for (const GemmProblem& problem : portfolio.uncovered) {
    plan.left_out.push_back({problem, "none of so few kernels computes it"});
  }
  for (const GemmProblem& problem : aim.problems) {
    const auto same = [&problem](const auto& one) { return one.problem.same_problem(problem); };
    if (std::ranges::none_of(known, same) && std::ranges::none_of(plan.left_out, same)) {
      plan.left_out.push_back({problem, kNoWholeSpace});
    }
  }
}

/// The rows with a kernel that is not the fastest recorded one, and the reason.
void find_replaced(ExportPlan& plan, std::span<const RecordedRace> all, const ExportAim& aim,
                   const IsCurrent& is_current) {
  std::vector<GemmProblem> problems;
  for (const ExportRow& row : plan.rows) problems.push_back(row.best.problem);
  for (const BestRow& winner : best_rows(all, problems, Objective::kTime, is_current)) {
    const auto row = std::ranges::find_if(plan.rows, [&winner](const ExportRow& candidate) {
      return candidate.best.problem.same_problem(winner.problem);
    });
    if (!winner.label || !winner.verified || winner.label == row->best.label) continue;
    const char* reason = why_not_exportable(*winner.label, winner.problem, aim.allowed);
    if (reason == nullptr && aim.max_kernels == 0) continue;
    std::optional<double> fraction;
    if (winner.cublas && row->best.cublas) {
      fraction = row->best.cublas->value / winner.cublas->value;
    }
    plan.replaced.push_back({winner.problem, *winner.label,
                             reason ? reason : "is not among so few kernels (--max-kernels)",
                             fraction});
  }
}

/// Reports every recorded problem that has no row, if all problems were requested. `recorded`: all
/// races; `all`: the races of the regime.
void find_left_out(ExportPlan& plan, std::span<const RecordedRace> recorded,
                   std::span<const RecordedRace> all, const ExportAim& aim) {
  if (!aim.problems.empty()) return;
  const auto is_known = [&plan](const GemmProblem& problem) {
    const auto is_row = [&](const ExportRow& row) {
      return row.best.problem.same_problem(problem);
    };
    const auto is_out = [&](const auto& out) { return out.problem.same_problem(problem); };
    return std::ranges::any_of(plan.rows, is_row) || std::ranges::any_of(plan.left_out, is_out);
  };
  const auto in_regime = [&](const GemmProblem& problem) {
    return std::ranges::any_of(
        all, [&](const RecordedRace& race) { return race.race.problem.same_problem(problem); });
  };
  for (const RecordedRace& race : recorded) {
    const GemmProblem& problem = race.race.problem;
    if (is_known(problem) || !has_config(recorded, problem)) continue;
    std::string reason = aim.max_kernels > 0 ? kNoWholeSpace : why_none(all, problem, aim.allowed);
    if (!in_regime(problem)) {
      reason = fmt::format("recorded in {0} only (--regime {0})", to_string(race.race.regime));
    }
    plan.left_out.push_back({problem, std::move(reason)});
  }
}

void name_libraries(ExportPlan& plan) {
  plan.with_cublaslt = true;
  for (ExportRow& row : plan.rows) {
    const Fastest kind = fastest_of(row.best);
    // A caller's matrices have no rows beyond M, and its scales no padding that they need not have.
    const bool is_as_given = row.best.problem.for_cublaslt().same_problem(row.best.problem);
    if (kind == Fastest::kConfig || !is_as_given) continue;
    FasterLibrary library{.kind = kind, .label = fastest_library(row.best), .algorithm = {}};
    library.version = cublaslt_version_of(row.best.environment.cublas);
    if (kind == Fastest::kCublasLt) {
      std::string_view algorithm = row.best.cublaslt_algorithm;
      if (algorithm.ends_with(kThenEpilogue)) algorithm.remove_suffix(kThenEpilogue.size());
      library.algorithm = parse_lt_algorithm(algorithm);
    }
    row.library = std::move(library);
  }
}

void check_one_gpu(const ExportPlan& plan) {
  const Environment& first = plan.rows.front().best.environment;
  for (const ExportRow& row : plan.rows) {
    const Environment& other = row.best.environment;
    if (other.gpu_name == first.gpu_name && other.sm_count == first.sm_count) continue;
    throw InputError(fmt::format(
        "these results are of several GPUs ({} with {} SMs, {} with {}), and an export is for one: "
        "choose shapes with --shapes, or a database of one GPU with --db",
        first.gpu_name, first.sm_count, other.gpu_name, other.sm_count));
  }
}

/// Compares versions by the numbers in them: 580.95 is before 580.159.
bool is_older(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    int numbers[2] = {};
    for (int i = 0; i < 2; ++i) {
      std::string_view& text = i == 0 ? a : b;
      const auto end = std::min(text.find('.'), text.size());
      std::from_chars(text.data(), text.data() + end, numbers[i]);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (numbers[0] != numbers[1]) return numbers[0] < numbers[1];
  }
  return false;
}

}  // namespace

namespace {

constexpr const char* kNoEpilogues =
    "this format has no epilogues yet; cpp, json, csv and md have them";

/// The plan without problems that have an epilogue, which are left out.
ExportPlan plan_of_plain(std::vector<RecordedRace> races, ExportAim aim,
                         const IsCurrent& is_current) {
  aim.plain_only = false;
  const auto is_plain = [](const GemmProblem& problem) { return !has_epilogue(problem.kind()); };
  std::vector<ExportPlan::LeftOut> left_out;
  const auto leave_out = [&](const GemmProblem& problem) {
    if (std::ranges::none_of(left_out, [&](const ExportPlan::LeftOut& out) {
          return out.problem.same_problem(problem);
        })) {
      left_out.push_back({problem, kNoEpilogues});
    }
  };
  const bool all_recorded = aim.problems.empty();
  for (const RecordedRace& race : races) {
    if (all_recorded && !is_plain(race.race.problem)) leave_out(race.race.problem);
  }
  for (const GemmProblem& problem : aim.problems) {
    if (!is_plain(problem)) leave_out(problem);
  }
  std::erase_if(races, [&](const RecordedRace& race) { return !is_plain(race.race.problem); });
  std::erase_if(aim.problems, [&](const GemmProblem& problem) { return !is_plain(problem); });
  if (races.empty() || (!all_recorded && aim.problems.empty())) {
    throw InputError(fmt::format("there is nothing to export: {}",
                                 left_out.empty() ? "nothing was recorded" : kNoEpilogues));
  }
  ExportPlan plan = plan_export(std::move(races), aim, is_current);
  std::ranges::move(left_out, std::back_inserter(plan.left_out));
  return plan;
}

}  // namespace

std::int64_t cublaslt_version_of(std::string_view text) {
  constexpr int kParts = 3;
  constexpr std::int64_t kBelow[kParts] = {1000, 100, 100};
  std::int64_t version = 0;
  for (int i = 0; i < kParts; ++i) {
    std::int64_t part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc{} || part < 0 || part >= kBelow[i]) return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i + 1 < kParts && !text.starts_with('.')) return 0;
    if (i + 1 < kParts) text.remove_prefix(1);
    version = version * 100 + part;
  }
  return text.empty() ? version : 0;
}

std::string ExportRow::command() const {
  return fmt::format("hgemm-tune --shapes {} --config {} --regime {}", to_string(best.problem),
                     *best.label, to_string(best.regime));
}

ExportPlan plan_export(std::vector<RecordedRace> races, const ExportAim& aim,
                       const IsCurrent& is_current) {
  if (aim.plain_only) return plan_of_plain(std::move(races), aim, is_current);
  // A kernel is exported for a shape, whatever its data. Normal data decides, unless others are
  // asked for.
  if (aim.problems.empty()) {
    std::erase_if(races,
                  [](const RecordedRace& race) { return !race.race.problem.data.is_normal(); });
  }
  const std::vector<RecordedRace> recorded = races;
  std::erase_if(races, [&](const RecordedRace& race) { return race.race.regime != aim.regime; });
  const std::vector<RecordedRace> all = races;
  keep_trials(races, [&](const std::string& label, const GemmProblem& problem) {
    return is_exportable(label, problem, aim.allowed);
  });
  ExportPlan plan{
      .regime = aim.regime, .allowed = aim.allowed, .rows = {}, .left_out = {}, .replaced = {}};
  if (aim.max_kernels > 0) {
    add_portfolio(plan, races, all, aim);
  } else {
    add_best(plan, races, all, aim, is_current);
  }
  find_left_out(plan, recorded, all, aim);
  if (plan.rows.empty()) {
    const auto why = losses(plan, ExportFormat::kJson);
    throw InputError(fmt::format("there is nothing to export in the {} regime{}{}",
                                 to_string(aim.regime), why.empty() ? "" : ": ",
                                 fmt::join(why, "; ")));
  }
  check_one_gpu(plan);
  find_replaced(plan, all, aim, is_current);
  if (aim.with_cublaslt) name_libraries(plan);
  return plan;
}

Validity validity_of(const ExportPlan& plan, std::string kernel_hash, std::string revision) {
  const Environment& first = plan.rows.front().best.environment;
  Validity validity{.gpu_name = first.gpu_name,
                    .compute_major = first.compute_major,
                    .compute_minor = first.compute_minor,
                    .sm_count = first.sm_count,
                    .driver_min = first.driver,
                    .driver_max = first.driver,
                    .cuda_min = first.cuda,
                    .cuda_max = first.cuda,
                    .measured_kernels = {},
                    .kernel_hash = std::move(kernel_hash),
                    .revision = std::move(revision)};
  for (const ExportRow& row : plan.rows) {
    const Environment& e = row.best.environment;
    if (is_older(e.driver, validity.driver_min)) validity.driver_min = e.driver;
    if (is_older(validity.driver_max, e.driver)) validity.driver_max = e.driver;
    if (is_older(e.cuda, validity.cuda_min)) validity.cuda_min = e.cuda;
    if (is_older(validity.cuda_max, e.cuda)) validity.cuda_max = e.cuda;
    auto& hashes = validity.measured_kernels;
    const std::string& hash = row.best.run.kernel_sources;
    if (std::ranges::find(hashes, hash) == hashes.end()) hashes.push_back(hash);
  }
  return validity;
}

}  // namespace hgemm
