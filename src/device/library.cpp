#include "device/library.h"

#include <string>

#include "device/cuda.h"

namespace hgemm {

cudaLibrary_t load_library(const Cubin& cubin) {
  // The driver copies the bytes (with cudaLibraryBinaryIsPreserved it would not).
  const std::string bytes = read_cubin(cubin);
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a cubin");
  return library;
}

}  // namespace hgemm
