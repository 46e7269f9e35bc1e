#include "studies/carry_out.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "device/measurer.h"
#include "tune/stop.h"

namespace hgemm {
namespace {

constexpr int kMaxLossesInARow = 4;

/// Asks a new worker for its machine. It tries twice, because the study before may have left one
/// loss behind.
Machine answering(Lab& lab) {
  try {
    return lab.machine();
  } catch (const MeasurerLost&) {
  }
  try {
    return lab.machine();
  } catch (const MeasurerLost& lost) {
    throw Error(
        fmt::format("the worker process was lost twice before it did anything, the second time so: "
                    "{}; `hgemm-tune doctor` says whether the GPU answers",
                    lost.what()));
  }
}

class Studies {
 public:
  Studies(Lab& lab, Store& store, const std::string& command_line,
          const std::function<bool()>& stop, StudyListener& listener)
      : store_(store), lab_(lab), command_line_(command_line), stop_(stop), listener_(listener) {}

  void run(std::span<const StudyRequest> requests, const CompileOptions& options,
           const CompileSources& compile_sources) {
    machine_ = answering(lab_);
    const auto builds = compile(requests, options, compile_sources);
    const int total = static_cast<int>(requests.size());
    for (int ended = 0; const StudyRequest& request : requests) {
      poll_stop(stop_);
      carry_out(request, builds, ended++, total);
    }
  }

  StudiesDone done;

 private:
  using Builds = std::map<std::string, Build>;  ///< by source

  /// Compiles the sources of all requests, each once. All are compiled before the first study, so
  /// that only the GPU works during timing.
  Builds compile(std::span<const StudyRequest> requests, const CompileOptions& options,
                 const CompileSources& compile_sources) {
    Builds builds;
    std::vector<StudySource> sources;
    for (const StudyRequest& request : requests) {
      for (const StudySource& source : request.sources) {
        if (builds.try_emplace(source.text).second) sources.push_back(source);
      }
    }
    if (sources.empty()) return builds;
    int ended = 0, failed = 0;
    compile_sources(sources, options, [&](std::size_t index, Build build) {
      if (build.status != Status::kOk) ++failed;
      builds.at(sources.at(index).text) = std::move(build);
      listener_.compiling(++ended, static_cast<int>(sources.size()), failed);
      poll_stop(stop_);
    });
    return builds;
  }

  /// Sets what ran in a study: the hash of its cubin, or of all its cubins in order; or why there
  /// is none.
  static void describe_builds(Study& study, const StudyRequest& request, const Builds& builds) {
    const bool alone = request.sources.size() == 1;
    std::string hashes;
    for (const StudySource& source : request.sources) {
      const Build& build = builds.at(source.text);
      hashes += build.facts.kernel_id;
      if (build.status == Status::kOk) continue;
      study.status = build.status;
      study.message = alone ? build.message : fmt::format("{}: {}", source.label, build.message);
      study.kernel_id = alone ? hashes : "";
      return;
    }
    study.kernel_id = alone || hashes.empty() ? hashes : content_hash(hashes);
  }

  void carry_out(const StudyRequest& request, const Builds& builds, int ended, int total) {
    Study study;
    study.kind = request.kind;
    study.label = request.label;
    study.problem = request.problem;
    study.parts = request.parts;
    describe_builds(study, request, builds);
    if (store_.has_study(machine_.environment, study, request.timeline)) {
      ++done.already;
      return;
    }
    if (study.status != Status::kOk) return record(study);

    listener_.studying(ended, total, request.label);
    try {
      Cubins cubins;
      for (const StudySource& source : request.sources) {
        cubins[source.label] = builds.at(source.text).cubin;
      }
      Study found = lab_.run(request, cubins);
      // These are set here, because a resumed run looks for exactly them.
      found.kind = study.kind;
      found.label = study.label;
      found.problem = study.problem;
      found.parts = study.parts;
      found.kernel_id = study.kernel_id;
      losses_in_a_row_ = 0;
      record(found);
    } catch (const MeasurerLost& lost) {
      study.status = lost.status;
      study.message = lost.what();
      record(study);
      if (++losses_in_a_row_ == kMaxLossesInARow) {
        throw Error(fmt::format(
            "{} studies in a row took the worker process down, the last one, {}, so: {}; check the "
            "GPU with `hgemm-tune doctor`; the same command goes on after them",
            kMaxLossesInARow, study.label, study.message));
      }
      answering(lab_);
    }
  }

  void record(const Study& study) {
    if (!run_) run_ = store_.begin_run(machine_, command_line_);
    store_.record_study(*run_, study);
    ++done.measured;
    if (study.status != Status::kOk) ++done.failed;
    listener_.finished(study);
  }

  Store& store_;
  Lab& lab_;
  const std::string& command_line_;
  const std::function<bool()>& stop_;
  StudyListener& listener_;
  Machine machine_;
  // Begun by the first study, so that a run without new studies leaves no row.
  std::optional<std::int64_t> run_;
  int losses_in_a_row_ = 0;
};

}  // namespace

StudiesDone carry_out(std::span<const StudyRequest> requests, Lab& lab, Store& store,
                      const CompileOptions& compile, const std::string& command_line,
                      const CompileSources& compile_sources, const std::function<bool()>& stop,
                      StudyListener* listener) {
  StudyListener quiet;
  Studies studies(lab, store, command_line, stop, listener != nullptr ? *listener : quiet);
  try {
    studies.run(requests, compile, compile_sources);
  } catch (const Stopped&) {
    studies.done.stopped = true;
  }
  return studies.done;
}

}  // namespace hgemm
