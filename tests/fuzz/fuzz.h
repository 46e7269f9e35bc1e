// What the fuzz targets share. A target is one LLVMFuzzerTestOneInput(): libFuzzer calls it with
// inputs that it makes up (scripts/fuzz.sh), and corpus_main.cpp with the files of corpus/ (ctest).
//
// A parser makes a value or an Error of any bytes. Another exception ends the process, as do a
// broken promise (require), a sanitizer's finding, and libFuzzer's limits on time and memory.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hgemm::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Whether `read` made something of its input. An Error must say what is wrong.
template <class Read>
bool accepts(Read&& read) {
  try {
    std::forward<Read>(read)();
    return true;
  } catch (const Error& error) {
    require(*error.what() != '\0', "an error says what is wrong");
    return false;
  }
}

/// A folder of this process below $TMPDIR, which is removed in the end.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("hgemm_fuzz_" + name + "." + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::filesystem::path& folder() const { return folder_; }

  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    require(!file.fail(), "the scratch folder can be written");
    return path;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace hgemm::fuzz
