// Candidates whose counters can be read: configs, ladder steps and baselines, by their labels.
#pragma once

#include <string>

#include "worker/lab.h"

namespace hgemm {

/// Throws InputError with the broken rule for a config that the kernel cannot run.
void check_counted(const std::string& label);

/// Whether the candidate has the problem's type. A ladder step has one type; all others take any.
bool is_of_type(const std::string& label, const GemmProblem& problem);

/// Throws InputError if the config cannot compute the problem.
StudyRequest counters_request(const std::string& label, const GemmProblem& problem);

}  // namespace hgemm
