// Estimates of the size of the whole space, against all points of random parts of it.
#include "search/whole_size.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace hgemm {
namespace {

using testing::Contains;
using testing::Gt;
using testing::Lt;

/// Leaves at most `most` values, chosen at random.
template <class Config>
void thin_out(AxisDomain<Config>& domain, std::size_t most, std::mt19937_64& random) {
  std::ranges::shuffle(domain.values, random);
  domain.values.resize(std::min(domain.values.size(), most));
}

/// A random part of a family's space, of some thousand points.
template <class Config>
Product<Config> part_of(std::mt19937_64& random) {
  Product<Config> product(GemmKind{}, {});
  for (auto& domain : product.tile) thin_out(domain, 3, random);
  for (auto& domain : product.work) thin_out(domain, 3, random);
  for (auto& domain : product.detail) thin_out(domain, 1 + random() % 2, random);
  if (product.stages) thin_out(*product.stages, 2, random);
  return product;
}

/// Calls `visit` with every point of the product.
template <class Config, class Visit>
void for_each_point(const Product<Config>& product, const Visit& visit) {
  std::vector<AxisDomain<Config>> all = product.tile;
  all.insert(all.end(), product.work.begin(), product.work.end());
  all.insert(all.end(), product.detail.begin(), product.detail.end());
  if (product.stages) all.push_back(*product.stages);
  Config config;
  Product<Config>::for_each(all, config, [&] { visit(config); });
}

template <class Config>
void expect_estimates_of_parts(int parts) {
  std::mt19937_64 random(11);
  for (const Allowed allowed : {Allowed{}, Allowed{.pdl = PdlKind::kSafe}}) {
    double estimated = 0, valid = 0, estimated_rejected = 0, rejected = 0;
    for (int i = 0; i < parts; ++i) {
      const Product<Config> part = part_of<Config>(random);
      for_each_point(part, [&](const Config& config) {
        if (!part.is_valid(config)) {
          ++rejected;
        } else if (allows(allowed, KernelConfig(config), part.types())) {
          ++valid;
        }
      });
      SpaceCount size;
      WholeSize<Config>(part, allowed).add_to(size);
      estimated += static_cast<double>(size.valid);
      for (const auto& [rule, points] : size.rejected) {
        estimated_rejected += static_cast<double>(points);
      }
    }
    EXPECT_THAT(valid, Gt(1000)) << "the parts are too small to say anything";
    EXPECT_NEAR(estimated / valid, 1, 0.1);
    EXPECT_NEAR(estimated_rejected / rejected, 1, 0.05);
  }
}

TEST(WholeSize, IsNearThatOfAllPointsOfPartsOfTheTiledFamily) {
  expect_estimates_of_parts<TiledConfig>(80);
}
TEST(WholeSize, IsNearThatOfAllPointsOfPartsOfTheSwapAbFamily) {
  expect_estimates_of_parts<SwapAbConfig>(60);
}
TEST(WholeSize, IsNearThatOfAllPointsOfPartsOfTheGemvFamily) {
  expect_estimates_of_parts<GemvConfig>(60);
}

TEST(WholeSize, IsLessForStricterTypesAndLessPdl) {
  const SpaceCount bf16 = whole_size({}, {});
  EXPECT_TRUE(bf16.estimated);
  const GemmKind fp32_out{.output = DataType::kFp32};
  EXPECT_THAT(whole_size({&fp32_out, 1}, {}).valid, Lt(bf16.valid));
  EXPECT_THAT(whole_size({}, {.pdl = PdlKind::kOff}).valid, Lt(bf16.valid));
  const SpaceCount invariant = whole_size({}, {.batch_invariant = true});
  EXPECT_THAT(invariant.valid, Lt(bf16.valid));
  EXPECT_THAT(invariant.axes.at("scheduler"), testing::Not(Contains("csplit8")));
  EXPECT_THAT(bf16.axes.at("bk"), testing::ElementsAre("32", "64", "128"));
  EXPECT_THAT(bf16.axes.at("scheduler"), Contains("csplit8"));
  EXPECT_GT(bf16.rejected.at("shared_memory"), 0);
  EXPECT_FALSE(bf16.reasons.at("shared_memory").empty());
}

TEST(WholeSize, OfAProblemHasOnlyWhatSuitsIt) {
  const GemmProblem large{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
  const GemmProblem odd{.m = 4096, .n = 4099, .k = 4099, .tag = ""};
  const GemmProblem fp32{.m = 64,
                         .n = 64,
                         .k = 64,
                         .a_type = DataType::kFp32,
                         .b_type = DataType::kFp32,
                         .d_type = DataType::kFp32,
                         .tag = ""};
  std::vector<Scope> scopes;
  for (const GemmProblem& problem : {large, odd, fp32, large}) {
    scopes.push_back({.problem = problem});
  }
  const std::vector<std::int64_t> sizes = whole_sizes(scopes);
  EXPECT_THAT(sizes[0], Lt(whole_size({}, {}).valid)) << "without pack and staged";
  EXPECT_THAT(sizes[1], Gt(0));
  EXPECT_NE(sizes[1], sizes[0]);
  EXPECT_EQ(sizes[2], 0);
  EXPECT_EQ(sizes[3], sizes[0]);
}

}  // namespace
}  // namespace hgemm
