#include "studies/module.h"

#include <fmt/format.h>

namespace hgemm {

int StudyModule::execute(const cli::StudyOptions& given, const std::string& command_line) {
  const Format format = parse_format(given.format);  // throws before anything is measured
  cli::StudyOptions common = given;
  const std::vector<StudyRequest> requests = plan(common);
  const cli::StudyAnswer found = answer(common, requests, command_line);
  if (found.stopped) return found.exit_code;
  cli::print_first_line(found, format);
  fmt::print("{}", table(found, format));
  finish(found);
  return found.exit_code;
}

}  // namespace hgemm
