#include "studies/registry.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "program/help.h"
#include "studies/accuracy/module.h"
#include "studies/chain/module.h"
#include "studies/counters/module.h"
#include "studies/ladder/module.h"
#include "studies/listing.h"
#include "studies/micro/module.h"
#include "studies/probe/module.h"
#include "studies/quantise/module.h"

namespace hgemm {

std::vector<std::unique_ptr<StudyModule>> study_modules() {
  std::vector<std::unique_ptr<StudyModule>> modules;
  modules.push_back(micro_module());
  modules.push_back(probe_module());
  modules.push_back(counters_module());
  modules.push_back(ladder_module());
  modules.push_back(chain_module());
  modules.push_back(accuracy_module());
  modules.push_back(quantise_module());
  return modules;
}

Study run_any_study(const StudyRequest& request, const Cubins& cubins, const Bench& bench) {
  for (const auto& module : study_modules()) {
    if (module->name() == request.kind) return module->run(request, cubins, bench);
  }
  throw std::invalid_argument(fmt::format("there is no study \"{}\"", request.kind));
}

std::vector<report::Section> study_sections(const report::Known& known) {
  std::vector<report::Section> sections;
  for (const auto& module : study_modules()) {
    std::ranges::move(module->sections(known), std::back_inserter(sections));
  }
  return sections;
}

void add_studies(CLI::App& program, cli::Command& chosen, const std::string& command_line) {
  auto modules = study_modules();
  for (auto& owned : modules) {
    const std::shared_ptr<StudyModule> module = std::move(owned);
    CLI::App* command = cli::add_command(program, std::string(module->name()));
    const auto common = std::make_shared<cli::StudyOptions>();
    module->add_options(*command);
    cli::add_study_options(*command, *common, module->has_fixed_columns());
    if (command->get_option_no_throw("--list") == nullptr) {  // micro has one of its own
      command->add_flag("--list", common->list, cli::help_text("study", "--list"));
    }
    command->callback([&chosen, module, common, command_line] {
      chosen = [module, common, command_line] {
        if (!common->list) return module->execute(*common, command_line);
        list_recorded(*common, std::string(module->name()));
        return 0;
      };
    });
  }
}

}  // namespace hgemm
