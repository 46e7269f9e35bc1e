#include "compile/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "compile/cache.h"
#include "compile/judge.h"
#include "compile/pool.h"
#include "compile/source.h"
#include "space/label.h"

namespace hgemm {
namespace {

/// MemAvailable of /proc/meminfo in GiB; 0 if it cannot be read.
int available_memory_gib() {
  std::ifstream file("/proc/meminfo");
  std::string field, unit;
  for (long long kib = 0; file >> field >> kib; std::getline(file, unit)) {
    if (field == "MemAvailable:") return static_cast<int>(kib >> 20);
  }
  return 0;
}

int default_jobs() {
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(cpus, available_memory_gib()));
}

/// All that is known of any build before it is compiled.
Build blank_build(std::string label, const Toolchain& toolchain, const std::string& kernel_hash) {
  Build build;
  build.facts.label = std::move(label);
  build.facts.kernel_hash = kernel_hash;
  build.facts.compiler = "nvrtc " + nvrtc_version();
  build.facts.flags = fmt::format("{}", fmt::join(toolchain.flags, " "));
  return build;
}

void fail(Build& build, std::string message) {
  build.status = Status::kCompileFailed;
  build.message = std::move(message);
}

/// What the compiler's output makes of a build.
void finish(Build& build, const CompilerOutput& output, const std::filesystem::path& cubin) {
  Judgement judgement = judge(output.succeeded, output.log);
  build.facts.registers = judgement.registers;
  build.facts.spill_bytes = judgement.spill_bytes;
  build.facts.static_smem_bytes = judgement.static_smem_bytes;
  build.facts.compile_ms = output.cpu_ms;
  if (!judgement.objection.empty()) return fail(build, std::move(judgement.objection));
  build.facts.cubin_hash = content_hash(output.cubin);
  build.cubin = cubin;
}

struct Missing {
  std::size_t index;
  Build build;
  std::string key;
};

/// Compiles `count` jobs: those that are not in the cache in child processes. `blank` and `job_of`
/// describe the build of an index; jobs are made when they are needed, since each holds all
/// headers.
CompileCounts compile_jobs(std::size_t count, const CompileOptions& options,
                           const std::function<Build(std::size_t)>& blank,
                           const std::function<CompileJob(std::size_t)>& job_of,
                           const std::function<void(std::size_t, Build)>& done) {
  const Cache cache(options.cache_dir);
  CompileCounts counts;
  std::vector<Missing> missing;
  for (std::size_t index = 0; index < count; ++index) {
    Build build = blank(index);
    const std::string key = cache_key(job_of(index));
    const Cache::Found found = cache.find(key);
    if (found.output) {
      finish(build, *found.output, cache.cubin_path(key));
      build.from_cache = true;
      ++counts.from_cache;
      done(index, std::move(build));
    } else {
      if (found.damaged) ++counts.repaired;
      missing.push_back({index, std::move(build), key});
    }
  }

  const int jobs =
      options.jobs > 0 ? options.jobs : std::max(1, default_jobs() - options.spare_jobs);
  PoolOptions pool{options.toolchain.worker, jobs, options.timeout};
  // Reports each of `batch` that the compiler gave an answer for; returns the others, with what
  // became of their processes as their message.
  const auto compile = [&](std::vector<Missing> batch) {
    std::vector<Missing> lost;
    run_in_children(
        batch.size(), pool, [&](std::size_t i) { return job_of(batch[i].index); },
        [&](std::size_t i, Answer answer) {
          auto& [index, build, key] = batch[i];
          if (answer.failure.empty() && answer.message.contains("error")) {
            answer.failure = answer.message.at("error");
          }
          if (!answer.failure.empty()) {
            build.message = std::move(answer.failure);
            lost.push_back(std::move(batch[i]));
            return;
          }
          const auto output = answer.message.get<CompilerOutput>();
          cache.store(key, output);
          finish(build, output, cache.cubin_path(key));
          done(index, std::move(build));
        });
    return lost;
  };

  counts.compiled = static_cast<int>(missing.size());
  std::vector<Missing> lost = compile(std::move(missing));
  for (Missing& item : lost) item.build.message.clear();
  pool.children = 1;
  for (auto& [index, build, key] : compile(std::move(lost))) {
    fail(build, fmt::format("lost twice, the second time compiled alone: {}", build.message));
    done(index, std::move(build));
  }
  return counts;
}

}  // namespace

CompileCounts compile_all(std::span<const KernelConfig> configs, const CompileOptions& options,
                          const std::function<void(Build)>& done) {
  const Toolchain& toolchain = options.toolchain;
  const std::string kernel_hash = kernel_source_hash(toolchain.kernel_files);
  return compile_jobs(
      configs.size(), options,
      [&](std::size_t i) {
        Build build = blank_build(label(configs[i]), toolchain, kernel_hash);
        build.config = configs[i];
        build.facts.dynamic_smem_bytes = smem_layout(configs[i]).total_bytes;
        return build;
      },
      [&](std::size_t i) {
        return kernel_job(configs[i], toolchain.kernel_files, toolchain.flags);
      },
      [&](std::size_t, Build build) { done(std::move(build)); });
}

CompileCounts compile_sources(std::span<const StudySource> sources, const CompileOptions& options,
                              const std::function<void(std::size_t, Build)>& done) {
  const Toolchain& toolchain = options.toolchain;
  const std::string kernel_hash = kernel_source_hash(toolchain.kernel_files);
  return compile_jobs(
      sources.size(), options,
      [&](std::size_t i) { return blank_build(sources[i].label, toolchain, kernel_hash); },
      [&](std::size_t i) {
        return study_job(sources[i].text, toolchain.kernel_files, toolchain.study_files,
                         toolchain.flags);
      },
      done);
}

}  // namespace hgemm
