#include "studies/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "gemm/codec.h"
#include "output/table.h"
#include "program/command.h"
#include "program/database.h"
#include "program/help.h"
#include "program/recorded.h"
#include "program/report.h"
#include "program/signals.h"
#include "record/trial.h"
#include "store/store.h"
#include "studies/carry_out.h"
#include "studies/ladder/ladder.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;
using std::chrono::steady_clock;

/// "wgmma.m64n256k16" or "step07 at 4096x4096x4096".
std::string subject(const std::string& label, const std::optional<GemmProblem>& problem) {
  return problem ? fmt::format("{} at {}", label, to_string(*problem)) : label;
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

std::set<std::string> kinds_of(std::span<const StudyRequest> requests) {
  std::set<std::string> kinds;
  for (const StudyRequest& request : requests) kinds.insert(request.kind);
  return kinds;
}

/// The key by which studies match requests; ordered, because a full plan has thousands of requests.
using Key = std::tuple<std::string, std::string, std::string>;
template <typename Subject>  // a Study or a StudyRequest
Key key_of(const Subject& subject) {
  return {subject.kind, subject.label, subject.problem ? to_string(*subject.problem) : ""};
}

/// Whether an older answer to a request is redundant beside a newer one.
using IsSuperseded = bool (*)(const RecordedStudy& newer, const RecordedStudy& older);

bool is_of_one_session(const RecordedStudy& newer, const RecordedStudy& older) {
  return same_session(newer, older);
}
bool is_of_one_environment(const RecordedStudy& newer, const RecordedStudy& older) {
  return newer.environment == older.environment;
}

/// The studies in `known` (oldest first) that answer a request: see StudyAnswer.
std::vector<RecordedStudy> answers_among(const std::vector<RecordedStudy>& known,
                                         std::span<const StudyRequest> requests,
                                         IsSuperseded is_superseded) {
  std::map<Key, std::vector<const RecordedStudy*>> by_key;
  for (const RecordedStudy& study : known) by_key[key_of(study.study)].push_back(&study);
  std::vector<RecordedStudy> found;
  for (const StudyRequest& request : requests) {
    // Taken out, because another request may have the same key.
    const auto known_of_it = by_key.extract(key_of(request));
    if (known_of_it.empty()) continue;
    const std::size_t before = found.size();
    for (const RecordedStudy* study : known_of_it.mapped() | std::views::reverse) {
      const bool superseded = std::ranges::any_of(
          std::span(found).subspan(before),
          [&](const RecordedStudy& newer) { return is_superseded(newer, *study); });
      if (!superseded) found.push_back(*study);
    }
  }
  return found;
}

std::string_view date_of(const RecordedStudy& study) {
  const std::string_view utc = study.started_utc;
  return utc.substr(0, utc.find('T'));
}

/// One text for each place and date.
std::vector<std::string> places_of(const std::vector<RecordedStudy>& studies) {
  std::vector<const RecordedStudy*> distinct;  // where_measured() hashes the kernel sources
  std::vector<std::string> places;
  for (const RecordedStudy& study : studies) {
    const std::string_view date = date_of(study);
    const bool seen = std::ranges::any_of(distinct, [&](const RecordedStudy* other) {
      return date_of(*other) == date && other->environment == study.environment &&
             other->run == study.run;
    });
    if (seen) continue;
    distinct.push_back(&study);
    const std::string place = where_measured(study);
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

/// The studies of all databases, oldest first.
std::vector<RecordedStudy> studies_in(const std::vector<std::string>& databases,
                                      const std::set<std::string>& kinds) {
  std::vector<RecordedStudy> all;
  for (const std::string& path : databases) {
    const Store store = Store::open(path, Store::Mode::kReadOnly);
    for (const std::string& kind : kinds) {
      std::ranges::move(store.studies(kind), std::back_inserter(all));
    }
  }
  std::ranges::stable_sort(all, {}, &RecordedStudy::started_utc);
  return all;
}

/// Prints a line for each study, and one for the builds before them.
class Lines : public StudyListener {
 public:
  void compiling(int done, int total, int failed) override {
    if (done < total) return;
    const std::string failures = failed > 0 ? fmt::format(", {} failed", failed) : "";
    say("compiled {} kernels in {:.1f} s{}{}\n", total - from_cache_, seconds(),
        from_cache_ > 0 ? fmt::format(", {} from the cache", from_cache_) : "", failures);
  }
  void found_in_cache() { ++from_cache_; }
  void studying(int done, int total, const std::string& /*label*/) override {
    start_ = steady_clock::now();
    place_ = fmt::format("{}/{} ", done + 1, total);
  }
  void finished(const Study& study) override {
    const std::string name = subject(study.label, study.problem);
    if (study.status == Status::kOk) {
      say("{}{}: {:.1f} s\n", place_, name, seconds());
    } else {
      say("{}{}: {}\n", place_, name, to_string(study.status));
    }
    place_.clear();  // a study that did not compile is not announced
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(steady_clock::now() - start_).count();
  }

  steady_clock::time_point start_ = steady_clock::now();
  std::string place_;
  int from_cache_ = 0;
};

std::string what_is_missing(const std::vector<RecordedStudy>& found,
                            std::span<const StudyRequest> requests) {
  constexpr std::size_t kNamed = 5;
  std::set<Key> known;
  for (const RecordedStudy& study : found) known.insert(key_of(study.study));
  std::vector<std::string> missing;
  for (const StudyRequest& request : requests) {
    if (!known.contains(key_of(request)))
      missing.push_back(subject(request.label, request.problem));
  }
  if (missing.empty()) return "";
  if (missing.size() == requests.size()) return " Nothing of this was recorded elsewhere.";
  const std::string more = missing.size() > kNamed ? ", ..." : "";
  const std::size_t count = missing.size();
  missing.resize(std::min(count, kNamed));
  return fmt::format(" {} of {} {} missing: {}{}.", count, requests.size(),
                     count == 1 ? "is" : "are", fmt::join(missing, ", "), more);
}

/// The command line without --recorded.
std::string measuring(std::string command_line) {
  constexpr std::string_view kFlag = " --recorded";
  if (const auto at = command_line.find(kFlag); at != command_line.npos) {
    command_line.erase(at, kFlag.size());
  }
  return command_line;
}

bool is_config(const std::string& label) {
  return !is_baseline(label) && !parse_ladder_label(label);
}

/// The requests; a config without a record is replaced by another config with one at the same
/// problem.
std::vector<StudyRequest> recorded_instead(std::span<const StudyRequest> requests,
                                           const std::vector<RecordedStudy>& all) {
  std::vector<StudyRequest> chosen(requests.begin(), requests.end());
  for (StudyRequest& request : chosen) {
    const auto is_recorded = [&](const RecordedStudy& study) {
      return key_of(study.study) == key_of(request);
    };
    if (!is_config(request.label) || std::ranges::any_of(all, is_recorded)) continue;
    for (const RecordedStudy& study : all) {  // the newest comes last
      StudyRequest other = request;
      other.label = study.study.label;
      if (is_config(other.label) && key_of(study.study) == key_of(other))
        request.label = other.label;
    }
  }
  return chosen;
}

StudyAnswer answer_from_records(const StudyOptions& options,
                                std::span<const StudyRequest> asked_for,
                                const std::string& command_line, const std::string& why) {
  std::vector<std::string> databases;
  for (const fs::path& path : recorded_databases("study.db")) databases.push_back(path.string());
  if (options.db && fs::exists(*options.db)) databases.push_back(*options.db);
  const std::vector<RecordedStudy> all = studies_in(databases, kinds_of(asked_for));
  std::vector<StudyRequest> requests(asked_for.begin(), asked_for.end());
  if (options.any_config) requests = recorded_instead(asked_for, all);
  StudyAnswer answer;
  answer.studies = answers_among(all, requests, is_of_one_session);
  if (options.newest) answer.studies = newest_of(answer.studies);

  answer.first_line = why;
  if (options.db && !fs::exists(*options.db)) {
    answer.first_line += fmt::format(" {} is not there.", *options.db);
  }
  if (const auto places = places_of(answer.studies); !places.empty()) {
    answer.first_line += fmt::format(" Recorded on {}.", fmt::join(places, "; "));
  }
  const std::string missing = what_is_missing(answer.studies, requests);
  answer.first_line += missing;
  if (!missing.empty()) {
    answer.first_line += fmt::format(" To measure on a Hopper GPU: {}", measuring(command_line));
  }
  return answer;
}

void print_failures(const std::vector<RecordedStudy>& studies) {
  for (const auto& recorded : studies) {
    const Study& study = recorded.study;
    if (study.status == Status::kOk) continue;
    say("failed: {}: {}: {}\n", subject(study.label, study.problem), to_string(study.status),
        first_line_of(study.message));
  }
}

}  // namespace

std::vector<RecordedStudy> newest_of(const std::vector<RecordedStudy>& studies) {
  std::vector<RecordedStudy> newest;
  for (const RecordedStudy& study : studies) {
    const auto known = std::ranges::find_if(newest, [&](const RecordedStudy& newer) {
      return key_of(newer.study) == key_of(study.study) &&
             newer.environment.gpu_name == study.environment.gpu_name;
    });
    if (known == newest.end()) {
      newest.push_back(study);
    } else if (known->study.status != Status::kOk && study.study.status == Status::kOk) {
      *known = study;
    }
  }
  return newest;
}

std::vector<RecordedStudy> recorded_studies(const StudyOptions& options, const std::string& kind) {
  std::vector<std::string> databases;
  for (const fs::path& path : recorded_databases("study.db")) databases.push_back(path.string());
  if (options.db) {
    require_database(*options.db);
    databases.push_back(*options.db);
  }
  return studies_in(databases, {kind});
}

void add_study_options(CLI::App& command, StudyOptions& options, bool columns) {
  command.add_option("--db", options.db, help_text("study", "--db"))
      ->type_name("FILE")
      ->default_str(kDefaultDatabase);
  add_cache(command, options.cache);
  command.add_option("--jobs", options.jobs, help_text("common", "--jobs"))
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  CLI::Option* require =
      command.add_flag("--require-gpu", options.require_gpu, help_text("common", "--require-gpu"));
  command.add_flag("--recorded", options.recorded, help_text("common", "--recorded"))
      ->excludes(require);
  command.add_option("--format", options.format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  (columns ? add_table_options : add_width_options)(command, options.tables);
}

StudyAnswer study(const StudyOptions& options, std::span<const StudyRequest> requests,
                  const std::string& command_line) {
  style_of(options.tables, parse_format(options.format));  // refused before anything is measured
  check_cache(options.cache);
  if (options.recorded) {
    if (options.db) require_database(*options.db);
    return answer_from_records(options, requests, command_line, options.why_recorded);
  }

  StopSignals stop;
  RemoteLab lab;
  Machine machine;
  try {
    machine = lab.machine();
  } catch (const NoDevice& reason) {
    if (options.require_gpu) throw;
    return answer_from_records(
        options, requests, command_line,
        fmt::format("No Hopper GPU here ({}): nothing is measured now.", reason.what()));
  }

  const std::string db = options.db.value_or(kDefaultDatabase);
  CompileOptions compile;
  use_cache(options.cache, compile);
  compile.jobs = options.jobs;
  Store store = Store::open(db, Store::Mode::kReadWrite);
  Lines lines;
  const auto compile_with_lines = [&lines](auto sources, const CompileOptions& how,
                                           const auto& done) {
    compile_sources(sources, how, [&](std::size_t index, Build build) {
      if (build.from_cache) lines.found_in_cache();
      done(index, std::move(build));
    });
  };
  const StudiesDone done = carry_out(
      requests, lab, store, compile, command_line, compile_with_lines,
      [&] { return stop.received().has_value(); }, &lines);

  StudyAnswer answer;
  answer.measured = true;
  if (const auto signal = stop.received()) {
    answer.stopped = true;
    answer.exit_code = 128 + *signal;
    say("stopped; {} studies of this run are in {}. The same command goes on from there.\n",
        done.measured, db);
    return answer;
  }
  std::vector<RecordedStudy> here;
  for (const std::string& kind : kinds_of(requests)) {
    for (RecordedStudy& known : store.studies(kind)) {
      if (known.environment == machine.environment) here.push_back(std::move(known));
    }
  }
  answer.studies = answers_among(here, requests, is_of_one_environment);
  say("measured {} studies; {} were already in {}\n", done.measured, done.already, db);
  print_failures(answer.studies);
  const bool failed = std::ranges::any_of(answer.studies, [](const RecordedStudy& recorded) {
    return recorded.study.status != Status::kOk;
  });
  answer.exit_code = failed ? 1 : 0;
  return answer;
}

void print_first_line(const StudyAnswer& answer, const Style& style) {
  if (answer.first_line.empty()) return;
  const bool alone = for_programs(style.format);
  if (alone) {
    say("{}\n", answer.first_line);
  } else {
    fmt::print("{}\n", joined(std::vector<Piece>{answer.first_line + "\n"}, style));
  }
}

}  // namespace hgemm::cli
