// Chains on the GPU: links that read what the one before them wrote give correct results while they
// overlap, and what overlaps and should not is found.
#include "studies/chain/run.h"

#include <algorithm>

#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "studies/chain/chain.h"
#include "support.h"

namespace hgemm::testing {
namespace {

/// Few stages, so that many CTAs find room on an SM at once and links overlap as much as they can.
constexpr const char* kSingle = "swap_ab.bm16.bn64.bk64.q3.d1.tma.single.p128.pdl";
constexpr const char* kSplit = "swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2.p128.pdl";
constexpr const char* kTall = "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.persist.pdl";
constexpr const char* kHold = "bm64.bn64.bk64.q3.c1x1.coop1.d1.linear.tma.single.pdl.hold";

std::string without_pdl(const std::string& text) {
  return label(with_pdl(parse_label(text), false));
}
/// Links differ in their extents alone, which these configs are given at launch, or in their
/// epilogues too.
Kernel kernel_of(const std::string& text, const GemmProblem& problem = {}) {
  return kernel_for(parse_label(text), problem);
}

/// The last link but one is not wide enough to feed the last one.
std::vector<GemmProblem> problems(std::int64_t m) {
  std::vector<GemmProblem> problems;
  for (const auto& [n, k] : {std::pair{1024, 2048},
                             {4096, 1024},
                             {2048, 4096},
                             {2048, 2048},
                             {512, 2048},
                             {4096, 512},
                             {512, 4096},
                             {2048, 1024}}) {
    problems.push_back({.m = m, .n = n, .k = k, .tag = ""});
  }
  return problems;
}

class ChainTest : public GpuTest {
 protected:
  /// Links take turns with the configs.
  static StudyRequest request(std::int64_t m, const std::vector<std::string>& configs) {
    std::vector<ChainLink> links;
    for (const GemmProblem& problem : problems(m)) {
      const std::string& pdl_on = configs[links.size() % configs.size()];
      links.push_back({.problem = problem, .pdl_off = without_pdl(pdl_on), .pdl_on = pdl_on});
    }
    return {.kind = std::string(kChainStudy),
            .label = "chain",
            .problem = std::nullopt,
            .parts = parts_of(links)};
  }
  static Cubins cubins(const std::vector<std::string>& configs) {
    std::vector<Kernel> all;
    for (const std::string& text : configs) {
      all.push_back(kernel_of(text));
      all.push_back(kernel_of(without_pdl(text)));
    }
    Cubins cubins;
    for (const Build& build : compile(all)) {
      EXPECT_EQ(build.status, Status::kOk) << build.message;
      cubins[build.facts.name] = build.cubin;
    }
    return cubins;
  }
  Bench bench() { return {*device_, nullptr, on_step_, stream()}; }

  const OnStep on_step_ = nullptr;
};

TEST_F(ChainTest, IsVerifiedAndTimedInTurns) {
  for (const std::int64_t m : {1, 16}) {
    SCOPED_TRACE(m);
    const std::vector<std::string> configs{kSingle, kSplit, kTall, kHold};
    const Study study = run_chain(request(m, configs), cubins(configs), bench());
    ASSERT_EQ(study.status, Status::kOk) << study.message;
    EXPECT_TRUE(study.verdict.correct);
    EXPECT_GT(study.verdict.error, 0);
    EXPECT_LE(study.verdict.error, study.verdict.tolerance);
    EXPECT_EQ(links_of(study.parts).size(), 8u);
    EXPECT_EQ(study.series.size(), 3u);
    for (const std::string_view name :
         {std::string_view(kPdlOff), std::string_view(kPdlOn), kCublasLabel}) {
      SCOPED_TRACE(name);
      const std::vector<Sample>& samples = std::as_const(study).samples(name);
      ASSERT_EQ(samples.size(), 40u) << "decode is light: the shared pace";
      for (std::size_t i = 0; i < samples.size(); ++i) {
        EXPECT_EQ(samples[i].round, static_cast<int>(i));
        EXPECT_EQ(samples[i].pace, Pace::kShared);
        EXPECT_GT(samples[i].time_us, 8) << "of eight GEMMs";
        EXPECT_GT(samples[i].sm_mhz, 0);
      }
    }
  }
}

/// A decoder's layer: q, k and v; the output with its residual; gate and up; down.
TEST_F(ChainTest, LinksHaveEpilogues) {
  std::vector<ChainLink> links;
  std::vector<Kernel> kernels;
  for (int i = 0; i < 8; ++i) {
    const char* const texts[] = {"16x3072x1024.bias", "16x1024x1024.cbf16", "16x4096x1024.swiglu",
                                 "16x1024x2048.cbf16.scaled"};
    const GemmProblem problem = parse_problem(texts[i % 4]);
    links.push_back({.problem = problem, .pdl_off = without_pdl(kTall), .pdl_on = kTall});
    for (const std::string& text : {links.back().pdl_off, links.back().pdl_on}) {
      kernels.push_back(kernel_of(text, problem));
    }
  }
  Cubins cubins;
  for (const Build& build : compile(kernels)) {
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    cubins[build.facts.name] = build.cubin;
  }
  const Study study = run_chain({.kind = std::string(kChainStudy),
                                 .label = "chain",
                                 .problem = std::nullopt,
                                 .parts = parts_of(links)},
                                cubins, bench());
  ASSERT_EQ(study.status, Status::kOk) << study.message;
  EXPECT_EQ(study.series.size(), 3u);
}

// A kernel that lets the next one come, but does not wait for the one before it: alone it is
// correct, and what a race of single shapes verifies is alone.
TEST_F(ChainTest, ALinkThatDoesNotWaitIsFound) {
  const Build hasty =
      compile_edited(kernel_of(kSingle), "swap_ab/kernel.cuh", "ptx::griddepcontrol_wait();", "");
  ASSERT_EQ(hasty.status, Status::kOk) << hasty.message;
  Cubins broken = cubins({kSingle});
  broken.at(hasty.facts.name) = hasty.cubin;
  const Study study = run_chain(request(16, {kSingle}), broken, bench());
  EXPECT_EQ(study.status, Status::kWrongResult);
  EXPECT_NE(study.message.find("pdl_on: link "), std::string::npos) << study.message;
  EXPECT_TRUE(study.series.empty());
}

TEST_F(ChainTest, AWeightThatIsNotTheReferencesIsFoundInItsLink) {
  const Stream stream;
  const std::vector<GemmProblem> links = problems(16);
  const ChainData data(links, 3, *device_, stream);
  const auto chain =
      make_kernel_chain(std::vector(links.size(), std::string(kSplit)), cubins({kSplit}), data);
  ASSERT_TRUE(verify_chain(*chain, data, true, stream).verdict.correct);

  const Operands third = data.operands(2);
  check(cudaMemsetAsync(const_cast<void*>(third.b), 0, 4096, stream.get()), "altering a weight");
  EXPECT_FALSE(data.verify(2, 1, stream).correct) << "the output is of the weight as it was";
  EXPECT_TRUE(data.verify(1, 1, stream).correct);
  EXPECT_TRUE(data.verify(3, 1, stream).correct) << "of the A that it had";
}

TEST_F(ChainTest, LinksReadWhatTheOneBeforeThemWroteWhereItSuffices) {
  const Stream stream;
  const std::vector<GemmProblem> links = problems(1);
  const ChainData data(links, 3, *device_, stream);
  for (int i = 1; i < data.links(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(data.operands(i).a == data.operands(i - 1).d, feeds(links[at - 1], links[at])) << i;
    for (int j = 0; j < i; ++j) {
      EXPECT_NE(data.operands(i).b, data.operands(j).b);
      EXPECT_NE(data.operands(i).d, data.operands(j).d);
    }
  }
  EXPECT_FALSE(feeds(links[6], links[7])) << "one of them has an A of its own";
}

}  // namespace
}  // namespace hgemm::testing
