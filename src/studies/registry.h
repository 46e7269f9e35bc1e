// The list of all kinds of studies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/command.h"
#include "studies/module.h"

namespace hgemm {

/// One module for each kind, in the order in which --help lists their commands.
std::vector<std::unique_ptr<StudyModule>> study_modules();

/// Carries out a request of any kind. Throws std::invalid_argument for an unknown kind.
Study run_any_study(const StudyRequest& request, const Cubins& cubins, const Bench& bench);

/// The sections of a report that come from studies, by name.
std::vector<report::Section> study_sections(const report::Known& known);

/// Adds a command for each kind.
void add_studies(CLI::App& program, cli::Command& chosen, const std::string& command_line);

}  // namespace hgemm
