// Prints "libraries 3", which a database read from a YAML text, and whether fmt is of headers
// alone.
#include <SQLiteCpp/SQLiteCpp.h>
#include <yaml-cpp/yaml.h>
#include <cstdio>
#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef FMT_HEADER_ONLY
#include <fmt/format.h>
#endif
#if !__has_include(<CLI/CLI.hpp>) || !__has_include(<nlohmann/json.hpp>)
#error "no headers of CLI11 or nlohmann_json"
#endif

int main() {
  const int value = YAML::Load("{value: 3}")["value"].as<int>();
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Statement query(database, "SELECT ?");
  query.bind(1, value);
  query.executeStep();
  std::printf("libraries %d%s\n", query.getColumn(0).getInt(),
              XXH3_64bits("", 0) == 0 ? " no hash" : "");
#ifdef FMT_HEADER_ONLY
  std::puts(fmt::format("fmt is header-{}", "only").c_str());
#endif
}
