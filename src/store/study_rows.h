// Converts studies to rows of the database, and back. Internal to store. The caller opens the
// transaction.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "store/store.h"

namespace hgemm::sql {

struct StudyOfRun {
  std::int64_t run = 0;
  RecordedStudy recorded;
};

/// A study without its findings.
struct StudyRow {
  std::int64_t id;
  std::optional<std::uint64_t> checksum;
  StudyOfRun study;
};

/// Every study (with `label`, if given) without its findings, oldest first.
std::vector<StudyRow> read_study_rows(SQLite::Database& db, const std::string& label = {});
/// Adds the findings to `row`. Throws InputError that names the study if its checksum does not
/// match.
void read_findings(SQLite::Database& db, StudyRow& row);
bool has_spans(SQLite::Database& db, std::int64_t id);

bool knows_study(SQLite::Database& db, const std::string& uid);
void add_study(SQLite::Database& db, std::int64_t run, const RecordedStudy& recorded);

}  // namespace hgemm::sql
