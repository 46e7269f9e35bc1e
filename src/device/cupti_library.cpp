#include "device/cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

namespace hgemm {
namespace {

/// Paths to try. The loader's own search comes first: LD_LIBRARY_PATH, the program's run path, the
/// system.
std::vector<std::string> library_paths() {
  std::vector<std::string> paths = {kCuptiLibrary};
  const char* const cuda_home = std::getenv("CUDA_HOME");
  for (const std::string& root :
       {std::string(cuda_home != nullptr ? cuda_home : ""), std::string("/usr/local/cuda"),
        std::string("/usr/local/cuda-13"), std::string("/usr/local/cuda-13.0")}) {
    if (root.empty()) continue;
    for (const char* folder : {"extras/CUPTI/lib64", "lib64", "lib"}) {
      paths.push_back(fmt::format("{}/{}/{}", root, folder, kCuptiLibrary));
    }
  }
  return paths;
}

}  // namespace

void* load_cupti(std::string& why) {
  why.clear();
  for (const std::string& path : library_paths()) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != nullptr) return library;
    if (why.empty()) why = dlerror();
  }
  return nullptr;
}

bool find_function(void* library, const char* name, void** function) {
  *function = dlsym(library, name);
  return *function != nullptr;
}

}  // namespace hgemm
