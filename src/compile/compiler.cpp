#include "compile/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "compile/cache.h"
#include "compile/cubin.h"
#include "compile/judge.h"
#include "compile/pool.h"
#include "compile/source.h"
#include "families/family.h"

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

/// A build before it is compiled: everything except what depends on its source.
Build blank_build(std::string name, const Toolchain& toolchain) {
  Build build;
  build.facts.name = std::move(name);
  build.facts.compiler = "nvrtc " + nvrtc_version();
  build.facts.flags = fmt::format("{}", fmt::join(toolchain.flags, " "));
  return build;
}

void fail(Build& build, std::string message) {
  build.status = Status::kCompileFailed;
  build.message = std::move(message);
}

/// Sets the results of a build from the compiler's output. Throws Error if the output has no code.
void finish(Build& build, const CompilerOutput& output, Cubin cubin) {
  Judgement judgement = judge(output.succeeded, output.log);
  build.facts.registers = judgement.registers;
  build.facts.spill_bytes = judgement.spill_bytes;
  build.facts.static_smem_bytes = judgement.static_smem_bytes;
  build.facts.compile_ms = output.cpu_ms;
  if (!judgement.objection.empty()) return fail(build, std::move(judgement.objection));
  build.facts.kernel_id = code_hash(output.cubin);
  build.cubin = std::move(cubin);
}

/// The compiler output in a child's message; none if there is none, with the reason in `failure`.
std::optional<CompilerOutput> output_from(const nlohmann::json& message, std::string& failure) {
  try {
    if (message.contains("error")) {
      failure = message.at("error").get<std::string>();
      return std::nullopt;
    }
    auto output = message.get<CompilerOutput>();
    if (output.succeeded) static_cast<void>(code_hash(output.cubin));
    return output;
  } catch (const nlohmann::json::exception&) {
    failure = "the compile process's answer was not understood";
  } catch (const Error& error) {
    failure = error.what();
  }
  return std::nullopt;
}

/// Sources to compile against one set of headers, and the builds that they become.
struct Request {
  const JobMaker& jobs;
  std::size_t count;
  std::function<Build(std::size_t)> blank;
  std::function<std::string(std::size_t)> source_of;
};

struct Missing {
  std::size_t index;
  Build build;
};

/// Completes the builds that are in the cache; returns the others.
std::vector<Missing> take_from_cache(const Request& request, const Cache& cache,
                                     CompileCounts& counts,
                                     const std::function<void(std::size_t, Build)>& done) {
  std::vector<Missing> missing;
  for (std::size_t index = 0; index < request.count; ++index) {
    Build build = request.blank(index);
    build.facts.source_key = request.jobs.source_key(request.source_of(index));
    const std::string& key = build.facts.source_key;
    Cache::Found found = cache.find(key);
    if (found.output) {
      finish(build, *found.output, std::move(found.cubin));
      build.from_cache = true;
      ++counts.from_cache;
      done(index, std::move(build));
    } else {
      if (found.damaged) ++counts.repaired;
      missing.push_back({index, std::move(build)});
    }
  }
  return missing;
}

/// Compiles in child processes the builds that are not in the cache. Jobs are made when they are
/// needed, because each holds its headers.
CompileCounts compile_jobs(const Request& request, const CompileOptions& options,
                           const std::function<void(std::size_t, Build)>& done) {
  const Cache cache(options.cache_dir, options.shared_cache, options.overflow);
  CompileCounts counts;
  std::vector<Missing> missing = take_from_cache(request, cache, counts, done);

  const int jobs =
      options.jobs > 0 ? options.jobs : std::max(1, default_jobs() - options.spare_jobs);
  PoolOptions pool{
      .command = options.toolchain.worker, .children = jobs, .timeout = options.timeout};
  // Reports the builds of `batch` for which the compiler gave an answer. Returns the others; their
  // message says how their processes ended.
  const auto compile = [&](std::vector<Missing> batch) {
    std::vector<Missing> lost;
    run_in_children(
        batch.size(), pool,
        [&](std::size_t i) { return request.jobs.job(request.source_of(batch[i].index)); },
        [&](std::size_t i, PoolAnswer answer) {
          auto& [index, build] = batch[i];
          std::optional<CompilerOutput> output;
          if (answer.failure.empty()) output = output_from(answer.message, answer.failure);
          if (!output) {
            build.message = std::move(answer.failure);
            lost.push_back(std::move(batch[i]));
            return;
          }
          finish(build, *output, cache.store(build.facts.source_key, *output));
          done(index, std::move(build));
        });
    return lost;
  };

  counts.compiled = static_cast<int>(missing.size());
  std::vector<Missing> lost = compile(std::move(missing));
  for (Missing& item : lost) item.build.message.clear();
  pool.children = 1;
  for (auto& [index, build] : compile(std::move(lost))) {
    fail(build, fmt::format("lost twice, the second time compiled alone: {}", build.message));
    done(index, std::move(build));
  }
  return counts;
}

}  // namespace

SourceKeyOf source_keys(const Toolchain& toolchain) {
  const auto jobs = std::make_shared<const JobMaker>(toolchain.kernel_files, toolchain.flags);
  return [jobs](const Kernel& kernel) { return jobs->source_key(kernel_source(kernel)); };
}

Compiler nvrtc_compiler(const Toolchain& toolchain) {
  return {source_keys(toolchain), compile_all};
}

CompileCounts compile_all(std::span<const Kernel> kernels, const CompileOptions& options,
                          const std::function<void(Build)>& done) {
  const Toolchain& toolchain = options.toolchain;
  const JobMaker jobs(toolchain.kernel_files, toolchain.flags);
  const auto blank = [&](std::size_t i) {
    Build build = blank_build(build_name(kernels[i]), toolchain);
    build.kernel = kernels[i];
    build.facts.dynamic_smem_bytes = smem_bytes(kernels[i]);
    return build;
  };
  const auto source_of = [&](std::size_t i) { return kernel_source(kernels[i]); };
  return compile_jobs({jobs, kernels.size(), blank, source_of}, options,
                      [&](std::size_t, Build build) { done(std::move(build)); });
}

CompileCounts compile_sources(std::span<const StudySource> sources, const CompileOptions& options,
                              const std::function<void(std::size_t, Build)>& done) {
  const Toolchain& toolchain = options.toolchain;
  std::vector<EmbeddedFile> files(toolchain.kernel_files.begin(), toolchain.kernel_files.end());
  files.insert(files.end(), toolchain.study_files.begin(), toolchain.study_files.end());
  const JobMaker jobs(files, toolchain.flags);
  const auto blank = [&](std::size_t i) { return blank_build(sources[i].label, toolchain); };
  const auto source_of = [&](std::size_t i) { return sources[i].text; };
  return compile_jobs({jobs, sources.size(), blank, source_of}, options, done);
}

}  // namespace hgemm
