// Compiler output on disk, named by JobMaker::source_key() (source.h).
//
//   <dir>/<first 2 hex digits>/<key>.json    what the compiler said, and a checksum over everything
//   <dir>/<first 2 hex digits>/<key>.cubin
//
// A file appears complete under its name or not at all. An entry counts only if its checksum, which
// covers its key, holds, so whatever else happens to the files costs a recompilation, never a wrong
// kernel.
//
// A checksum anyone can compute: it says nothing about who wrote the entry, and an entry is code
// that runs. So a file is taken only if it belongs to this user (or root), as does the folder that
// it is in, and if nobody else may write either (base/trusted_file.h). What another user has put
// there counts as missing.
//
// The shared cache is for clusters: someone fills it as their --cache-dir, everybody else names it
// and thereby trusts its owner. It is never written here; what it lacks is compiled into the user's
// own. There is none that several people write: each of them could run code as all the others.
//
// On NFS: rename() within a folder replaces a file at once for everyone who opens it afterwards,
// and nothing else is relied on. No locks, no O_TMPFILE. A server that gives files to another user
// than the one who writes them (squashed ids) makes a cache that is never taken from; it is then
// as if it could not be written.
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

/// The text of an entry's .json.
std::string entry_text(std::string_view key, const CompilerOutput& output);

/// What the two files of an entry say; none if they are damaged, or of another key. Never throws
/// for what they hold.
std::optional<CompilerOutput> parse_entry(std::string_view key, std::string_view text,
                                          std::string cubin);

class Cache {
 public:
  /// Throws InputError if `shared`, unless empty, is no folder or others than its owner may write
  /// into it.
  Cache(std::filesystem::path dir, std::filesystem::path shared,
        std::shared_ptr<TemporaryFolders> overflow);

  struct Found {
    std::optional<CompilerOutput> output;  ///< none: missing, damaged, or not to be trusted
    Cubin cubin;
    bool damaged = false;
  };
  Found find(const std::string& key) const;

  /// In the overflow if the cache cannot be written: that is said at the first time. Throws Error
  /// if nothing can be.
  Cubin store(const std::string& key, const CompilerOutput& output) const;

 private:
  std::filesystem::path dir_;
  std::filesystem::path shared_;
  uid_t shared_owner_ = 0;
  std::shared_ptr<TemporaryFolders> overflow_;
};

}  // namespace hgemm
