// libhgemm_tune.so as its user meets it on a machine without a GPU: it opens bundles, says which
// kernel it would run as a source package does, and says what is wrong.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <hgemm_tuned.h>

#include <cstring>
#include <random>
#include <string>

#include "tests/runtime/support.h"

namespace hgemm {
namespace {

using namespace test;
using testing::HasSubstr;

/// One of the problems that were tuned, with some of what makes it another one.
hgemm_tuned_problem drawn(std::mt19937& random) {
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  hgemm_tuned_problem problem = hgemm_tuned_shape(below(hgemm_tuned_shape_count()));
  constexpr std::int64_t kExtents[] = {1, 7, 16, 64, 100, 256, 300, 512, 640, 1000, 4096};
  const auto extent = [&] { return kExtents[below(std::size(kExtents))]; };
  if (below(2) == 0) problem.m = extent();
  if (below(3) == 0) problem.n = extent();
  if (below(3) == 0) problem.k = extent();
  problem.lda = problem.ldb = problem.ldd = 0;
  if (below(8) == 0) problem.lda = 2048;
  problem.stride_a = problem.stride_d = 0;
  if (problem.stride_b != HGEMM_TUNED_SHARED) problem.stride_b = 0;
  if (below(6) == 0) problem.batch = below(9);
  if (below(6) == 0) problem.output = below(3);
  if (below(6) == 0) problem.layout = below(4);
  if (below(6) == 0) problem.bias = below(3);
  if (below(8) == 0) problem.dtype = below(5);
  return problem;
}

TEST(BundleRuntime, HasTheRowsOfThePackage) {
  const Opened opened;
  ASSERT_EQ(hgemm_bundle_shape_count(opened.bundle), hgemm_tuned_shape_count());
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    hgemm_tuned_problem problem{};
    ASSERT_EQ(hgemm_bundle_shape(opened.bundle, i, &problem), 0);
    const hgemm_tuned_problem expected = hgemm_tuned_shape(i);
    EXPECT_EQ(problem.m, expected.m);
    EXPECT_EQ(problem.n, expected.n);
    EXPECT_EQ(problem.k, expected.k);
    EXPECT_EQ(problem.batch, expected.batch);
    EXPECT_EQ(problem.layout, expected.layout);
    EXPECT_EQ(problem.activation, expected.activation);
  }
  hgemm_tuned_problem problem{};
  EXPECT_EQ(hgemm_bundle_shape(opened.bundle, -1, &problem), HGEMM_BUNDLE_BAD_ARGUMENT);
  EXPECT_EQ(hgemm_bundle_shape(opened.bundle, hgemm_tuned_shape_count(), &problem),
            HGEMM_BUNDLE_BAD_ARGUMENT);
  EXPECT_THAT(hgemm_bundle_manifest(opened.bundle), HasSubstr("\"valid_for\""));
}

TEST(BundleRuntime, SelectsAsThePackageDoes) {
  const Opened opened;
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    const hgemm_tuned_problem problem = drawn(random);
    const hgemm_tuned_selection expected = hgemm_tuned_select(&problem);
    hgemm_tuned_selection selection{};
    ASSERT_EQ(hgemm_bundle_select(opened.bundle, &problem, &selection), expected.status) << i;
    EXPECT_EQ(selection.source, expected.source);
    EXPECT_EQ(selection.gain, expected.gain);
    EXPECT_EQ(selection.tuned_m, expected.tuned_m);
    EXPECT_EQ(selection.tuned_batch, expected.tuned_batch);
    ASSERT_EQ(selection.label == nullptr, expected.label == nullptr);
    if (selection.label == nullptr) continue;
    ++found;
    EXPECT_STREQ(selection.label, expected.label);
    EXPECT_NEAR(selection.tuned_us, expected.tuned_us, 1e-3);
  }
  EXPECT_GT(found, 300);
  EXPECT_LT(found, 2900);
}

TEST(BundleRuntime, RefusesWhatIsNoBundle) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "x.hgb").string();
  const auto status_of = [&](const std::string& bytes) {
    replace_file(path, bytes);
    hgemm_bundle* bundle = nullptr;
    const int status = hgemm_bundle_open(path.c_str(), &bundle);
    EXPECT_EQ(bundle, nullptr);
    EXPECT_THAT(hgemm_bundle_error(), HasSubstr(path));
    return status;
  };
  const std::string bytes = bundle_bytes(plan_of_package());
  EXPECT_EQ(status_of("something else"), HGEMM_BUNDLE_NOT_A_BUNDLE);
  EXPECT_EQ(status_of(bytes.substr(0, bytes.size() - 1)), HGEMM_BUNDLE_DAMAGED);
  std::string changed = bytes;
  changed[bytes.size() / 2] ^= 4;
  EXPECT_EQ(status_of(changed), HGEMM_BUNDLE_DAMAGED);
  changed = bytes;
  changed.replace(18, 1, "7");
  EXPECT_EQ(status_of(changed), HGEMM_BUNDLE_OTHER_VERSION);
  hgemm_bundle* bundle = nullptr;
  EXPECT_EQ(hgemm_bundle_open((path + ".missing").c_str(), &bundle), HGEMM_BUNDLE_NO_FILE);
  EXPECT_EQ(hgemm_bundle_open(nullptr, &bundle), HGEMM_TUNED_NULL_POINTER);
}

TEST(BundleRuntime, TellsDevicesApart) {
  const Opened opened;
  const hgemm_bundle_device measured{"NVIDIA H200", 9, 0, 132, "580.95.05", 13000};
  const auto status_of = [&](hgemm_bundle_device device, unsigned flags = 0) {
    return hgemm_bundle_check(opened.bundle, &device, flags);
  };
  EXPECT_EQ(status_of(measured), 0);
  hgemm_bundle_device other = measured;
  other.gpu_name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(status_of(other), HGEMM_BUNDLE_OTHER_GPU);
  EXPECT_THAT(hgemm_bundle_error(), HasSubstr("H100 80GB"));
  EXPECT_EQ(status_of(other, HGEMM_BUNDLE_ANY_GPU), 0);
  other = measured;
  other.driver = "595.10";
  EXPECT_EQ(status_of(other), HGEMM_BUNDLE_OTHER_DRIVER);
  EXPECT_EQ(status_of(other, HGEMM_BUNDLE_ANY_GPU), HGEMM_BUNDLE_OTHER_DRIVER);
  EXPECT_EQ(status_of(other, HGEMM_BUNDLE_ANY_DRIVER), 0);
  other.driver = nullptr;
  EXPECT_EQ(status_of(other), HGEMM_BUNDLE_OTHER_DRIVER);
  other.driver_cuda = 12080;
  EXPECT_EQ(status_of(other, HGEMM_BUNDLE_ANY_DRIVER), HGEMM_BUNDLE_OLD_DRIVER);
  other.compute_major = 10;
  EXPECT_EQ(status_of(other, HGEMM_BUNDLE_ANY_GPU | HGEMM_BUNDLE_ANY_DRIVER),
            HGEMM_BUNDLE_CANNOT_RUN);
}

TEST(BundleRuntime, LoadsWithoutADriverAndSaysSo) {
  const Opened opened;
  const hgemm_tuned_problem problem = c_problem(0, 512, 640);
  hgemm_bundle_plan* plan = nullptr;
  int weight = 0;
  EXPECT_EQ(hgemm_bundle_plan_create(opened.bundle, 0, &problem, &weight, 0, &plan),
            HGEMM_BUNDLE_NOT_PREPARED);
  EXPECT_EQ(plan, nullptr);
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  EXPECT_EQ(hgemm_bundle_prepare(opened.bundle, 0, 0), HGEMM_BUNDLE_NO_DRIVER);
  EXPECT_THAT(hgemm_bundle_error(), HasSubstr("libcuda.so.1"));
}

TEST(BundleRuntime, EveryStatusHasAText) {
  const std::string unknown = hgemm_bundle_status_string(99);
  for (int status = 0; status <= HGEMM_TUNED_WORKSPACE_NOT_INITIALISED; ++status) {
    EXPECT_NE(hgemm_bundle_status_string(status), unknown) << status;
  }
  for (int status = HGEMM_BUNDLE_NO_FILE; status <= HGEMM_BUNDLE_NO_MEMORY; ++status) {
    EXPECT_NE(hgemm_bundle_status_string(status), unknown) << status;
  }
  EXPECT_EQ(hgemm_bundle_abi(), HGEMM_BUNDLE_ABI);
}

}  // namespace
}  // namespace hgemm
