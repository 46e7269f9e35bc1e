// Files that ship with the program: configs/ and the recorded results/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hgemm {

/// The folder of shipped files: <folder of the program>/share/hgemm-tune (in a build folder) or, if
/// there is none, <folder of the program>/../share/hgemm-tune (in an installation). Throws Error if
/// neither exists.
std::filesystem::path resource_dir();

/// Paths of the shipped databases resource_dir()/results/<device>/<name>, sorted. tune.db holds
/// races, study.db holds studies. Databases with other names beside them are incomplete recordings.
std::vector<std::filesystem::path> recorded_databases(const std::string& name = "tune.db");

}  // namespace hgemm
