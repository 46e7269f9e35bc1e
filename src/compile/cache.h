// Compiler output on disk, named by JobMaker::source_key() (source.h).
//
//   <dir>/<first 2 hex digits>/<key>.json    the compiler's output, and a checksum over everything
//   <dir>/<first 2 hex digits>/<key>.cubin
//
// A file appears complete under its name or not at all. An entry counts only if its checksum, which
// covers its key, is right. So any damage to the files costs a recompilation, and never gives a
// wrong kernel.
//
// Anyone can compute the checksum, so it does not tell who wrote the entry, and an entry is code
// that runs. Therefore a file is used only if the file and its folder belong to this user (or root)
// and nobody else may write to either (base/trusted_file.h). A file from another user counts as
// missing.
//
// The shared cache is for clusters: one user fills it as their --cache-dir; the others name it, and
// thereby trust its owner. This program never writes to a shared cache; entries that it lacks are
// compiled into the user's own cache. There is no cache that several users write to, because each
// of them could then run code as all the others.
//
// On NFS the cache relies on one property only: rename() within a folder replaces a file at once
// for everyone who opens it afterwards. It uses no locks and no O_TMPFILE. If a server gives files
// to another user than the one who writes them (squashed ids), entries are never used, and the
// cache behaves as one that cannot be written.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/temporary_folders.h"
#include "compile/cubin.h"
#include "compile/nvrtc.h"

namespace hgemm {

/// The text of the .json file of an entry.
std::string entry_text(std::string_view key, const CompilerOutput& output);

/// The output that the two files of an entry hold; none if they are damaged, or belong to another
/// key. Never throws because of their content.
std::optional<CompilerOutput> parse_entry(std::string_view key, std::string_view text,
                                          std::string cubin);

class Cache {
 public:
  /// `shared` may be empty. Throws InputError if it is not a folder, or if users other than its
  /// owner may write into it.
  Cache(std::filesystem::path dir, std::filesystem::path shared,
        std::shared_ptr<TemporaryFolders> overflow);

  struct Found {
    std::optional<CompilerOutput> output;  ///< none: missing, damaged, or not trusted
    Cubin cubin;
    bool damaged = false;
  };
  Found find(const std::string& key) const;

  /// Writes an entry and returns its cubin. If the cache cannot be written, the entry goes to
  /// `overflow`, with a message on stderr the first time. Throws Error if neither can be written.
  Cubin store(const std::string& key, const CompilerOutput& output) const;

 private:
  std::filesystem::path dir_;
  std::filesystem::path shared_;
  uid_t shared_owner_ = 0;
  std::shared_ptr<TemporaryFolders> overflow_;
};

}  // namespace hgemm
