// Compiler output on disk, named by JobMaker::source_key() (source.h).
//
//   <dir>/<first 2 hex digits>/<key>.json    what the compiler said, and a checksum over everything
//   <dir>/<first 2 hex digits>/<key>.cubin
//
// A file appears complete under its name or not at all. An entry counts only if its checksum
// holds, so whatever else happens to the files costs a recompilation, never a wrong kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compile/nvrtc.h"

namespace hgemm {

class Cache {
 public:
  /// Creates the folder. Throws InputError if it cannot be made or written.
  explicit Cache(std::filesystem::path dir);

  struct Found {
    std::optional<CompilerOutput> output;  ///< none: missing or damaged
    bool damaged = false;
  };
  Found find(const std::string& key) const;

  /// Throws Error if it cannot be written (disk full).
  void store(const std::string& key, const CompilerOutput& output) const;

  std::filesystem::path cubin_path(const std::string& key) const;

 private:
  std::filesystem::path entry_path(const std::string& key, const char* extension) const;

  std::filesystem::path dir_;
};

}  // namespace hgemm
