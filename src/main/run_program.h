// The whole program, for main() and for test programs that measure with a fake GPU.
#pragma once

#include "program/backend.h"

namespace hgemm::cli {

/// Parses the command line, runs the command, and returns the exit code: 0 ok, 1 failed, 2 bad
/// usage or input. Errors are caught and reported here. Call it once, first thing in main().
int run_program(int argc, char** argv, const Backend& backend);

}  // namespace hgemm::cli
