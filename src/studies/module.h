// A kind of study: all that the program has to do with it, behind one interface. The kinds there
// are stand in studies/registry.cpp; each has a folder.
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

/// One object serves one invocation of the program: its command's options are its members. run()
/// and sections() depend on none of them.
class StudyModule {
 public:
  virtual ~StudyModule() = default;

  /// Of the command, of its help text (program/help/<name>.txt), and of the kind under which its
  /// studies are recorded.
  virtual std::string_view name() const = 0;

  // ---- Its command ----

  virtual void add_options(CLI::App& command) = 0;
  /// What the options ask for. `common` may be changed by it. Throws InputError.
  virtual std::vector<StudyRequest> plan(cli::StudyOptions& common) = 0;
  /// Carries the requests out, or answers from records.
  virtual cli::StudyAnswer answer(const cli::StudyOptions& common,
                                  std::span<const StudyRequest> requests,
                                  const std::string& command_line) {
    return cli::study(common, requests, command_line);
  }
  /// The answer for people or programs.
  virtual std::string table(const cli::StudyAnswer& answer, Format format) const = 0;
  /// What is left to do once it is printed.
  virtual void finish(const cli::StudyAnswer&) const {}
  /// The whole command: all of the above, one after the other. Returns the exit code.
  virtual int execute(const cli::StudyOptions& common, const std::string& command_line);

  // ---- In the worker ----

  /// As RunStudy.
  virtual Study run(const StudyRequest& request, const Cubins& cubins,
                    const Bench& bench) const = 0;

  // ---- In a report ----

  /// What the report draws of recorded studies: sections by name (output/report.h).
  virtual std::vector<report::Section> sections(const report::Known&) const { return {}; }
};

/// The cubin of a request that has one source, or none.
inline Cubin only_cubin(const Cubins& cubins) {
  return cubins.empty() ? Cubin() : cubins.begin()->second;
}

}  // namespace hgemm
