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

/// Paths of the shipped databases resource_dir()/results/<device>/<name>, sorted.
std::vector<std::filesystem::path> recorded_databases(const std::string& name);

/// The shipped databases whose races answer questions: tune.db of each device, of 16-bit operands,
/// and of 8-bit ones referee-fp8.db and fp8-layers.db. (study.db holds studies, truth.db races of
/// whole spaces.)
std::vector<std::filesystem::path> answering_databases();

}  // namespace hgemm
