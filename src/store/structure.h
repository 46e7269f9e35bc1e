// Whether a database has the tables that a version of the program makes, and nothing else. Internal
// to store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace hgemm {

/// Before the first statement on a file that anybody may have written: SQLite runs no code that the
/// file brings (views, triggers, functions in its schema) beyond what check_structure() lets
/// through, and no value is larger than any of ours.
void distrust(SQLite::Database& db);

/// What is wrong with the tables and indices of a database of that version: "has a view x, which
/// ..."; empty if they are those that the program of that version made. Anything else may be an
/// attack: a view in place of a table, or an expression in a column or a check, can run for ever as
/// soon as the table is read or checked.
std::string wrong_structure(SQLite::Database& db, int version);

/// The hash of all tables and indices, as wrong_structure() knows them of old versions.
std::string structure_hash(SQLite::Database& db);

}  // namespace hgemm
