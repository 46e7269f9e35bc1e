// Shared by the study commands: their options, and the way from requests to answers, on a GPU or
// from the results shipped with the program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "program/cache.h"
#include "program/table_options.h"
#include "record/study.h"
#include "worker/lab.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

struct StudyOptions {
  std::optional<std::string> db;  ///< none: kDefaultDatabase
  CacheOptions cache;
  int jobs = 0;
  bool require_gpu = false;
  bool recorded = false;  ///< answer from shipped results even if there is a GPU
  bool list = false;      ///< print what is recorded instead
  std::string why_recorded = "Nothing is measured now, as asked for.";  ///< the first line's start
  std::string format = "table";
  TableOptions tables = {.only_tables = true};
  /// The command itself chose the configs. If a chosen config has no record, a record of another
  /// config at the same problem answers.
  bool any_config = false;
  /// From records: only the newest answer to a request for each GPU.
  bool newest = false;
};

/// Adds --db --cache-dir --shared-cache --jobs --require-gpu --recorded --format --wide --color,
/// and with `columns` also --columns and --sort.
void add_study_options(CLI::App& command, StudyOptions& options, bool columns);

/// The studies of a kind in the results that ship with the program and in --db, if it was given.
/// The oldest comes first. Throws InputError if --db does not exist.
std::vector<RecordedStudy> recorded_studies(const StudyOptions& options, const std::string& kind);

/// One study for each label, problem and GPU: the newest that ended ok, or the newest if none did.
/// Precondition: the newest studies come first.
std::vector<RecordedStudy> newest_of(const std::vector<RecordedStudy>& studies);

struct StudyAnswer {
  /// The studies that answer a request (equal kind, label and problem), in the order of the
  /// requests; for each request the newest comes first. If measured, they are from this
  /// environment, at most one per request. If recorded, there is one for each card, environment and
  /// state of the kernels, or for each GPU (`newest`). Check their status: it may be any.
  std::vector<RecordedStudy> studies;
  bool measured = false;   ///< on this GPU, now or earlier; false: from records
  bool stopped = false;    ///< by a signal, reported on stderr: print nothing, return exit_code
  std::string first_line;  ///< if recorded: the reason, the origin and what is missing
  int exit_code = 0;       ///< measured: 1 if a study is not ok; 128 + signal if stopped
};

/// Carries the requests out, or answers from records if there is no GPU (unless --require-gpu) or
/// with --recorded. Records are the results/*/study.db shipped with the program and the database of
/// --db. If that is missing, it is an InputError with --recorded; otherwise the first line says so.
/// Progress and failures go to stderr. `command_line` is recorded with new studies, and shown as
/// the command that measures what is missing.
StudyAnswer study(const StudyOptions& options, std::span<const StudyRequest> requests,
                  const std::string& command_line);

/// Prints the first line, if there is one: to stdout, or to stderr if the format is for programs.
void print_first_line(const StudyAnswer& answer, const Style& style);

}  // namespace hgemm::cli
