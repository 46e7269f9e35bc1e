#include "space/label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLabel = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16";

std::string complaint(const std::string& text) {
  try {
    parse_label(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kLabel;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Label, SpellsEveryField) {
  const KernelConfig hilbert{.bm = 128,
                             .bn = 256,
                             .bk = 64,
                             .stages = 4,
                             .cluster_m = 2,
                             .consumers = 2,
                             .mma_depth = 1,
                             .order = TileOrder::kHilbert};
  EXPECT_EQ(label(hilbert), kLabel);

  const KernelConfig other{.bm = 192,
                           .bn = 72,
                           .bk = 32,
                           .stages = 11,
                           .cluster_n = 2,
                           .consumers = 3,
                           .mma_depth = 0,
                           .order = TileOrder::kGrouped,
                           .group = 16,
                           .epilogue = Epilogue::kDirect,
                           .persistent = false,
                           .dtype = Dtype::kFp16};
  EXPECT_EQ(label(other), "bm192.bn72.bk32.q11.c1x2.coop3.d0.group16.direct.single.fp16");
  EXPECT_EQ(parse_label(label(other)), other);
}

// A plain build's label says nothing of it: those of recorded results stay as they are.
TEST(Label, SaysThatABuildIsProbed) {
  KernelConfig config = parse_label(kLabel);
  EXPECT_FALSE(config.probe);
  config.probe = true;
  EXPECT_EQ(label(config), std::string(kLabel) + ".probe1");
  EXPECT_EQ(parse_label(label(config)), config);
  EXPECT_NE(parse_label(kLabel), config);
  for (const char* field : {".probe0", ".probe", ".probe1.probe1", ".probe1."}) {
    EXPECT_THAT(complaint(kLabel + std::string(field)), HasSubstr("follows the last field"))
        << field;
  }
}

TEST(Label, NamesTheFieldAtFault) {
  EXPECT_THAT(complaint(replaced("bn256", "nb256")),
              AllOf(HasSubstr("field 2 is \"nb256\""), HasSubstr("bn<columns>")));
  EXPECT_THAT(complaint(replaced("c2x1", "c2")), HasSubstr("field 5 is \"c2\""));
  EXPECT_THAT(
      complaint(replaced("hilbert", "hilbret")),
      AllOf(HasSubstr("field 8 is \"hilbret\""), HasSubstr("linear, group<rows> or hilbert")));
  EXPECT_THAT(complaint(replaced("d1.", "")), HasSubstr("field 7 is \"hilbert\""));
  EXPECT_THAT(complaint(replaced(".bf16", "")), HasSubstr("ends before field 11, bf16 or fp16"));
  EXPECT_THAT(complaint(std::string(kLabel) + ".fast"), HasSubstr("\"fast\" follows"));
  EXPECT_THAT(complaint(""), HasSubstr("field 1"));
}

TEST(Label, AcceptsExactlyWhatItWrites) {
  EXPECT_THAT(complaint(replaced("bm128", "bm0128")),
              HasSubstr(std::string("this config is written ") + kLabel));
  for (const char* number : {"bm-128", "bm+128", "bm 128", "bm1e2", "bm99999999999999999999", "bm"})
    EXPECT_THAT(complaint(replaced("bm128", number)), HasSubstr("field 1")) << number;
  EXPECT_NE(complaint(std::string(kLabel) + " "), "accepted");
  EXPECT_NE(complaint(std::string(kLabel) + "."), "accepted");
  EXPECT_NE(complaint(replaced("tma", "TMA")), "accepted");
}

TEST(Label, LeavesValidityToTheRules) {
  EXPECT_EQ(why_invalid(parse_label(replaced("bm128", "bm100"))), Rule::kTileM);
}

}  // namespace
}  // namespace hgemm
