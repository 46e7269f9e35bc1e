// Configs to cubins: NVRTC in child processes, behind a content-addressed cache. Needs no GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/embedded.h"
#include "base/temporary_folders.h"
#include "compile/cubin.h"
#include "compile/study_source.h"
#include "families/family.h"
#include "record/trial.h"

namespace hgemm {

/// A kernel compiled by one compiler with one set of flags, or why it could not be.
struct Build {
  Kernel kernel;                ///< not set for a study's source
  Status status = Status::kOk;  ///< kOk or kCompileFailed
  std::string message;          ///< compiler text if failed (errors, spills, C75xx warnings)
  BuildFacts facts;
  Cubin cubin;  ///< in a cache; none if failed
  bool from_cache = false;
};

/// Hash of kernel files without their comments, in any order. That of every file in kernels/ as
/// built into this program says in a run which sources it had.
std::string kernel_source_hash(std::span<const EmbeddedFile> kernel_files = embedded_kernels());

/// "13.0": the NVRTC this program runs with.
std::string nvrtc_version();

/// NVRTC's options for the kernels that are timed.
std::vector<std::string> default_compile_flags();

/// What kernels are made from and by. The defaults are what the program ships; tests vary them.
struct Toolchain {
  std::span<const EmbeddedFile> kernel_files = embedded_kernels();
  std::span<const EmbeddedFile> study_files = embedded_study_kernels();
  std::vector<std::string> flags = default_compile_flags();
  /// The child process: serves compile requests on the socket that its last argument numbers.
  std::vector<std::string> worker = {kThisProgram, "compile-worker"};
};

struct CompileOptions {
  std::filesystem::path cache_dir;  ///< created if missing
  int jobs = 0;                     ///< child processes; 0: one per CPU, at most one per 1 GiB free
  std::chrono::seconds timeout{60};  ///< per kernel; then its process counts as lost
  Toolchain toolchain;
  int spare_jobs = 0;  ///< so many fewer where jobs is 0, for what else is done meanwhile
  std::filesystem::path shared_cache = {};  ///< read only (compile/cache.h); empty: none
  /// Where cubins go that the cache cannot take: there as long as a copy of these options is.
  std::shared_ptr<TemporaryFolders> overflow = std::make_shared<TemporaryFolders>();
};

/// How the builds of one compile_all() or compile_sources() came about.
struct CompileCounts {
  int from_cache = 0;
  int compiled = 0;  ///< by a child, with any outcome
  int repaired = 0;  ///< of them, those whose cache entry was there but damaged
};

/// Default cache: $XDG_CACHE_HOME/hgemm-tune, else ~/.cache/hgemm-tune.
std::filesystem::path default_cache_dir();

/// Gives BuildFacts::source_key of a kernel's build, without compiling it.
using SourceKeyOf = std::function<std::string(const Kernel&)>;
SourceKeyOf source_keys(const Toolchain& toolchain = {});

/// Compiles all kernels; `done` is called in the calling thread as each ends, in any order. A
/// kernel whose child crashed, hung or ran out of memory was not rejected by the compiler: it is
/// compiled again after the others, alone, and has failed only if that is lost too; this outcome is
/// not cached. Several processes may share a cache. One that cannot be written, or no longer, is
/// done without, and that is said on stderr. Throws InputError if the shared cache cannot be
/// trusted, Error if no child starts or there is no room for a cubin anywhere.
CompileCounts compile_all(std::span<const Kernel> kernels, const CompileOptions& options,
                          const std::function<void(Build)>& done);

/// What a driver needs of the compiler: source_keys() and compile_all(), but in tests.
struct Compiler {
  SourceKeyOf source_key;
  std::function<void(std::span<const Kernel>, const CompileOptions&,
                     const std::function<void(Build)>&)>
      compile_all;
};
Compiler nvrtc_compiler(const Toolchain& toolchain = {});

/// As compile_all(), for study kernels, judged as strictly; `done` gets the index of the source. A
/// build's `kernel` is not set, and its facts name no dynamic shared memory: its launcher knows.
CompileCounts compile_sources(std::span<const StudySource> sources, const CompileOptions& options,
                              const std::function<void(std::size_t, Build)>& done);

/// Entry of the hidden `compile-worker` subcommand: serves requests on a socket until it closes.
int compile_worker_main(int socket_fd);

}  // namespace hgemm
