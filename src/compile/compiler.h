// Configs to cubins: NVRTC in child processes, behind a content-addressed cache. Needs no GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/embedded.h"
#include "kernels/config.h"
#include "study/source.h"
#include "trial/trial.h"

namespace hgemm {

/// A config compiled by one compiler with one set of flags, or why it could not be.
struct Build {
  KernelConfig config;
  Status status = Status::kOk;  ///< kOk or kCompileFailed
  std::string message;          ///< compiler text if failed (errors, spills, C75xx warnings)
  BuildFacts facts;
  std::filesystem::path cubin;  ///< in the cache; empty if failed
  bool from_cache = false;
};

/// Hash of kernel files, in any order. That of every file in kernels/ as built into this program
/// names the kernel in environments, and in builds.
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
  std::filesystem::path cache_dir;  ///< created if missing; InputError if it cannot be written
  int jobs = 0;                     ///< child processes; 0: one per CPU, at most one per 1 GiB free
  std::chrono::seconds timeout{60};  ///< per kernel; then its process counts as lost
  Toolchain toolchain;
  int spare_jobs = 0;  ///< so many fewer where jobs is 0, for what else is done meanwhile
};

/// How the builds of one compile_all() or compile_sources() came about.
struct CompileCounts {
  int from_cache = 0;
  int compiled = 0;  ///< by a child, with any outcome
  int repaired = 0;  ///< of them, those whose cache entry was there but damaged
};

/// Default cache: $XDG_CACHE_HOME/hgemm-tune, else ~/.cache/hgemm-tune.
std::filesystem::path default_cache_dir();

/// Compiles all configs; `done` is called in the calling thread as each ends, in any order. A
/// config whose child crashed, hung or ran out of memory was not rejected by the compiler: it is
/// compiled again after the others, alone, and has failed only if that is lost too; this outcome is
/// not cached. Several processes may share a cache. Throws InputError if the cache cannot be used,
/// Error if no child starts.
CompileCounts compile_all(std::span<const KernelConfig> configs, const CompileOptions& options,
                          const std::function<void(Build)>& done);

/// The same for study kernels, judged as strictly; `done` gets the index of the source. A build's
/// `config` is not set, and its facts name no dynamic shared memory: its launcher knows.
CompileCounts compile_sources(std::span<const StudySource> sources, const CompileOptions& options,
                              const std::function<void(std::size_t, Build)>& done);

/// Entry of the hidden `compile-worker` subcommand: serves requests on a socket until it closes.
int compile_worker_main(int socket_fd);

}  // namespace hgemm
