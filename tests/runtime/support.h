// A bundle of the made-up recording of the export tests, with bytes that stand for its cubins.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "hgemm_bundle.h"
#include "tests/output/export/fixture.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::test {

/// The plan that write_package exports.
inline ExportPlan plan_of_package() {
  return plan_export(recordings_of_package(), {.allowed = {.pdl = PdlKind::kWeights}});
}

/// It and a kernel that packs rows which begin anywhere.
inline ExportPlan plan_with_packing() {
  std::vector<RecordedRace> races = recordings_of_package();
  races.push_back(recorded(
      export_shape(256, 512, 641),
      {timed(std::string(kCublasLabel), 15), timed(label(TiledConfig{.pack = true}), 12)}));
  return plan_export(races, {.allowed = {.pdl = PdlKind::kWeights}});
}

/// Kernels that give a row of D the same bits whatever M is, without a gain at 16 rows, and with
/// extents that are constants there; and one that packs.
inline ExportPlan plan_of_invariant() {
  SwapAbConfig few{.bm = 16, .bn = 64, .fixed = true};
  const std::string cublas(kCublasLabel);
  return plan_export(
      {recorded(export_shape(256, 512, 640), {timed(cublas, 15), timed(label(kWide), 12)}),
       recorded(export_shape(16, 512, 640),
                {timed(cublas, 8), timed(label(few), 9), timed(label(kSwapAb), 7)}),
       recorded(export_shape(256, 512, 641),
                {timed(cublas, 15), timed(label(TiledConfig{.pack = true}), 12)})},
      {.allowed = {.batch_invariant = true}});
}

/// It and a kernel whose weight is gates and then ups.
inline ExportPlan plan_with_gates() {
  std::vector<RecordedRace> races = recordings_of_package();
  GemmProblem gated = export_shape(256, 512, 640);
  gated.epilogue = {Bias::kNone, Activation::kSilu, Gate::kHalves};
  races.push_back(
      recorded(gated, {timed(std::string(kCublasLabel), 15), timed(label(TiledConfig{}), 12)}));
  return plan_export(races, {.allowed = {.pdl = PdlKind::kWeights}});
}

inline std::string bundle_bytes(const ExportPlan& plan) {
  std::vector<std::string> cubins;
  for (const Kernel& kernel : bundle_kernels(plan)) {
    cubins.push_back(
        "\x7f"
        "ELF " +
        kernel_name(kernel));
  }
  return bundle_file(plan, valid_for(plan), "13.0", cubins);
}

/// An open bundle, in a folder of its own.
struct Opened {
  TemporaryFolder folder;
  std::string path = (folder.path() / "tuned.hgb").string();
  hgemm_bundle* bundle = nullptr;

  explicit Opened(const std::string& bytes = bundle_bytes(plan_of_package())) {
    replace_file(path, bytes);
    EXPECT_EQ(hgemm_bundle_open(path.c_str(), &bundle), 0) << hgemm_bundle_error();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { hgemm_bundle_close(bundle); }

  std::string misses() const {
    std::size_t bytes = 0;
    EXPECT_EQ(hgemm_bundle_misses(bundle, nullptr, 0, &bytes), HGEMM_BUNDLE_SMALL_BUFFER);
    std::string text(bytes, '\0');
    EXPECT_EQ(hgemm_bundle_misses(bundle, text.data(), bytes, &bytes), 0);
    text.resize(bytes - 1);
    return text;
  }
};

/// A problem of the C interface with every field at its default.
inline hgemm_tuned_problem c_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  hgemm_tuned_problem problem{};
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

}  // namespace hgemm::test
