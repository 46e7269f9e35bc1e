// Compiles configs to cubins: NVRTC in child processes, behind a content-addressed cache. Needs no
// GPU.
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

/// A kernel compiled by one compiler with one set of flags, or the reason why that failed.
struct Build {
  Kernel kernel;                ///< not set for a study's source
  Status status = Status::kOk;  ///< kOk or kCompileFailed
  std::string message;          ///< compiler text if failed (errors, spills, C75xx warnings)
  BuildFacts facts;
  Cubin cubin;  ///< in a cache; empty if failed
  bool from_cache = false;
};

/// Hash of kernel files without their comments; the order of files does not matter. The hash of all
/// files in kernels/, as built into this program, records which sources a run had.
std::string kernel_source_hash(std::span<const EmbeddedFile> kernel_files = embedded_kernels());

/// Version of the NVRTC that this program runs with, such as "13.0".
std::string nvrtc_version();

/// NVRTC's options for kernels that are timed.
std::vector<std::string> default_compile_flags();

/// The sources and the compiler of kernels. The defaults are those of this program; tests vary
/// them.
struct Toolchain {
  std::span<const EmbeddedFile> kernel_files = embedded_kernels();
  std::span<const EmbeddedFile> study_files = embedded_study_kernels();
  std::vector<std::string> flags = default_compile_flags();
  /// The child process, which serves compile requests on the socket whose number is its last
  /// argument.
  std::vector<std::string> worker = {kThisProgram, "compile-worker"};
};

struct CompileOptions {
  std::filesystem::path cache_dir;  ///< created if missing
  int jobs = 0;                     ///< child processes; 0: one per CPU, at most one per 1 GiB free
  std::chrono::seconds timeout{60};  ///< per kernel; a child that takes longer is killed
  Toolchain toolchain;
  int spare_jobs = 0;  ///< with `jobs` = 0, so many fewer children, to leave CPUs for other work
  std::filesystem::path shared_cache = {};  ///< read only (compile/cache.h); may be empty
  /// For cubins that the cache cannot take. They exist as long as a copy of these options does.
  std::shared_ptr<TemporaryFolders> overflow = std::make_shared<TemporaryFolders>();
};

/// How compile_all() or compile_sources() got its builds.
struct CompileCounts {
  int from_cache = 0;
  int compiled = 0;  ///< by a child, whatever the outcome
  int repaired = 0;  ///< those of `compiled` whose cache entry existed but was damaged
};

/// Default cache: $XDG_CACHE_HOME/hgemm-tune, or ~/.cache/hgemm-tune if that variable is not set.
std::filesystem::path default_cache_dir();

/// Returns BuildFacts::source_key of a kernel's build, without compiling it.
using SourceKeyOf = std::function<std::string(const Kernel&)>;
SourceKeyOf source_keys(const Toolchain& toolchain = {});

/// Compiles all kernels. `done` is called in the calling thread for each kernel as it ends, in any
/// order. A kernel whose child crashed, hung or ran out of memory was not rejected by the compiler.
/// It is compiled once more, alone, after the others, and fails only if that child is lost too;
/// this failure is not cached. Several processes may share a cache. A cache that cannot be written
/// is bypassed, with a message on stderr. Throws InputError if the shared cache cannot be trusted,
/// Error if no child starts or no cubin can be stored anywhere.
CompileCounts compile_all(std::span<const Kernel> kernels, const CompileOptions& options,
                          const std::function<void(Build)>& done);

/// The compiler as a driver uses it: source_keys() and compile_all(), or substitutes in tests.
struct Compiler {
  SourceKeyOf source_key;
  std::function<void(std::span<const Kernel>, const CompileOptions&,
                     const std::function<void(Build)>&)>
      compile_all;
};
Compiler nvrtc_compiler(const Toolchain& toolchain = {});

/// Does the same for study kernels, with the same rules for rejection; `done` gets the index of the
/// source. The `kernel` of these builds is not set, and their facts state no dynamic shared memory:
/// the study's launcher sets it.
CompileCounts compile_sources(std::span<const StudySource> sources, const CompileOptions& options,
                              const std::function<void(std::size_t, Build)>& done);

/// Entry of the hidden `compile-worker` subcommand: serves requests on a socket until it closes.
int compile_worker_main(int socket_fd);

}  // namespace hgemm
