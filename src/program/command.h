// Declarations that all commands share.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// Runs the chosen command and returns its exit code. Parsing the command line sets it.
using Command = std::function<int()>;

/// The message for a parse that found unknown arguments: names the first one and the known argument
/// nearest to it.
std::string explain_unknown(const CLI::App& program);

inline constexpr const char* kDefaultDatabase = "hgemm-tune.db";
/// The name of the space that no file lists (search/proposer.h).
inline constexpr const char* kWholeSpace = "whole";
inline constexpr const char* kDefaultSpace = kWholeSpace;

}  // namespace hgemm::cli
