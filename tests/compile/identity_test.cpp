// What names a build: the source key, by which compiled kernels are found again, and the kernel id,
// by which results are. Edits of the real kernel files, as people make them.
#include <map>
#include <set>
#include <string>

#include "base/cpp_text.h"
#include "base/error.h"
#include "compile/cubin.h"
#include "compile/source.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

/// A copy of the kernel files that can be edited.
class KernelFiles {
 public:
  KernelFiles() {
    for (const EmbeddedFile& file : embedded_kernels()) {
      texts_[std::string(file.path)] = std::string(file.text);
    }
  }
  std::map<std::string, std::string>& texts() { return texts_; }
  std::string& text(const std::string& header) { return texts_.at("kernels/" + header); }
  void add_line(const std::string& header, const std::string& line) { text(header) += line + '\n'; }
  /// Every `from` of a header.
  void replace(const std::string& header, const std::string& from, const std::string& to) {
    std::string& edited = text(header);
    ASSERT_NE(edited.find(from), edited.npos) << header << " no longer says: " << from;
    for (auto at = edited.find(from); at != edited.npos; at = edited.find(from, at + to.size())) {
      edited.replace(at, from.size(), to);
    }
  }

  /// Must not be edited while these are in use.
  std::vector<EmbeddedFile> files() const {
    std::vector<EmbeddedFile> files;
    for (const auto& [path, text] : texts_) files.push_back({path, text});
    return files;
  }

 private:
  std::map<std::string, std::string> texts_;
};

const Kernel kTiled =
    test::kernel_of(TiledConfig{.bm = 64, .bn = 64, .stages = 3, .consumers = 1, .pdl = true});
const Kernel kWithoutPdl =
    test::kernel_of(TiledConfig{.bm = 64, .bn = 64, .stages = 3, .consumers = 1});
const Kernel kSwapAb = test::kernel_of(SwapAbConfig{.bm = 8, .bn = 64, .stages = 3});
const Kernel kGemv = test::kernel_of(GemvConfig{.vectors = 1, .rows = 8, .step = 256});
/// One of each family, and one that differs from the first in an axis.
const std::vector<Kernel> kKernels = {kTiled, kWithoutPdl, kSwapAb, kGemv};

std::set<std::string> headers_of(const Kernel& kernel) {
  std::set<std::string> names;
  const JobMaker jobs(embedded_kernels(), default_compile_flags());
  for (const auto& [name, text] : jobs.job(kernel_source(kernel)).headers) names.insert(name);
  return names;
}

class Identity : public testing::Test {
 protected:
  /// Source key, kernel id and whether it came from the cache, of each of kKernels.
  struct Built {
    std::vector<std::string> keys, ids;
    std::vector<bool> from_cache;
  };
  static Built build(const KernelFiles& files, const std::filesystem::path& cache) {
    const std::vector<EmbeddedFile> views = files.files();
    CompileOptions options{cache, 0, std::chrono::seconds(60), {}};
    options.toolchain.kernel_files = views;
    const SourceKeyOf key_of = source_keys(options.toolchain);
    Built built;
    for (const Build& build : test::compile(kKernels, options).builds) {
      EXPECT_EQ(build.status, Status::kOk) << build.message;
      EXPECT_EQ(build.facts.source_key, key_of(build.kernel)) << build.facts.name;
      built.keys.push_back(build.facts.source_key);
      built.ids.push_back(build.facts.kernel_id);
      built.from_cache.push_back(build.from_cache);
    }
    return built;
  }
  /// With the files as they are, compiled once for all tests.
  static const Built& before() {
    static const Built built = build(KernelFiles(), cache_.path());
    return built;
  }
  static Built after(const KernelFiles& files) {
    before();
    return build(files, cache_.path());
  }
  static std::vector<bool> all(bool value) { return std::vector<bool>(kKernels.size(), value); }
  /// Which of kKernels have another key (id) than before.
  static std::vector<bool> differ(const std::vector<std::string>& now,
                                  const std::vector<std::string>& then) {
    std::vector<bool> differ;
    for (std::size_t i = 0; i < now.size(); ++i) differ.push_back(now[i] != then.at(i));
    return differ;
  }

  static inline const test::TemporaryFolder cache_;
};

TEST_F(Identity, KernelsOfFourConfigsAreFour) {
  EXPECT_EQ(std::set(before().keys.begin(), before().keys.end()).size(), kKernels.size());
  EXPECT_EQ(std::set(before().ids.begin(), before().ids.end()).size(), kKernels.size());
  EXPECT_EQ(after(KernelFiles()).from_cache, all(true));
}

// In every header of every kernel, where they move lines, and in the middle of them.
TEST_F(Identity, CommentsAndWhiteSpaceKeepTheKeyAndTheKernel) {
  KernelFiles commented;
  for (auto& [path, text] : commented.texts()) {
    text = "// A comment of an edit: \"quoted\", it's /* not the end of one.\n\n" + text +
           "\n/* Another one,\n   // of two lines. */\n";
  }
  std::set<std::string> headers;
  for (const Kernel& kernel : kKernels) headers.merge(headers_of(kernel));
  ASSERT_THAT(headers, Contains("common/ptx.cuh"));
  KernelFiles spaced;  // where there was no white space: that may be another key
  for (const std::string& header : headers) {
    const auto replace = [&](KernelFiles& files, const std::string& from, const std::string& to) {
      if (files.text(header).find(from) != std::string::npos) files.replace(header, from, to);
    };
    replace(commented, "\n#include", "\n\n#include");
    replace(commented, ";\n", ";  // Said here.\n\t");
    replace(spaced, ";\n", " ;\n");
  }
  const Built built = after(commented);
  EXPECT_EQ(built.keys, before().keys);
  EXPECT_EQ(built.ids, before().ids);
  EXPECT_EQ(built.from_cache, all(true));

  // And the compiler makes the same of it.
  const test::TemporaryFolder other;
  const Built anew = build(commented, other.path());
  EXPECT_EQ(anew.from_cache, all(false));
  EXPECT_EQ(anew.keys, before().keys);
  EXPECT_EQ(anew.ids, before().ids);
  EXPECT_EQ(after(spaced).ids, before().ids);
}

TEST_F(Identity, AHeaderThatAKernelDoesNotIncludeIsNoPartOfIt) {
  const std::vector<std::pair<std::string, std::vector<bool>>> edits = {
      {"tiled/kernel.cuh", {true, true, false, false}},
      {"tiled/tile_scheduler.h", {true, true, false, false}},
      {"swap_ab/rules.h", {false, false, true, false}},
      {"gemv/config.h", {false, false, false, true}},
      {"common/wgmma.cuh", {true, true, true, false}},
      {"common/types.h", all(true)},
  };
  for (const auto& [header, includes] : edits) {
    SCOPED_TRACE(header);
    for (std::size_t i = 0; i < kKernels.size(); ++i) {
      EXPECT_EQ(headers_of(kKernels[i]).contains(header), includes[i]) << build_name(kKernels[i]);
    }
    KernelFiles edited;
    edited.add_line(header, "namespace hgemm { inline constexpr int kOfAnEdit = 1; }");
    const Built built = after(edited);
    EXPECT_EQ(differ(built.keys, before().keys), includes);
    std::vector<bool> from_cache = includes;
    from_cache.flip();
    EXPECT_EQ(built.from_cache, from_cache);
    EXPECT_EQ(built.ids, before().ids) << "what nothing uses is no part of the code";
  }
  KernelFiles added;
  added.texts()["kernels/tiled/of_another_program.cuh"] = "#error \"nobody includes this\"\n";
  EXPECT_EQ(after(added).from_cache, all(true));
}

TEST_F(Identity, AnEditOfTheCodeIsAnotherKernelWhereTheMachineCodeDiffers) {
  KernelFiles prefetches_more;  // but only kernels with pdl do so
  prefetches_more.replace("tiled/producer.cuh", "kPrefetchRounds = 2", "kPrefetchRounds = 3");
  Built built = after(prefetches_more);
  EXPECT_EQ(differ(built.keys, before().keys), std::vector({true, true, false, false}));
  EXPECT_EQ(differ(built.ids, before().ids), std::vector({true, false, false, false}));

  KernelFiles smaller_batch;
  smaller_batch.replace("gemv/kernel.cuh", "kBatch = 4", "kBatch = 2");
  built = after(smaller_batch);
  EXPECT_EQ(differ(built.keys, before().keys), std::vector({false, false, false, true}));
  EXPECT_EQ(differ(built.ids, before().ids), std::vector({false, false, false, true}));

  KernelFiles waits_longer;  // all that wait at barriers in shared memory
  waits_longer.replace("common/ptx.cuh", "kWaitLimitNs = HGEMM_WAIT_LIMIT_NS",
                       "kWaitLimitNs = 1'000'000'000");
  built = after(waits_longer);
  EXPECT_EQ(differ(built.keys, before().keys), all(true));
  EXPECT_EQ(differ(built.ids, before().ids), std::vector({true, true, true, false}));

  KernelFiles renamed;
  renamed.replace("common/pack.cuh", "shifted_unit", "unit_that_is_shifted");
  renamed.replace("common/units.cuh", "shifted_unit", "unit_that_is_shifted");
  renamed.replace("gemv/kernel.cuh", "shifted_unit", "unit_that_is_shifted");
  built = after(renamed);
  EXPECT_TRUE(differ(built.keys, before().keys).back());
  EXPECT_EQ(built.ids, before().ids) << "names are no part of the code";
}

TEST_F(Identity, AnEditThatIsTakenBackIsFoundInTheCache) {
  KernelFiles edited;
  edited.replace("gemv/kernel.cuh", "kBatch = 4", "kBatch = 1");
  EXPECT_EQ(after(edited).from_cache, std::vector({true, true, true, false}));
  EXPECT_EQ(after(edited).from_cache, all(true));
  EXPECT_EQ(after(KernelFiles()).from_cache, all(true));
}

// Kernels are called by their configs: two configs of which the compiler makes the same are one.
TEST(KernelId, IsThatOfTheCodeWhateverTheKernelIsCalled) {
  const test::TemporaryFolder cache;
  const test::StandIn stand_in("*out = kKernel.bn / 64;");
  CompileOptions options{cache.path(), 0, std::chrono::seconds(60), {}};
  options.toolchain.kernel_files = stand_in.files();
  std::vector<Kernel> kernels;
  for (const int bn : {64, 72, 128}) kernels.push_back(test::kernel_of(TiledConfig{.bn = bn}));
  const std::vector<Build> builds = test::compile(kernels, options).builds;
  ASSERT_EQ(builds.size(), 3U);
  EXPECT_EQ(builds[0].facts.kernel_id, builds[1].facts.kernel_id);
  EXPECT_NE(builds[0].facts.source_key, builds[1].facts.source_key);
  EXPECT_NE(builds[0].facts.kernel_id, builds[2].facts.kernel_id);
  EXPECT_EQ(builds[0].facts.identity(), builds[0].facts.kernel_id);
}

TEST(KernelId, OfWhatDidNotCompileIsThatOfItsSource) {
  const test::TemporaryFolder cache;
  const test::StandIn stand_in("*out = no_such_name;");
  CompileOptions options{cache.path(), 0, std::chrono::seconds(60), {}};
  options.toolchain.kernel_files = stand_in.files();
  const Build build = test::compile({kTiled}, options).builds.at(0);
  EXPECT_THAT(build.facts.kernel_id, IsEmpty());
  EXPECT_EQ(build.facts.identity(), "source:" + build.facts.source_key);
}

TEST(KernelId, WhatIsNoCubinIsRefused) {
  const test::TemporaryFolder cache;
  const test::StandIn stand_in;
  CompileOptions options{cache.path(), 0, std::chrono::seconds(60), {}};
  options.toolchain.kernel_files = stand_in.files();
  const Build build = test::compile({kTiled}, options).builds.at(0);
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  const std::string cubin = test::read_file(build.cubin.path);
  EXPECT_EQ(code_hash(cubin), build.facts.kernel_id);
  EXPECT_THROW(code_hash(""), Error);
  EXPECT_THROW(code_hash("a text that is no ELF file"), Error);
  EXPECT_THROW(code_hash(cubin.substr(0, 40)), Error);
  EXPECT_THROW(code_hash(cubin.substr(0, cubin.size() / 2)), Error);
}

TEST(KernelSources, TheirHashIsOfTheirCodeInAnyOrder) {
  const KernelFiles files;
  std::vector<EmbeddedFile> views = files.files();
  const std::string hash = kernel_source_hash(views);
  EXPECT_EQ(hash, kernel_source_hash());
  std::ranges::reverse(views);
  EXPECT_EQ(kernel_source_hash(views), hash);
  KernelFiles commented;
  commented.add_line("gemv/kernel.cuh", "// A comment.");
  EXPECT_EQ(kernel_source_hash(commented.files()), hash);
  KernelFiles edited;
  edited.add_line("gemv/kernel.cuh", "static_assert(true);");
  EXPECT_NE(kernel_source_hash(edited.files()), hash);
  KernelFiles moved;
  moved.texts()["kernels/gemv/moved.cuh"] = moved.text("gemv/kernel.cuh");
  moved.texts().erase("kernels/gemv/kernel.cuh");
  EXPECT_NE(kernel_source_hash(moved.files()), hash);
}

TEST(WithoutComments, KeepsWhatTheCompilerSees) {
  EXPECT_EQ(without_comments("int a;  // said\nint b;\n"), "int a;\nint b;\n");
  EXPECT_EQ(without_comments("// first\n\n\nint a;\n"), "int a;\n");
  EXPECT_EQ(without_comments("int/* of */a;"), "int a;");
  EXPECT_EQ(without_comments("a = b /* two\nlines */ + c;"), "a = b + c;");
  EXPECT_EQ(without_comments("\t  int   a ;\r\n"), without_comments("int a ;\n"));
  EXPECT_EQ(without_comments("#define F(x) x\n#define G (x)\n"), "#define F(x) x\n#define G (x)\n");
  EXPECT_EQ(without_comments("a /* never closed"), "a");
}

TEST(WithoutComments, LeavesQuotedTextAlone) {
  for (const std::string text :
       {R"(asm volatile("bar.sync  0; // in PTX" ::: "memory");)", R"(f("/* none */", "  ");)",
        R"(c = '"'; d = "//"; e = '\''; f = "\"//";)", "n = 1'000'000; m = 0x1'ff;"}) {
    EXPECT_EQ(without_comments(text), text);
    EXPECT_EQ(without_comments(text + " // a comment"), text);
  }
  EXPECT_NE(without_comments("f(\"a b\");"), without_comments("f(\"a  b\");"));
  EXPECT_THAT(without_comments("n = 1'000'000;  // it's one"), Not(testing::HasSubstr("one")));
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
