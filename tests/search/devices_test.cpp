// The devices file that ships, and what is said of one that is wrong.
#include "search/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kShipped = HGEMM_SOURCE_DIR "/configs/devices.yaml";

Device shipped(const std::string& name) { return choose_devices(load_devices(kShipped), name)[0]; }

TEST(ShippedDevices, AreTheHoppersWithASourceForEachFigure) {
  const auto devices = load_devices(kShipped);
  std::vector<std::string> names;
  for (const Device& device : devices) {
    names.push_back(device.name);
    EXPECT_FALSE(device.memory_tbps.source.empty());
    EXPECT_EQ(device.smem_bytes_per_clk.value, 128);
    if (!device.read_tbps) continue;
    EXPECT_LT(device.read_tbps->value, device.memory_tbps.value) << device.name;
  }
  EXPECT_THAT(names, ElementsAre("H20", "H100-PCIe", "H100-SXM", "H800", "H200"));
}

TEST(ShippedDevices, FollowTheWhitepapersFormula) {
  for (const char* name : {"H100-PCIe", "H100-SXM", "H800", "H200"}) {
    const Device device = shipped(name);
    EXPECT_NEAR(device.derived_flops_per_tensor_core_clk(MmaInput::kBf16), 1024, 2) << name;
    EXPECT_EQ(device.flops_per_sm_clk(MmaInput::kBf16), 4096) << name;
    EXPECT_EQ(device.flops_per_sm_clk(MmaInput::kFp8), 8192) << name;
  }
  EXPECT_NEAR(shipped("H100-SXM").model_mhz(), 1830, 1);
  EXPECT_NEAR(shipped("H100-PCIe").model_mhz(), 1620, 1);
}

TEST(ShippedDevices, TheH20HasAQuarterOfTheRatePerSm) {
  const Device h20 = shipped("H20");
  EXPECT_NEAR(h20.derived_flops_per_tensor_core_clk(MmaInput::kBf16), 239.6, 0.1);
  EXPECT_EQ(h20.flops_per_sm_clk(MmaInput::kBf16), 1024);
  EXPECT_EQ(h20.flops_per_sm_clk(MmaInput::kFp8), 2048);
}

TEST(ShippedDevices, RidgesAreWhereTheirFiguresMeet) {
  const auto ridge = [](const char* name) { return shipped(name).ridge(MmaInput::kBf16); };
  EXPECT_NEAR(ridge("H20"), 37, 0.1);
  EXPECT_NEAR(ridge("H100-PCIe"), 378, 0.1);
  EXPECT_NEAR(ridge("H100-SXM"), 295.3, 0.1);
  EXPECT_NEAR(ridge("H200"), 206.1, 0.1);
  EXPECT_NEAR(shipped("H100-SXM").ridge(MmaInput::kFp8), 590.7, 0.1);
}

TEST(ShippedDevices, AreMatchedByTheDriversExactName) {
  EXPECT_TRUE(shipped("H200").is("NVIDIA H200"));
  EXPECT_FALSE(shipped("H20").is("NVIDIA H200"));
  EXPECT_FALSE(shipped("H20").is("NVIDIA H20-3e")) << "another memory";
}

TEST(ChoosingDevices, IgnoresCaseAndNamesTheKnownOnes) {
  const auto devices = load_devices(kShipped);
  EXPECT_EQ(choose_devices(devices, "all").size(), devices.size());
  ASSERT_EQ(choose_devices(devices, "h100-sxm").size(), 1u);
  try {
    choose_devices(devices, "H100-SMX");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'H100-SMX'"), HasSubstr("did you mean"),
                                    HasSubstr("H100-SXM"), HasSubstr("devices.yaml")));
  }
}

class DevicesFile : public ::testing::Test {
 protected:
  static constexpr const char* kGood =
      "references: [{id: sheet, text: A datasheet}]\n"
      "devices:\n"
      "  - name: X1\n"
      "    gpu_names: [NVIDIA X1]\n"
      "    sms: [132, sheet]\n"
      "    tensor_cores_per_sm: [4, \"sheet, page 2\"]\n"
      "    boost_mhz: [1980, sheet]\n"
      "    tensor_mhz: [1830, sheet]\n"
      "    peak_tflops: [989.4, sheet]\n"
      "    peak_fp8_tflops: [1978.9, sheet]\n"
      "    memory_tbps: [3.35, sheet]\n"
      "    memory_gb: [80, sheet]\n"
      "    l2_mb: [50, sheet]\n"
      "    power_w: [700, sheet]\n"
      "    smem_bytes_per_clk: [128, sheet]\n";

  std::vector<Device> load(const std::string& text) {
    return load_devices(files_.write("devices.yaml", text));
  }
  /// The complaint after `from` became `to`, without the file's name: "5:10: found ...".
  std::string complaint(const std::string& from, const std::string& to) {
    std::string text = kGood;
    text.replace(text.find(from), from.size(), to);
    const std::string path = files_.write("devices.yaml", text);
    try {
      load_devices(path);
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, StartsWith(path + ":"));
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(std::min(message.size(), path.size() + 1));
    }
    return "accepted";
  }

  ScratchFiles files_;
};

TEST_F(DevicesFile, IsRead) {
  const auto devices = load(kGood);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].sms.value, 132);
  EXPECT_EQ(devices[0].tensor_cores_per_sm.source, "sheet, page 2");
  EXPECT_EQ(devices[0].memory_tbps.value, 3.35);
}

TEST_F(DevicesFile, ACardMayBeSlow) {
  std::string text = std::string(kGood) + "    read_tbps: [0.25, sheet]\n";
  text.replace(text.find("3.35"), 4, "0.3");
  text.replace(text.find("1980"), 4, "400");
  const Device device = load(text)[0];
  EXPECT_EQ(device.boost_mhz.value, 400);
  EXPECT_EQ(device.memory_tbps.value, 0.3);
  ASSERT_TRUE(device.read_tbps);
  EXPECT_EQ(device.read_tbps->value, 0.25);
}

TEST_F(DevicesFile, IsAsGoodAsItsText) {
  EXPECT_EQ(parse_devices(kGood, "text").size(), 1u);
  EXPECT_THROW(parse_devices(std::string(kGood) + "--- []", "text"), InputError);
  std::string many = "references:\n";
  for (int i = 0; i < 101; ++i) many += "  - {id: a, text: b}\n";
  EXPECT_THAT(complaint(std::string(kGood).substr(0, std::string(kGood).find("devices:")), many),
              HasSubstr("found 101 references; expected at most 100"));
}

TEST_F(DevicesFile, WithoutATensorClockTheBoostClockCounts) {
  std::string text = kGood;
  text.replace(text.find("    tensor_mhz"), std::string("    tensor_mhz: [1830, sheet]\n").size(),
               "");
  const Device device = load(text)[0];
  EXPECT_NEAR(device.derived_flops_per_tensor_core_clk(MmaInput::kBf16), 1024 * 1830.0 / 1980, 1);
  EXPECT_EQ(device.flops_per_tensor_core_clk(MmaInput::kBf16), 1024);
}

TEST_F(DevicesFile, AFigureNeedsAKnownSource) {
  EXPECT_THAT(complaint("sms: [132, sheet]", "sms: 132"),
              AllOf(StartsWith("5:10: found \"132\" for sms"), HasSubstr("[value, source]")));
  EXPECT_THAT(complaint("sms: [132, sheet]", "sms: [132, sheep]"),
              AllOf(StartsWith("5:16: "), HasSubstr("\"sheep\""), HasSubstr("sheet")));
}

TEST_F(DevicesFile, WrongFiguresAreShownWhereTheyStand) {
  EXPECT_THAT(complaint("132", "a lot"), AllOf(StartsWith("5:11: "), HasSubstr("\"a lot\"")));
  EXPECT_THAT(complaint("132", "131.5"), AllOf(StartsWith("5:11: "), HasSubstr("whole number")));
  EXPECT_THAT(complaint("132", "0"), StartsWith("5:11: "));
  EXPECT_THAT(complaint("3.35", "nan"), AllOf(StartsWith("11:19: "), HasSubstr("memory_tbps")));
  EXPECT_THAT(complaint("sms:", "sm:"), AllOf(StartsWith("5:5: "), HasSubstr("\"sms\"")));
  EXPECT_THAT(complaint("    l2_mb: [50, sheet]\n", ""), HasSubstr("no \"l2_mb\""));
}

// The cost model divides by most of them.
TEST_F(DevicesFile, NoFigureMayBeZero) {
  for (const std::string figure :
       {"sms: [132", "tensor_cores_per_sm: [4", "boost_mhz: [1980", "tensor_mhz: [1830",
        "peak_tflops: [989.4", "peak_fp8_tflops: [1978.9", "memory_tbps: [3.35", "memory_gb: [80",
        "l2_mb: [50", "power_w: [700", "smem_bytes_per_clk: [128"}) {
    const std::string key = figure.substr(0, figure.find(':'));
    EXPECT_THAT(complaint(figure, key + ": [0"), HasSubstr("found \"0\" for " + key));
  }
}

TEST_F(DevicesFile, APeakThatTheSmsAndTheClockCannotGiveIsNoticed) {
  EXPECT_THAT(complaint("989.4", "756"),
              AllOf(StartsWith("9:18: "), HasSubstr("782.4 FLOP per tensor core and clock"),
                    HasSubstr("power of two")));
  EXPECT_THAT(complaint("1978.9", "1513"), StartsWith("10:22: "));
}

}  // namespace
}  // namespace hgemm
