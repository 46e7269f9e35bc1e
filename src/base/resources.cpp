#include "base/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace hgemm {
namespace fs = std::filesystem;

fs::path resource_dir() {
  const fs::path program_dir = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {program_dir / "share", program_dir.parent_path() / "share"}) {
    const fs::path dir = candidate / "hgemm-tune";
    if (fs::is_directory(dir / "configs")) return dir;
  }
  throw Error(
      fmt::format("the program's configs are neither in {0}/share/hgemm-tune nor in "
                  "{0}/../share/hgemm-tune; build the target `share`, or install the program with "
                  "`cmake --install`",
                  program_dir.string()));
}

std::vector<fs::path> recorded_databases(const std::string& name) {
  std::vector<fs::path> databases;
  const fs::path results = resource_dir() / "results";
  if (!fs::is_directory(results)) return databases;
  for (const auto& device : fs::directory_iterator(results)) {
    const fs::path database = device.path() / name;
    if (fs::is_regular_file(database)) databases.push_back(database);
  }
  std::sort(databases.begin(), databases.end());
  return databases;
}

std::vector<fs::path> answering_databases() {
  std::vector<fs::path> databases;
  for (const char* name : {"tune.db", "referee-fp8.db", "fp8-layers.db"}) {
    std::ranges::move(recorded_databases(name), std::back_inserter(databases));
  }
  return databases;
}

}  // namespace hgemm
