#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/studies.h"
#include "emit/micro.h"
#include "study/micro_points.h"

namespace hgemm::cli {
namespace {

struct MicroOptions {
  StudyOptions study;
  std::string only;
  bool full = false;
  bool list = false;
};

int list_points(const MicroPlan& plan) {
  for (const MicroPoint& point : plan.points) fmt::print("{}\n", micro_label(point));
  for (const auto& [label, reason] : plan.left_out) {
    fmt::print(stderr, "left out: {}: {}\n", label, reason);
  }
  return 0;
}

int run_micro_command(const MicroOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  const MicroPlan plan = micro_plan(options.full, options.only);
  if (options.list) return list_points(plan);
  std::vector<StudyRequest> requests;
  for (const MicroPoint& point : plan.points) {
    requests.push_back({.kind = StudyKind::kMicro,
                        .label = micro_label(point),
                        .shape = std::nullopt,
                        .sources = {{micro_label(point), micro_source(point)}}});
  }
  const StudyAnswer answer = study(options.study, requests, command_line);
  if (answer.stopped) return answer.exit_code;
  print_first_line(answer, format);
  fmt::print("{}", format_micro(answer.studies, format));
  return answer.exit_code;
}

}  // namespace

void add_micro(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<MicroOptions>();
  CLI::App* command = program.add_subcommand("micro", help::kMicro)->footer(help::kMicroExamples);
  command->add_option("--only", options->only, help::kMicroOnly)->type_name("PATTERN[,...]");
  command->add_flag("--full", options->full, help::kMicroFull);
  CLI::Option* list = command->add_flag("--list", options->list, help::kMicroList);
  add_study_options(*command, options->study);
  list->excludes(command->get_option("--format"));
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_micro_command(*options, command_line); };
  });
}

}  // namespace hgemm::cli
