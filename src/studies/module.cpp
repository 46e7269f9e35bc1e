#include "studies/module.h"

#include <fmt/format.h>

namespace hgemm {

int StudyModule::execute(const cli::StudyOptions& given, const std::string& command_line) {
  // Refused before anything is measured.
  const Style style = cli::style_of(given.tables, parse_format(given.format));
  cli::StudyOptions common = given;
  const std::vector<StudyRequest> requests = plan(common);
  const cli::StudyAnswer found = answer(common, requests, command_line);
  if (found.stopped) return found.exit_code;
  cli::print_first_line(found, style);
  fmt::print("{}", table(found, style));
  finish(found);
  return found.exit_code;
}

}  // namespace hgemm
