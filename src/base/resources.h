// Files that ship with the program: configs/ and the recorded results/.
#pragma once

#include <filesystem>
#include <vector>

namespace hgemm {

/// <folder of the program>/share/hgemm-tune (a build folder), else
/// <folder of the program>/../share/hgemm-tune (an installation). Throws Error if there is neither.
std::filesystem::path resource_dir();

/// The databases that ship as resource_dir()/results/<device>/tune.db, sorted by path. Others
/// beside them are recordings that are not complete.
std::vector<std::filesystem::path> recorded_databases();

}  // namespace hgemm
