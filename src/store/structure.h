// Checks that a database has exactly the tables that a version of the program makes. Internal to
// store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace hgemm {

/// Call it before the first statement on a file from an unknown source. SQLite then runs no code of
/// the file (views, triggers, functions in its schema) beyond what wrong_structure() lets through,
/// and accepts no value larger than those of this program.
void distrust(SQLite::Database& db);

/// What is wrong with the tables and indices of a database of that version ("has a view x, which
/// ..."); empty if they are exactly those of that version of the program. Anything else may be an
/// attack: a view in place of a table, or an expression in a column or a check, can run forever as
/// soon as the table is read or checked.
std::string wrong_structure(SQLite::Database& db, int version);

/// Hash of all tables and indices; wrong_structure() compares it for old versions.
std::string structure_hash(SQLite::Database& db);

}  // namespace hgemm
