// Files that ship with the program: configs/ and the recorded results/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hgemm {

/// <folder of the program>/share/hgemm-tune (a build folder), else
/// <folder of the program>/../share/hgemm-tune (an installation). Throws Error if there is neither.
std::filesystem::path resource_dir();

/// The databases that ship as resource_dir()/results/<device>/<name>, sorted by path: tune.db holds
/// races, study.db studies. Others beside them are recordings that are not complete.
std::vector<std::filesystem::path> recorded_databases(const std::string& name = "tune.db");

}  // namespace hgemm
