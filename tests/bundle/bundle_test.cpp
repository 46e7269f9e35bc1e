// Bundles as files: what was written is read, and whatever happened to a file since is found.
#include "bundle/bundle.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/hash.h"
#include "tests/output/export/fixture.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

ExportPlan plan_of_every_kind() { return plan_export(recordings_of_every_kind(), {}); }

/// Bytes that stand for compiled kernels.
std::vector<std::string> made_up_cubins(std::size_t count) {
  std::vector<std::string> cubins;
  for (std::size_t i = 0; i < count; ++i) {
    cubins.push_back(
        "\x7f"
        "ELF " +
        std::to_string(i) + std::string(100 + i, static_cast<char>(i)));
  }
  return cubins;
}

std::string written(const ExportPlan& plan) {
  return bundle_file(plan, valid_for(plan), "13.0", made_up_cubins(bundle_kernels(plan).size()));
}

/// Why the bytes are refused; fails if they are not.
BundleError refusal(std::string_view bytes) {
  try {
    parse_bundle(bytes, "x.hgb");
  } catch (const BundleError& error) {
    return error;
  }
  ADD_FAILURE() << "was read";
  return {BundleFault::kNotABundle, ""};
}

/// The file with another manifest, as a program would write it that means something else by it.
std::string with_manifest(const std::string& bytes,
                          const std::function<void(nlohmann::json&)>& change) {
  const UnpackedBundle unpacked = unpack_bundle(bytes, "x.hgb");
  nlohmann::json manifest = nlohmann::json::parse(unpacked.manifest);
  change(manifest);
  const std::vector<std::string> parts = {std::string(unpacked.parts)};
  return pack_bundle(manifest.dump(), parts);
}

TEST(Bundle, IsReadAsItWasWritten) {
  const ExportPlan plan = plan_of_every_kind();
  const Bundle bundle = parse_bundle(written(plan), "x.hgb");
  const std::vector<Kernel> kernels = bundle_kernels(plan);
  const std::vector<std::string> cubins = made_up_cubins(kernels.size());
  ASSERT_EQ(bundle.kernels.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(build_name(bundle.kernels[i].kernel), build_name(kernels[i]));
    EXPECT_EQ(bundle.kernels[i].function, kernel_name(kernels[i]));
    EXPECT_EQ(bundle.kernels[i].cubin, cubins[i]);
  }
  ASSERT_EQ(bundle.rows.size(), plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const BundleRow& row = bundle.rows[i];
    const BestRow& best = plan.rows[i].best;
    EXPECT_TRUE(row.problem.same_problem(best.problem));
    EXPECT_EQ(row.gain, plan.rows[i].gain);
    EXPECT_EQ(row.time_us, best.time_us);
    EXPECT_EQ(build_name(bundle.kernels.at(static_cast<std::size_t>(row.kernel)).kernel),
              build_name(kernel_for(parse_label(*best.label), best.problem)));
  }
  EXPECT_EQ(bundle.compiler, "13.0");
  EXPECT_EQ(bundle.validity.gpu_name, "NVIDIA H200");
  EXPECT_EQ(bundle.validity.driver_min, "580.95");
  EXPECT_EQ(bundle.validity.driver_max, "580.159.04");
}

TEST(Bundle, SaysWhetherItIsBatchInvariant) {
  EXPECT_FALSE(parse_bundle(written(planned()), "x.hgb").batch_invariant);
  const ExportPlan plan =
      plan_export({recorded(export_shape(256, 512, 640),
                            {timed(std::string(kCublasLabel), 15), timed(label(kWide), 12)})},
                  {.allowed = {.batch_invariant = true}});
  const std::string bytes = written(plan);
  EXPECT_TRUE(parse_bundle(bytes, "x.hgb").batch_invariant);
  // Bundles of the schema before are read, and have no word of it.
  const std::string older = with_manifest(bytes, [](auto& manifest) {
    manifest["schema"] = "hgemm-tune bundle 1";
    manifest.erase("batch_invariant");
  });
  EXPECT_FALSE(parse_bundle(older, "x.hgb").batch_invariant);
  EXPECT_EQ(refusal(with_manifest(bytes, [](auto& m) { m.erase("batch_invariant"); })).fault,
            BundleFault::kOtherVersion);
}

TEST(Bundle, EveryByteThatChangedIsFound) {
  const std::string bytes = written(planned());
  std::mt19937 random(7);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << random() % 8));
    const BundleError error = refusal(changed);
    EXPECT_THAT(error.what(), HasSubstr("x.hgb")) << i;
    if (i > 20) {
      EXPECT_EQ(error.fault, BundleFault::kDamaged) << "byte " << i << ": " << error.what();
    }
    if (HasFailure()) return;
  }
}

TEST(Bundle, EveryTruncationIsFound) {
  const std::string bytes = written(planned());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const BundleError error = refusal(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(error.fault, size < 18 ? BundleFault::kNotABundle : BundleFault::kDamaged)
        << size << ": " << error.what();
    if (HasFailure()) return;
  }
  EXPECT_THAT(refusal(bytes + "x").what(), HasSubstr("bytes, and should have"));
}

TEST(Bundle, RandomDamageNeverEndsOtherwise) {
  const std::string bytes = written(plan_of_every_kind());
  std::mt19937 random(11);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int round = 0; round < 500; ++round) {
    std::string changed = bytes;
    for (std::size_t i = below(20) + 1; i > 0; --i) {
      changed[below(changed.size())] = static_cast<char>(random());
    }
    if (below(4) == 0) changed.erase(below(changed.size()), below(200));
    if (below(4) == 0) changed.insert(below(changed.size()), bytes, below(bytes.size()), below(99));
    if (changed != bytes) refusal(changed);
  }
}

TEST(Bundle, DamageNamesThePlaceAndTheKernel) {
  const ExportPlan plan = planned();
  std::string bytes = written(plan);
  bytes.back() ^= 1;
  const std::string last = label(config_of(bundle_kernels(plan).back()));
  EXPECT_THAT(refusal(bytes).what(),
              AllOf(HasSubstr("bytes "), HasSubstr(std::to_string(bytes.size())), HasSubstr(last),
                    HasSubstr("export it again")));
}

TEST(Bundle, OtherFilesAndOtherVersionsAreToldApart) {
  EXPECT_EQ(refusal("").fault, BundleFault::kNotABundle);
  EXPECT_EQ(refusal("SQLite format 3").fault, BundleFault::kNotABundle);
  std::string newer = written(planned());
  newer.replace(18, 1, "2");
  EXPECT_EQ(refusal(newer).fault, BundleFault::kOtherVersion);
  const std::string bytes = written(planned());
  const auto refused = [&](const std::function<void(nlohmann::json&)>& change) {
    const BundleError error = refusal(with_manifest(bytes, change));
    EXPECT_EQ(error.fault, BundleFault::kOtherVersion) << error.what();
    return std::string(error.what());
  };
  EXPECT_THAT(refused([](auto& m) { m["launch_interface"] = "0123"; }),
              HasSubstr("launched otherwise than those of this version"));
  EXPECT_THAT(refused([](auto& m) { m["schema"] = "hgemm-tune bundle 9"; }), HasSubstr("schema"));
  EXPECT_THAT(refused([](auto& m) { m["kernels"][0]["smem_bytes"] = 1; }),
              HasSubstr("launched otherwise"));
  EXPECT_THAT(refused([](auto& m) { m["kernels"][0]["label"] = "bm7"; }), HasSubstr("bm7"));
  EXPECT_THAT(refused([](auto& m) { m["rows"][0]["kernel"] = 99; }), HasSubstr("no kernel 99"));
  EXPECT_THAT(refused([](auto& m) { m["rows"][0]["kernel"] = -5; }), HasSubstr("no kernel"));
  refused([](auto& m) { m["rows"][0].erase("problem"); });
  refused([](auto& m) { m["valid_for"]["compute_capability"] = "nine"; });
  refused([](auto& m) { m = nlohmann::json::array(); });
}

TEST(Bundle, FilesThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "tuned.hgb";
  EXPECT_THROW(read_bundle(path), InputError);
  std::ofstream(path, std::ios::binary) << written(planned());
  EXPECT_EQ(read_bundle(path).rows.size(), planned().rows.size());
}

DeviceFacts measured_device() {
  return {.gpu_name = "NVIDIA H200",
          .compute_major = 9,
          .compute_minor = 0,
          .sm_count = 132,
          .driver = "580.95.05",
          .driver_cuda = 13000};
}

TEST(Validity, TellsWhyADeviceIsAnother) {
  const Validity validity = parse_bundle(written(planned()), "x.hgb").validity;
  const auto fit = [&](const std::function<void(DeviceFacts&)>& change) {
    DeviceFacts device = measured_device();
    change(device);
    const DeviceFit found = fit_of(validity, "13.0", device);
    EXPECT_EQ(found.reason.empty(), found.misfit == Misfit::kNone);
    return found.misfit;
  };
  EXPECT_EQ(fit([](auto&) {}), Misfit::kNone);
  EXPECT_EQ(fit([](auto& d) { d.driver_cuda = 13020; }), Misfit::kNone);
  EXPECT_EQ(fit([](auto& d) { d.driver = "580.200"; }), Misfit::kNone) << "the same branch";
  EXPECT_EQ(fit([](auto& d) { d.compute_major = 10; }), Misfit::kCannotRun);
  EXPECT_EQ(fit([](auto& d) { d.driver_cuda = 12080; }), Misfit::kOldDriver);
  EXPECT_EQ(fit([](auto& d) { d.gpu_name = "NVIDIA H100 80GB HBM3"; }), Misfit::kOtherGpu);
  EXPECT_EQ(fit([](auto& d) { d.sm_count = 114; }), Misfit::kOtherGpu);
  EXPECT_EQ(fit([](auto& d) { d.driver = "590.1"; }), Misfit::kOtherDriver);
  EXPECT_EQ(fit([](auto& d) { d.driver = "570.86"; }), Misfit::kOtherDriver);
  EXPECT_EQ(fit([](auto& d) { d.driver = ""; }), Misfit::kOtherDriver);
}

}  // namespace
}  // namespace hgemm
