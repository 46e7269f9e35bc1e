// What the study commands share: their options, and the way from requests to answers, on a GPU or
// out of the results that ship with the program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "program/cache.h"
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
  bool recorded = false;  ///< the shipped results, GPU or not
  std::string why_recorded = "Nothing is measured now, as asked for.";  ///< the first line's start
  std::string format = "table";
  /// The command chose the configs itself: from records, one that was recorded at a problem answers
  /// where the chosen one was not.
  bool any_config = false;
  /// From records, of a request only the newest answer of each GPU.
  bool newest = false;
};

/// --db --cache-dir --shared-cache --jobs --require-gpu --recorded --format.
void add_study_options(CLI::App& command, StudyOptions& options);

struct StudyAnswer {
  /// Only those that answer a request (kind, label and problem): in the order of the
  /// requests, and for each of them the newest first. Measured: those of this environment, so at
  /// most one a request. Recorded: one for each card, environment and state of the kernels, or each
  /// GPU (`newest`). With any
  /// status: look at it.
  std::vector<RecordedStudy> studies;
  bool measured = false;   ///< here, now or before; else from records
  bool stopped = false;    ///< by a signal, which stderr says: print nothing, return exit_code
  std::string first_line;  ///< from records: why, where they are from and what is missing
  int exit_code = 0;       ///< measured: 1 if a study is not ok; 128 + signal if stopped
};

/// Carries the requests out, or answers from records where there is no GPU (unless --require-gpu)
/// or --recorded. Records are the results/*/study.db that ship with the program, and --db where it
/// was given; one that is not there is an InputError with --recorded, else the first line says so.
/// Progress and failures go to stderr. `command_line` is kept with what is
/// measured, and says how to measure what is missing.
StudyAnswer study(const StudyOptions& options, std::span<const StudyRequest> requests,
                  const std::string& command_line);

/// The first line, if there is one: on stdout, or on stderr where a program reads the format.
void print_first_line(const StudyAnswer& answer, Format format);

}  // namespace hgemm::cli
