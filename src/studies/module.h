// A kind of study: everything that the program needs to know about it, behind one interface.
// studies/registry.cpp lists the kinds; each has a folder.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/emit.h"
#include "output/report_parts.h"
#include "studies/answer.h"
#include "worker/bench.h"

namespace CLI {
class App;
}

namespace hgemm {

/// One object serves one invocation of the program: the options of its command are its members.
/// run() and sections() do not depend on them.
class StudyModule {
 public:
  virtual ~StudyModule() = default;

  /// The name of the command, of its help text (program/help/<name>.txt), and of the kind under
  /// which its studies are recorded.
  virtual std::string_view name() const = 0;

  // ---- Its command ----

  virtual void add_options(CLI::App& command) = 0;
  /// The requests that the options ask for. May change `common`. Throws InputError.
  virtual std::vector<StudyRequest> plan(cli::StudyOptions& common) = 0;
  /// Carries the requests out, or answers them from records.
  virtual cli::StudyAnswer answer(const cli::StudyOptions& common,
                                  std::span<const StudyRequest> requests,
                                  const std::string& command_line) {
    return cli::study(common, requests, command_line);
  }
  /// The answer as text for people or programs.
  /// Called after the answer was printed, for further output.
  virtual bool has_fixed_columns() const { return true; }
  virtual std::string table(const cli::StudyAnswer& answer, const Style& style) const = 0;
  virtual void finish(const cli::StudyAnswer&) const {}
  /// Runs the whole command: all of the above, one after the other. Returns the exit code.
  virtual int execute(const cli::StudyOptions& common, const std::string& command_line);

  // ---- In the worker ----

  /// Has the contract of RunStudy (worker/bench.h).
  virtual Study run(const StudyRequest& request, const Cubins& cubins,
                    const Bench& bench) const = 0;

  // ---- In a report ----

  /// Sections of a report that show recorded studies, by name (output/report.h).
  virtual std::vector<report::Section> sections(const report::Known&) const { return {}; }
};

/// The cubin of a request with at most one source; empty if it has none.
inline Cubin only_cubin(const Cubins& cubins) {
  return cubins.empty() ? Cubin() : cubins.begin()->second;
}

}  // namespace hgemm
