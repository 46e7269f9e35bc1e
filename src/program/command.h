// What all commands share.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// What runs the command that was asked for, and returns its exit code. Parsing the command line
/// sets it.
using Command = std::function<int()>;

/// After a parse that met arguments it did not know: names the first, and the nearest known one.
std::string explain_unknown(const CLI::App& program);

inline constexpr const char* kDefaultDatabase = "hgemm-tune.db";
inline constexpr const char* kDefaultSpace = "full";

}  // namespace hgemm::cli
