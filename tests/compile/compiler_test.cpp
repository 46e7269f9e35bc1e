// compile_all: cache, children and their failures, on stand-in kernels.
#include "compile/compiler.h"

#include <signal.h>
#include <unistd.h>

#include "base/channel.h"
#include "compile/cubin.h"
#include "compile/nvrtc.h"
#include "compile/source.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::compile;
using test::Outcome;
using test::StandIn;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<Kernel> kernels_of_width(std::initializer_list<int> widths) {
  std::vector<Kernel> kernels;
  for (const int bn : widths) kernels.push_back(test::kernel_of(TiledConfig{.bn = bn}));
  return kernels;
}
const std::vector<Kernel> kThree = kernels_of_width({8, 16, 24});
const std::vector<Kernel> kOne = kernels_of_width({64});

std::string source_key(const Kernel& kernel, const StandIn& stand_in) {
  Toolchain toolchain;
  toolchain.kernel_files = stand_in.files();
  return source_keys(toolchain)(kernel);
}

CompileOptions options_for(const fs::path& cache_dir, const StandIn& kernel) {
  CompileOptions options{cache_dir, 2, 60s, {}};
  options.toolchain.kernel_files = kernel.files();
  return options;
}

std::vector<fs::path> files_below(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// ---- What a build says ----

TEST(CompileAll, ReportsFactsAndTheCubin) {
  const TemporaryFolder cache;
  const StandIn kernel(
      "__shared__ int s[32]; s[threadIdx.x % 32] = *out; __syncthreads(); *out = s[5];");
  const Outcome outcome = compile(kOne, options_for(cache.path(), kernel));
  const Build& build = outcome.builds.at(0);
  EXPECT_EQ(build.status, Status::kOk) << build.message;
  EXPECT_EQ(build.facts.name, "bm128.bn64.bk64.q4.c1x1.coop2.d1.linear.tma.persist of bf16");
  EXPECT_EQ(build.facts.source_key, source_key(build.kernel, kernel));
  EXPECT_NE(build.facts.source_key, source_keys()(build.kernel))
      << "not the kernel that was compiled";
  EXPECT_EQ(build.facts.compiler, "nvrtc " + nvrtc_version());
  EXPECT_THAT(build.facts.flags, HasSubstr("--gpu-architecture=sm_90a"));
  EXPECT_GT(build.facts.registers, 0);
  EXPECT_EQ(build.facts.spill_bytes, 0);
  EXPECT_EQ(build.facts.static_smem_bytes, 128);
  EXPECT_EQ(build.facts.dynamic_smem_bytes, smem_bytes(build.kernel));
  EXPECT_GT(build.facts.compile_ms, 0);
  const std::string cubin = test::read_file(build.cubin.path);
  EXPECT_EQ(cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(build.facts.kernel_id, code_hash(cubin));
  EXPECT_EQ(build.facts.identity(), build.facts.kernel_id);
}

/// Every member has another value than by default. (`probe` adds a kernel: kernels_test.)
TEST(CompileAll, PassesEveryMemberOfAKernel) {
  GemmProblem problem{.m = 3, .n = 8, .k = 16, .tag = ""};
  problem.set_types(DataType::kFp16);
  problem.d_type = DataType::kFp32;
  const Kernel tiled = kernel_for(TiledConfig{192,
                                              48,
                                              32,
                                              7,
                                              1,
                                              2,
                                              true,
                                              Schedule::kColumns,
                                              3,
                                              0,
                                              256,
                                              TileOrder::kSnakeColumns,
                                              5,
                                              StorePath::kDirect,
                                              TileScheduler::kSplitK,
                                              3,
                                              CacheHint::kEvictFirst,
                                              CacheHint::kEvictLast,
                                              CacheHint::kEvictFirst,
                                              128,
                                              2,
                                              100,
                                              true,
                                              true,
                                              true,
                                              true,
                                              true},
                                  problem);
  const Kernel swap_ab =
      kernel_for(SwapAbConfig{24, 192, 64, 7, 0, 256, StorePath::kStaged, 3, CacheHint::kEvictFirst,
                              CacheHint::kEvictLast, CacheHint::kEvictFirst, 128, 2, true, true,
                              true, true, true},
                 problem);
  const Kernel gemv = kernel_for(GemvConfig{4, 32, 512, 1, 12, 3, 2, true, true}, problem);
  const std::string is_made_for =
      "static_assert(kKernel.gemm == GemmKind{DataType::kFp16, DataType::kFp32, 3, 8, 16});";
  const StandIn expects_tiled(
      "static_assert(TiledConfig(kKernel) == TiledConfig{192, 48, 32, 7, 1, 2, true, "
      "Schedule::kColumns, 3, 0, 256, TileOrder::kSnakeColumns, 5, StorePath::kDirect, "
      "TileScheduler::kSplitK, 3, CacheHint::kEvictFirst, CacheHint::kEvictLast, "
      "CacheHint::kEvictFirst, 128, 2, 100, true, true, true, true, true});" +
      is_made_for);
  const StandIn expects_swap_ab(
      "static_assert(SwapAbConfig(kKernel) == SwapAbConfig{24, 192, 64, 7, 0, 256, "
      "StorePath::kStaged, 3, CacheHint::kEvictFirst, CacheHint::kEvictLast, "
      "CacheHint::kEvictFirst, 128, 2, true, true, true, true, true});" +
      is_made_for);
  const StandIn expects_gemv(
      "static_assert(GemvConfig(kKernel) == GemvConfig{4, 32, 512, 1, 12, 3, 2, true, true});" +
      is_made_for);
  const TemporaryFolder cache;
  for (const auto& [kernel, stand_in] :
       {std::pair{&tiled, &expects_tiled}, {&swap_ab, &expects_swap_ab}, {&gemv, &expects_gemv}}) {
    const Build build = compile({*kernel}, options_for(cache.path(), *stand_in)).builds.at(0);
    EXPECT_EQ(build.status, Status::kOk) << build.message;
  }
}

TEST(CompileAll, ABrokenSourceFailsWithTheCompilersText) {
  const TemporaryFolder cache;
  const StandIn kernel("*out = no_such_name;");
  for (const bool from_cache : {false, true}) {
    const Build build = compile(kOne, options_for(cache.path(), kernel)).builds.at(0);
    EXPECT_EQ(build.status, Status::kCompileFailed);
    EXPECT_EQ(build.from_cache, from_cache);
    EXPECT_TRUE(build.cubin.path.empty());
    EXPECT_THAT(build.message,
                HasSubstr("tiled/kernel.cuh(7): error: identifier \"no_such_name\" is undefined"));
  }
}

TEST(CompileAll, ASpillingKernelFails) {
  const TemporaryFolder cache;
  const StandIn kernel(
      "int a[300]; for (int i = 0; i < 300; ++i) a[i] = ((volatile int*)out)[i];"
      "for (int i = 0; i < 300; ++i) ((volatile int*)out)[i] = a[299 - i];");
  const Build build = compile(kOne, options_for(cache.path(), kernel)).builds.at(0);
  EXPECT_EQ(build.status, Status::kCompileFailed);
  EXPECT_GT(build.facts.spill_bytes, 0);
  EXPECT_TRUE(build.cubin.path.empty());
  EXPECT_THAT(build.message, HasSubstr("spills registers"));
  EXPECT_THAT(build.message, HasSubstr(" bytes spill stores"));
}

// ---- Study kernels ----

constexpr const char* kStudySource =
    "#include \"studies/micro/add.cuh\"\n"
    "extern \"C\" __global__ void study(int* out) { *out = hgemm::micro_add(kSeven); }\n";
const std::vector<EmbeddedFile> kStudyFiles = {
    {"kernels/studies/micro/add.cuh",
     "#pragma once\n#include \"tiled/config.h\"\n#include \"studies/ladder/seven.cuh\"\n"
     "namespace hgemm { __device__ int micro_add(int x) { return x + TiledConfig{}.bn; } }\n"},
    {"kernels/studies/ladder/seven.cuh", "#pragma once\nconstexpr int kSeven = 7;\n"},
};

struct Compiled {
  std::vector<Build> builds;  ///< in the order of the sources
  CompileCounts counts;
};
Compiled compile_study(const std::vector<StudySource>& sources, const CompileOptions& options) {
  Compiled compiled;
  compiled.builds.resize(sources.size());
  std::size_t reported = 0;
  compiled.counts = compile_sources(sources, options, [&](std::size_t index, Build build) {
    compiled.builds.at(index) = std::move(build);
    ++reported;
  });
  EXPECT_EQ(reported, sources.size());
  return compiled;
}

TEST(CompileSources, SeeAllHeadersByTheirPathsBelowKernels) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.study_files = kStudyFiles;
  const auto compiled = compile_study({{"micro_add", kStudySource}}, options);
  const Build& build = compiled.builds.at(0);
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  EXPECT_EQ(build.facts.name, "micro_add");
  std::vector<EmbeddedFile> files(kernel.files().begin(), kernel.files().end());
  files.insert(files.end(), kStudyFiles.begin(), kStudyFiles.end());
  EXPECT_EQ(build.facts.source_key,
            JobMaker(files, options.toolchain.flags).source_key(kStudySource));
  EXPECT_EQ(build.facts.kernel_id, code_hash(test::read_file(build.cubin.path)));
  EXPECT_GT(build.facts.registers, 0);
  EXPECT_EQ(compiled.counts.compiled, 1);
}

TEST(CompileSources, AreCachedUntilAHeaderOfTheirsChanges) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.study_files = kStudyFiles;
  const std::vector<StudySource> sources = {{"micro_add", kStudySource}};
  const auto first = compile_study(sources, options);
  const auto second = compile_study(sources, options);
  EXPECT_EQ(second.counts.from_cache, 1);
  EXPECT_TRUE(second.builds[0].from_cache);
  EXPECT_EQ(second.builds[0].facts.kernel_id, first.builds[0].facts.kernel_id);
  std::vector<EmbeddedFile> changed = kStudyFiles;
  changed.push_back({"kernels/studies/ladder/not_theirs.cuh", "constexpr int kSeven = 9;\n"});
  options.toolchain.study_files = changed;
  EXPECT_EQ(compile_study(sources, options).counts.from_cache, 1);
  changed[1].text = "constexpr int kSeven = 8;\n";
  options.toolchain.study_files = changed;
  const auto third = compile_study(sources, options);
  EXPECT_EQ(third.counts.compiled, 1);
  EXPECT_NE(third.builds[0].facts.kernel_id, first.builds[0].facts.kernel_id);
}

TEST(CompileSources, AreJudgedAsKernelsAre) {
  const TemporaryFolder cache;
  const StandIn kernel;
  const auto compiled =
      compile_study({{"broken", "this is no C++"},
                     {"spilling",
                      "extern \"C\" __global__ void study(volatile int* out) { int a[300]; for "
                      "(int i = 0; i < 300; "
                      "++i) a[i] = out[i]; for (int i = 0; i < 300; ++i) out[i] = a[299 - i]; }"},
                     {"good", "extern \"C\" __global__ void study(int* out) { *out = 1; }"}},
                    options_for(cache.path(), kernel));
  EXPECT_EQ(compiled.builds[0].status, Status::kCompileFailed);
  EXPECT_THAT(compiled.builds[0].message, HasSubstr("error"));
  EXPECT_EQ(compiled.builds[1].status, Status::kCompileFailed);
  EXPECT_THAT(compiled.builds[1].message, HasSubstr("spills registers"));
  EXPECT_EQ(compiled.builds[2].status, Status::kOk) << compiled.builds[2].message;
}

// ---- Cache ----

TEST(CompileCache, TheSecondCallCompilesNothing) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path() / "not" / "there yet", kernel);
  const Outcome first = compile(kThree, options);
  EXPECT_EQ(first.counts.compiled, 3);
  options.toolchain.worker = {"/no/such/program"};  // nobody to compile
  const Outcome second = compile(kThree, options);
  EXPECT_EQ(second.counts.from_cache, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(second.builds[i].from_cache);
    EXPECT_EQ(second.builds[i].status, Status::kOk);
    EXPECT_EQ(second.builds[i].cubin.path, first.builds[i].cubin.path);
    EXPECT_EQ(second.builds[i].cubin.hash, first.builds[i].cubin.hash);
    EXPECT_EQ(second.builds[i].facts.kernel_id, first.builds[i].facts.kernel_id);
    EXPECT_EQ(second.builds[i].facts.registers, first.builds[i].facts.registers);
    EXPECT_EQ(second.builds[i].facts.compile_ms, first.builds[i].facts.compile_ms);
  }
}

TEST(CompileCache, ATouchedHeaderOrFlagCompilesAnew) {
  const TemporaryFolder cache;
  const StandIn kernel, touched("*out = kKernel.bn + 1;");
  compile(kThree, options_for(cache.path(), kernel));
  const Outcome anew = compile(kThree, options_for(cache.path(), touched));
  EXPECT_EQ(anew.counts.compiled, 3);
  EXPECT_EQ(anew.builds[0].facts.source_key, source_key(kThree[0], touched));
  EXPECT_NE(anew.builds[0].facts.source_key, source_key(kThree[0], kernel));

  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.flags.push_back("--ptxas-options=--register-usage-level=10");
  EXPECT_EQ(compile(kThree, options).counts.compiled, 3);
  EXPECT_EQ(compile(kThree, options_for(cache.path(), kernel)).counts.from_cache, 3);
}

TEST(CompileCache, DamagedEntriesAreRebuilt) {
  const TemporaryFolder cache;
  const StandIn kernel;
  const CompileOptions options = options_for(cache.path(), kernel);
  const std::vector<Kernel> kernels = kernels_of_width({8, 16, 24, 32, 40, 48});
  compile(kernels, options);

  const auto cubins = files_below(cache.path(), ".cubin");
  const auto entries = files_below(cache.path(), ".json");
  ASSERT_EQ(cubins.size(), 6U);
  ASSERT_EQ(entries.size(), 6U);
  fs::resize_file(cubins[0], fs::file_size(cubins[0]) / 2);
  std::string flipped = test::read_file(cubins[1]);
  flipped[flipped.size() / 2] ^= 1;
  std::ofstream(cubins[1], std::ios::binary) << flipped;
  fs::remove(cubins[2]);
  fs::resize_file(entries[3], 20);
  std::ofstream(entries[4]) << R"({"succeeded": "perhaps"})";

  const Outcome rebuilt = compile(kernels, options);
  EXPECT_EQ(rebuilt.counts.repaired, 5);
  EXPECT_EQ(rebuilt.counts.compiled, 5);
  EXPECT_EQ(rebuilt.counts.from_cache, 1);
  for (const Build& build : rebuilt.builds) {
    EXPECT_EQ(build.status, Status::kOk);
    EXPECT_EQ(build.facts.kernel_id, code_hash(test::read_file(build.cubin.path)));
  }
  EXPECT_EQ(compile(kernels, options).counts.from_cache, 6);
}

TEST(CompileCache, AFolderThatCannotBeWrittenIsDoneWithout) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "in the way";
  const StandIn kernel;
  fs::path temporary;
  {
    const CompileOptions options = options_for(file / "below", kernel);
    testing::internal::CaptureStderr();
    const Outcome first = compile(kThree, options);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, AllOf(HasSubstr((file / "below").string()), HasSubstr("--cache-dir")));
    EXPECT_EQ(said.find("done without"), said.rfind("done without")) << "said twice";
    EXPECT_EQ(first.counts.compiled, 3);
    for (const Build& build : first.builds) {
      EXPECT_EQ(build.status, Status::kOk) << build.message;
      EXPECT_EQ(code_hash(read_cubin(build.cubin)), build.facts.kernel_id);
    }
    temporary = first.builds[0].cubin.path.parent_path().parent_path();
    EXPECT_EQ(fs::status(temporary).permissions(), fs::perms::owner_all);
    EXPECT_EQ(compile(kThree, options).counts.from_cache, 3) << "while the options are there";
  }
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_EQ(test::read_file(file), "in the way");
}

TEST(CompileCache, ProcessesMayShareOne) {
  const TemporaryFolder cache;
  const StandIn kernel;
  {
    std::vector<std::unique_ptr<Child>> others;
    for (int i = 0; i < 3; ++i) {
      others.push_back(std::make_unique<Child>(
          std::vector<std::string>{kThisProgram, "compile three", cache.path().string()}));
    }
    for (const auto& other : others) EXPECT_EQ(other->channel().receive(), 3);  // ended ok
  }
  EXPECT_EQ(compile(kThree, options_for(cache.path(), kernel)).counts.from_cache, 3);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache.path())) {
    files += entry.is_regular_file() ? 1U : 0U;
  }
  EXPECT_EQ(files, 6U) << "temporary files were left";
}

TEST(CompileCache, DefaultFollowsXdg) {
  setenv("HOME", "/home/someone", 1);
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(default_cache_dir(), "/caches/hgemm-tune");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_dir(), "/home/someone/.cache/hgemm-tune");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(default_cache_dir(), "/home/someone/.cache/hgemm-tune");
  unsetenv("HOME");
  EXPECT_THROW(default_cache_dir(), InputError);
}

// ---- Children ----

/// The second of three kernels meets `role`; the others must not notice.
void expect_one_casualty(const std::string& role, std::chrono::seconds timeout,
                         const std::string& reason) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path(), kernel);
  options.timeout = timeout;
  options.toolchain.worker = {kThisProgram, role};
  for (const int jobs : {1, 3}) {
    options.jobs = jobs;
    const std::vector<Build> builds = compile(kThree, options).builds;
    EXPECT_EQ(builds[0].status, Status::kOk) << builds[0].message;
    EXPECT_EQ(builds[1].status, Status::kCompileFailed);
    EXPECT_THAT(builds[1].message, AllOf(StartsWith("lost twice"), HasSubstr(reason)));
    EXPECT_TRUE(builds[1].cubin.path.empty());
    EXPECT_EQ(builds[2].status, Status::kOk) << builds[2].message;
  }
  // Not the source's fault, so not in the cache.
  options.toolchain.worker = Toolchain().worker;
  const Build retried = compile(kThree, options).builds[1];
  EXPECT_EQ(retried.status, Status::kOk) << retried.message;
  EXPECT_FALSE(retried.from_cache);
}

TEST(CompileChildren, ACrashCostsOneKernel) {
  expect_one_casualty("crash at 16", 60s, "killed by signal 11 (Segmentation fault)");
}

TEST(CompileChildren, AHangCostsOneKernel) {
  expect_one_casualty("hang at 16", 3s, "killed after 3 s");
}

TEST(CompileChildren, AnInternalErrorCostsOneKernel) {
  expect_one_casualty("error at 16", 60s, "the compiler ran out of memory");
}

TEST(CompileChildren, AnAnswerThatMakesNoSenseCostsOneKernel) {
  expect_one_casualty("nonsense at 16", 60s, "answer was not understood");
  expect_one_casualty("empty at 16", 60s, "a cubin is no ELF file");
}

TEST(CompileChildren, APassingLossIsMadeUpForAfterTheOthers) {
  for (const std::string role : {"crash at 16", "hang at 16", "error at 16"}) {
    const TemporaryFolder cache, scratch;
    const StandIn kernel;
    CompileOptions options = options_for(cache.path(), kernel);
    options.timeout = 3s;
    options.toolchain.worker = {kThisProgram, role, scratch.path() / "it happened"};
    std::vector<Build> builds;
    const auto counts = compile_all(kThree, options, [&](Build b) { builds.push_back(b); });
    EXPECT_TRUE(fs::exists(scratch.path() / "it happened")) << role;
    ASSERT_EQ(builds.size(), 3U) << role;
    EXPECT_EQ(builds[2].kernel, kThree[1]) << role;
    for (const Build& build : builds) {
      EXPECT_EQ(build.status, Status::kOk) << role << ": " << build.message;
      EXPECT_EQ(build.message, "") << role;
    }
    EXPECT_EQ(counts.compiled, 3) << role;
    EXPECT_EQ(compile(kThree, options).counts.from_cache, 3) << role;
  }
}

TEST(CompileChildren, WhatTheCompilerRejectsIsNotTriedAgain) {
  const TemporaryFolder cache, scratch;
  const StandIn kernel("static_assert(kKernel.bn != 16);");
  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.worker = {kThisProgram, "count 16", scratch.path() / "requests"};
  const Build build = compile(kThree, options).builds[1];
  EXPECT_THAT(build.message, HasSubstr("static assertion failed"));
  EXPECT_EQ(test::read_file(scratch.path() / "requests"), "16\n");
}

TEST(CompileChildren, AProgramThatCannotRunIsAnError) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.worker = {"/no/such/program"};
  EXPECT_THROW(compile_all(kThree, options, [](Build) {}), Error);
}

TEST(CompileChildren, AnExceptionOfTheCallerStopsThem) {
  const TemporaryFolder cache;
  const StandIn kernel;
  CompileOptions options = options_for(cache.path(), kernel);
  options.toolchain.worker = {kThisProgram, "hang at 16"};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(compile_all(kThree, options, [](Build) { throw std::logic_error("enough"); }),
               std::logic_error);
  EXPECT_LT(std::chrono::steady_clock::now() - start, options.timeout / 2);
}

// ---- Roles of this program as a child ----

/// Passes requests to a real compile worker, but notes the kernel with bn = 16 in the file `notes`
/// and misbehaves at it: each time if there is no such file to write, else the first time.
int misbehave(const std::string& role, const fs::path& notes, int socket_fd) {
  Channel channel(socket_fd);
  Child worker(Toolchain().worker);
  try {
    for (;;) {
      const nlohmann::json job = channel.receive().value();
      bool behave = job.at("source").get<std::string>().find(".bn = 16,") == std::string::npos;
      if (!behave && !notes.empty()) {
        behave = role == "count 16" || fs::exists(notes);
        std::ofstream(notes, std::ios::app) << "16\n";
      }
      if (behave) {
        if (!worker.channel().send(job)) return 1;
        if (!channel.send(worker.channel().receive().value())) return 1;
      } else if (role == "crash at 16") {
        raise(SIGSEGV);
      } else if (role == "nonsense at 16") {
        if (!channel.send({{"succeeded", "perhaps"}})) return 1;
      } else if (role == "empty at 16") {
        CompilerOutput empty;
        empty.succeeded = true;
        if (!channel.send(empty)) return 1;
      } else if (role == "hang at 16") {
        for (;;) pause();
      } else if (!channel.send({{"error", "the compiler ran out of memory"}})) {
        return 1;
      }
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

int compile_three(const fs::path& cache_dir, int socket_fd) {
  Channel channel(socket_fd);
  int ok = 0;
  const StandIn kernel;
  compile_all(kThree, options_for(cache_dir, kernel),
              [&](Build build) { ok += build.status == Status::kOk ? 1 : 0; });
  return channel.send(ok) ? 0 : 1;
}

}  // namespace

int play(int argc, char** argv) {
  const int socket_fd = std::atoi(argv[argc - 1]);
  const std::string role = argv[1];
  if (role == "compile-worker") return compile_worker_main(socket_fd);
  if (role == "compile three") return compile_three(argv[2], socket_fd);
  return misbehave(role, argc > 3 ? argv[2] : "", socket_fd);
}

}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 1 ? hgemm::play(argc, argv) : RUN_ALL_TESTS();
}
