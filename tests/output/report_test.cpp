// What a report shows: every section from made-up recordings, and a labelled gap where there are
// none.
#include "output/report.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "families/family.h"
#include "output/json.h"
#include "search/space.h"
#include "search/strategy.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/ladder.h"
#include "studies/micro/points.h"
#include "studies/probe/cycles.h"
#include "studies/registry.h"
#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::vector<std::string> kSections = {"best",  "sustained",  "ladder", "cycles",
                                            "wgmma", "tile_order", "tiles",  "search"};
const GemmProblem kLarge{.m = 8192, .n = 8192, .k = 8192, .tag = "square"};

ReportInput input() {
  ReportInput input;
  input.devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  input.space = load_space("full", HGEMM_SOURCE_DIR "/configs");
  input.databases = {"made-up.db"};
  input.command_line = "hgemm-tune report -o there";
  return input;
}

Json data(const ReportInput& input) { return Json::parse(report_data(input, study_sections)); }

std::vector<std::string> gaps(const Json& data) {
  std::vector<std::string> names;
  for (const std::string& section : kSections) {
    if (!data.at(section).contains("missing")) {
      EXPECT_TRUE(data.at(section).contains("source")) << section;
      continue;
    }
    EXPECT_THAT(data.at(section), SizeIs(2)) << section;
    EXPECT_THAT(data.at(section).at("how").get<std::string>(), HasSubstr("hgemm-tune ")) << section;
    names.push_back(section);
  }
  return names;
}

/// Ours takes 9 us and cublas 10, in rounds at the own pace where both draw 690 W.
RecordedRace race(const GemmProblem& problem,
                  const std::string& started_utc = "2026-11-20T10:00:00Z") {
  const auto powered = [](Trial trial) {
    for (Sample& sample : trial.samples) sample.power_w = 690;
    return trial;
  };
  RecordedRace race =
      test::race({powered(test::ok(test::kC, test::samples(9, 3, 9, 0, Pace::kOwn))),
                  powered(test::ok("cublas", test::samples(10, 3, 9, 1, Pace::kOwn))),
                  powered(test::ok("cublaslt.2", test::samples(9.5, 3, 9, 2, Pace::kOwn)))},
                 "580", problem);
  race.started_utc = started_utc;
  race.command_line = "hgemm-tune --shapes made-up";
  race.run.kernel_sources = "0123456789abcdef";
  race.environment.power_limit_w = 700;
  return race;
}

RecordedStudy study(std::string_view kind, const std::string& label,
                    const std::optional<GemmProblem>& problem = kLarge) {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.started_utc = "2026-11-21T10:00:00Z";
  recorded.command_line = "hgemm-tune study";
  recorded.study.kind = kind;
  recorded.study.label = label;
  recorded.study.problem = problem;
  return recorded;
}

std::string step_label(const char* name) {
  return ladder_label({chosen_ladder_steps(name).front(), DataType::kBf16});
}

/// A timed step with its L2 hits, a probed config with a timeline, and one wgmma.
std::vector<RecordedStudy> studies() {
  std::vector<RecordedStudy> all;
  RecordedStudy step = study(kLadderStudy, step_label("hopper.11"));
  step.study.verdict.correct = true;
  step.study.samples(kStepSeries) = test::samples(1400, 0, 9, 0, Pace::kRested);
  step.study.samples(kCublasLabel) = test::samples(1350, 0, 9, 0, Pace::kRested);
  all.push_back(step);

  RecordedStudy counted = study(kCountersStudy, step_label("hopper.11"));
  counted.study.figures = {counter_figure("l2_hit_rate", "%", 78.5, "lts__")};
  all.push_back(counted);

  RecordedStudy probe =
      study(kProbeStudy, "bm128.bn256.bk64.q4.c2x1.coop2.d0.group8.overlap.persist.probe1",
            GemmProblem{.m = 4096, .n = 4096, .k = 4096, .tag = ""});
  const auto figure = [](const char* phase, const char* unit, std::int64_t count, double cycles) {
    return CycleFigure{
        .role = "consumer", .phase = phase, .unit = unit, .count = count, .cycles = cycles};
  };
  probe.study.figures =
      recorded_cycles({figure("wait_full", "k_block", 10, 1000),
                       figure("mma_issue", "k_block", 10, 9000), figure("total", "cta", 1, 10500)});
  probe.study.spans = {{.sm = 6,
                        .cta = 10,
                        .role = "consumer 0",
                        .phase = "main_loop",
                        .tile = 9,
                        .start_ns = 2000,
                        .end_ns = 5000},
                       {.sm = 7,
                        .cta = 11,
                        .role = "consumer 1",
                        .phase = "main_loop",
                        .tile = 9,
                        .start_ns = 1000,
                        .end_ns = 4000},
                       {.sm = 6,
                        .cta = 10,
                        .role = "producer",
                        .phase = "drain",
                        .tile = -1,
                        .start_ns = 6000,
                        .end_ns = 7000}};
  all.push_back(probe);

  RecordedStudy micro =
      study(kMicroStudy, "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", std::nullopt);
  micro.study.figures = {{.point = "",
                          .metric = "cycles",
                          .unit = "clk",
                          .value = 64.5,
                          .low = 64,
                          .high = 65,
                          .samples = 5}};
  all.push_back(micro);
  return all;
}

TEST(ReportData, NothingRecordedIsAGapInEverySection) {
  const Json json = data(input());
  EXPECT_EQ(json.at("schema"), 2);
  EXPECT_TRUE(json.at("configs").contains("missing"));
  EXPECT_TRUE(json.at("comparison").is_null());
  EXPECT_EQ(gaps(json), kSections);
  EXPECT_TRUE(json.at("gpu").is_null());
  EXPECT_TRUE(json.at("device").is_null());
  EXPECT_THAT(json.at("databases"), ElementsAre("made-up.db"));
  EXPECT_EQ(json.at("command"), "hgemm-tune report -o there");
}

TEST(ReportData, StudiesAloneLeaveGapsForRaces) {
  ReportInput from = input();
  from.studies = studies();
  EXPECT_THAT(gaps(data(from)), ElementsAre("best", "sustained", "tiles", "search"));
}

TEST(ReportData, RacesAloneLeaveGapsForStudies) {
  ReportInput from = input();
  from.races = {race(kLarge)};
  EXPECT_THAT(gaps(data(from)), ElementsAre("ladder", "cycles", "wgmma", "tiles", "search"))
      << "one config is no space; the order of tiles can be computed";
}

TEST(ReportData, ARowSaysHowFastWhereWhenAndByWhich) {
  ReportInput from = input();
  from.races = {race(kLarge), race({.m = 16, .n = 4096, .k = 4096, .tag = "decode/qkv"})};
  const Json best = data(from).at("best");
  ASSERT_THAT(best.at("rows"), SizeIs(2));
  const Json& row = best.at("rows")[0];
  EXPECT_EQ(row.at("label"), test::kC);
  EXPECT_EQ(row.at("group"), "square");
  EXPECT_EQ(best.at("rows")[1].at("group"), "decode");
  EXPECT_NEAR(row.at("ratio_cublas"), 10 / 9.0, 0.005);
  EXPECT_NEAR(row.at("intensity"), 8192 / 3.0, 1e-6);
  EXPECT_NEAR(row.at("cublas_tflops").get<double>() * row.at("ratio_cublas").get<double>(),
              row.at("tflops").get<double>(), 0.01 * row.at("tflops").get<double>());
  EXPECT_EQ(row.at("pdl"), "off");
  EXPECT_EQ(row.at("kernel"), "0123456789ab");
  const Json& source = best.at("source");
  EXPECT_THAT(source.at("environments"), ElementsAre(HasSubstr("NVIDIA H200 (132 SMs)")));
  EXPECT_THAT(source.at("commands"), ElementsAre("hgemm-tune --shapes made-up"));
  EXPECT_THAT(source.at("regimes"), ElementsAre("sustained"));
  EXPECT_EQ(source.at("dates"), "2026-11-20");
}

const std::string kSafe = label(TiledConfig{.bn = 128, .pdl = true});
const std::string kWeights = label(SwapAbConfig{.bm = 64, .bn = 64, .pdl = true});

/// A config of each PDL kind, the boldest the fastest, and a second one without.
RecordedRace race_of_kinds() {
  return test::race(
      {test::ok(test::kC, test::samples(9.5, 3, 9)),
       test::ok(test::kA, test::samples(12, 0, 2), Stage::kScreen),
       test::ok(kSafe, test::samples(9, 3, 9, 1)), test::ok(kWeights, test::samples(8, 3, 9, 2)),
       test::ok("cublas", test::samples(10, 0, 12, 3)),
       test::failed(test::kB, Status::kCompileFailed)},
      "580", kLarge);
}

TEST(ReportData, EachPdlKindHasARowThatSaysForWhichSwitchItIsTheAnswer) {
  ReportInput from = input();
  from.races = {race_of_kinds(), race({.m = 512, .n = 512, .k = 512, .tag = "square"})};
  const Json rows = data(from).at("best").at("rows");
  std::vector<std::string> seen;
  for (const Json& row : rows) {
    seen.push_back(row.at("pdl").get<std::string>() + " " + compact(row.at("levels")));
  }
  EXPECT_THAT(seen, ElementsAre("off [\"off\"]", "safe [\"safe\"]", "weights [\"weights\"]",
                                "off [\"off\",\"safe\",\"weights\"]"))
      << "kernels of one shape only, of which the boldest is the fastest, have an answer each";
  EXPECT_EQ(rows[0].at("label"), test::kC);
  EXPECT_EQ(rows[1].at("label"), kSafe);
  EXPECT_EQ(rows[2].at("label"), kWeights);
  EXPECT_EQ(rows[0].at("race"), rows[2].at("race"));
  EXPECT_NE(rows[0].at("race"), rows[3].at("race"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i].at("pdl_off_label"), test::kC) << i;

  for (Trial& trial : from.races[0].race.trials) {
    if (trial.label == kWeights) trial.samples = test::samples(20, 3, 9);
  }
  const Json slower = data(from).at("best").at("rows");
  EXPECT_THAT(slower[1].at("levels"), ElementsAre("safe", "weights"));
  EXPECT_EQ(slower[2].at("label"), kWeights);
  EXPECT_THAT(slower[2].at("levels"), IsEmpty()) << "a bolder kernel that is slower is no answer";
}

TEST(ReportData, ARaceHasAllItsConfigsWithTheirAxes) {
  ReportInput from = input();
  from.races = {race_of_kinds()};
  const Json configs = data(from).at("configs");
  ASSERT_THAT(configs.at("races"), SizeIs(1));
  const Json& race = configs.at("races")[0];
  std::vector<std::string> labels;
  for (const Json& place : race.at("config")) {
    labels.push_back(configs.at("labels")[place.get<std::size_t>()]);
  }
  EXPECT_THAT(labels, ElementsAre(kWeights, kSafe, test::kC, test::kA)) << "fastest first";
  EXPECT_EQ(race.at("not_timed"), (Json{{"compile_failed", 1}}));
  EXPECT_EQ(race.at("winner"), kWeights);
  EXPECT_THAT(race.at("final"), ElementsAre(1, 1, 1, 0));
  EXPECT_NEAR(race.at("speed")[1], 10 / 9.0, 0.005);
  EXPECT_LE(race.at("low")[1], race.at("speed")[1]);
  EXPECT_GE(race.at("high")[1], race.at("speed")[1]);
  EXPECT_TRUE(race.at("low")[3].is_null()) << "screening has no interval";
  EXPECT_EQ(race.at("sm_mhz")[0], 1500);
  const auto value_of = [&](const char* axis, std::size_t config) -> std::string {
    const Json& values = configs.at("axes").at(axis);
    const int at = values.at("of")[race.at("config")[config].get<std::size_t>()];
    return at < 0 ? "" : values.at("values")[static_cast<std::size_t>(at)].get<std::string>();
  };
  EXPECT_EQ(value_of("tile", 1), "128x128");
  EXPECT_EQ(value_of("family", 0), "swap_ab");
  EXPECT_EQ(value_of("order", 0), "") << "an axis that its family lacks";
}

TEST(ReportData, ALargeRaceKeepsItsFastestHalfAndSomeOfEverySpeed) {
  std::vector<Trial> trials{test::ok("cublas", test::samples(1400, 0, 9))};
  int count = 0;
  for (int bn = 8; bn <= 256; bn += 8) {
    for (int q = 2; q <= 16; ++q) {
      for (const int bm : {64, 128}) {
        const TiledConfig config{.bm = bm, .bn = bn, .stages = q, .consumers = bm / 64};
        trials.push_back(test::ok(label(config), test::samples(1000 + count++, 0, 9)));
      }
    }
  }
  ReportInput from = input();
  from.races = {test::race(trials, "580", kLarge)};
  const Json configs = data(from).at("configs");
  const Json& race = configs.at("races")[0];
  const auto most = configs.at("most_of_race").get<std::size_t>();
  ASSERT_LT(most, static_cast<std::size_t>(count));
  EXPECT_EQ(race.at("measured"), count);
  EXPECT_THAT(race.at("config"), SizeIs(most));
  std::set<int> kept;
  for (const Json& place : race.at("config")) kept.insert(place.get<int>());
  EXPECT_THAT(kept, SizeIs(most)) << "none twice";
  const auto time_of = [&](std::size_t i) { return race.at("time_us")[i].get<double>(); };
  const double drift = time_of(0) / 1000;
  EXPECT_NEAR(time_of(most / 2 - 1) / drift, 1000 + static_cast<double>(most) / 2 - 1, 3);
  EXPECT_GT(time_of(most - 1) / drift, 1000 + count - 5) << "down to the slowest";
}

TEST(ReportData, AnEarlierRecordingIsComparedWith) {
  ReportInput from = input();
  RecordedRace before = race(kLarge);
  for (Trial& trial : before.race.trials) {
    if (trial.label != test::kC) continue;
    for (Sample& sample : trial.samples) sample.time_us *= 1.2;
  }
  from.races = {race(kLarge)};
  from.before = ReportBefore{{before}, "before.db"};
  const Json comparison = data(from).at("comparison");
  ASSERT_THAT(comparison.at("rows"), SizeIs(1));
  EXPECT_EQ(comparison.at("rows")[0].at("verdict"), "faster");
  EXPECT_NEAR(comparison.at("rows")[0].at("change"), 1.2, 0.01);
  EXPECT_EQ(comparison.at("rows")[0].at("shape"), "8192x8192x8192");
  EXPECT_THAT(comparison.at("names"), ElementsAre("before.db", "made-up.db"));
}

TEST(ReportData, TheCeilingIsWhatTensorCoresDoAtTheClockOfShapesThatTheyBound) {
  ReportInput from = input();
  RecordedRace memory = race({.m = 1, .n = 4096, .k = 4096, .tag = "decode"});
  for (Trial& trial : memory.race.trials) {
    for (Sample& sample : trial.samples) sample.sm_mhz = 1980;
  }
  from.races = {race(kLarge), memory};
  const Json best = data(from).at("best");
  ASSERT_THAT(best.at("ceilings"), SizeIs(1));
  const Json& ceiling = best.at("ceilings")[0];
  EXPECT_EQ(ceiling.at("sm_mhz"), 1500) << "not the clock of the shape that memory bounds";
  EXPECT_EQ(ceiling.at("shapes"), 1);
  EXPECT_NEAR(ceiling.at("tflops"), 132 * 4096 * 1500e6 * 1e-12, 1e-9);
  EXPECT_EQ(best.at("read_tbps"), 4.67) << "configs/devices.yaml";
}

TEST(ReportData, AReportIsOfTheGpuWithTheNewestResults) {
  ReportInput from = input();
  RecordedRace other = race(kLarge, "2026-11-22T10:00:00Z");
  other.environment.gpu_name = "NVIDIA Imaginary";
  from.races = {race(kLarge), other};
  const Json json = data(from);
  EXPECT_EQ(json.at("gpu"), "NVIDIA Imaginary");
  EXPECT_THAT(json.at("other_gpus"), ElementsAre("NVIDIA H200"));
  EXPECT_TRUE(json.at("device").is_null());
  EXPECT_THAT(json.at("best").at("rows"), SizeIs(1));
  EXPECT_THAT(json.at("best").at("ceilings"), IsEmpty()) << "of an unknown GPU";
}

TEST(ReportData, ASustainedRunHasTheSamplesOfTheWinnerAndOfBothBaselines) {
  ReportInput from = input();
  from.races = {race({.m = 4096, .n = 4096, .k = 4096, .tag = ""}), race(kLarge)};
  const Json sustained = data(from).at("sustained");
  EXPECT_EQ(sustained.at("shape"), "8192x8192x8192") << "the largest";
  EXPECT_EQ(sustained.at("power_limit_w"), 700);
  std::vector<std::string> who;
  for (const Json& one : sustained.at("candidates")) {
    who.push_back(one.at("who"));
    EXPECT_THAT(one.at("samples"), SizeIs(9));
    EXPECT_EQ(one.at("samples")[0].at("power_w"), 690);
  }
  EXPECT_THAT(who, ElementsAre("ours", "cublas", "cublaslt"));

  for (RecordedRace& one : from.races) {
    for (Trial& trial : one.race.trials) {
      for (Sample& sample : trial.samples) sample.power_w.reset();
    }
  }
  EXPECT_THAT(gaps(data(from)), Contains("sustained")) << "without NVML nobody knows the power";
}

TEST(ReportData, TheLadderHasItsRegimeAndWhatCublasDidBesideIt) {
  ReportInput from = input();
  from.studies = studies();
  const Json ladders = data(from).at("ladder").at("ladders");
  ASSERT_THAT(ladders, SizeIs(1));
  EXPECT_EQ(ladders[0].at("family"), "hopper");
  EXPECT_EQ(ladders[0].at("regime"), "burst") << "rested samples";
  EXPECT_GT(ladders[0].at("cublas_tflops"), ladders[0].at("steps")[0].at("tflops"));
  EXPECT_EQ(ladders[0].at("steps")[0].at("l2_hit_rate"), 78.5);
}

TEST(ReportData, AProbeSaysWhatItsTensorCoresNeed) {
  ReportInput from = input();
  from.studies = studies();
  const Json probes = data(from).at("cycles").at("probes");
  ASSERT_THAT(probes, SizeIs(1));
  EXPECT_EQ(probes[0].at("mma_cycles_needed"), 1024) << "2 x 4 wgmmas of 128 cycles: 128x256x64";
  EXPECT_EQ(probes[0].at("shape"), "4096x4096x4096");
}

// As a database of others may have them.
TEST(ReportData, StudiesThatNoProbeMakesAreNotDrawn) {
  ReportInput from = input();
  from.studies = studies();
  const Json good = data(from);
  for (RecordedStudy& recorded : studies()) {
    if (recorded.study.kind != kProbeStudy) continue;
    recorded.started_utc = "2099-01-03T00:00:00Z";
    for (Span& span : recorded.study.spans) span.tile = 1 << 30;
    from.studies.push_back(recorded);
    recorded.study.figures.clear();
    from.studies.push_back(recorded);
    for (const std::string& other : {label(SwapAbConfig{}), std::string("no label")}) {
      recorded.study.label = other;
      recorded.study.figures = recorded_cycles(
          {{.role = "consumer", .phase = "mma_issue", .unit = "k_block", .count = 1, .cycles = 1}});
      from.studies.push_back(recorded);
    }
  }
  ASSERT_GT(from.studies.size(), studies().size());
  const Json mixed = data(from);
  EXPECT_EQ(mixed.at("tile_order").at("recorded"), good.at("tile_order").at("recorded"));
  for (const Json& probe : mixed.at("cycles").at("probes")) {
    EXPECT_EQ(probe.at("label"), good.at("cycles").at("probes")[0].at("label"));
  }
}

TEST(ReportData, WgmmaHasTheModelOfThreeGpusBesideWhatWasMeasured) {
  ReportInput from = input();
  from.studies = studies();
  const Json wgmma = data(from).at("wgmma");
  std::map<std::string, int> thresholds;
  for (const Json& device : wgmma.at("devices")) {
    thresholds[device.at("name")] = device.at("threshold");
    EXPECT_THAT(device.at("read"), SizeIs(32));
    EXPECT_EQ(device.at("this_gpu"), device.at("name") == "H200");
  }
  EXPECT_EQ(thresholds, (std::map<std::string, int>{{"H20", 16}, {"H200", 64}, {"H800", 64}}));
  ASSERT_THAT(wgmma.at("measured"), SizeIs(1));
  EXPECT_EQ(wgmma.at("measured")[0].at("cycles"), 64.5);
}

TEST(ReportData, EveryOrderHasEveryTileOnceAndTheHitsThatWereCounted) {
  ReportInput from = input();
  from.studies = studies();
  const Json order = data(from).at("tile_order");
  std::map<std::string, double> wave_bytes;
  for (const Json& one : order.at("orders")) {
    auto positions = one.at("positions").get<std::vector<int>>();
    std::ranges::sort(positions);
    std::vector<int> all(32 * 32);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(positions, all) << one.at("name");
    wave_bytes[one.at("name")] = one.at("wave_bytes");
  }
  EXPECT_LT(wave_bytes.at("hilbert"), wave_bytes.at("linear"));
  EXPECT_LT(wave_bytes.at("group8"), wave_bytes.at("linear"));
  ASSERT_THAT(order.at("l2"), SizeIs(1));
  EXPECT_EQ(order.at("l2")[0].at("order"), "hilbert");
  EXPECT_EQ(order.at("l2")[0].at("hit_rate"), 78.5);

  // Position 9 of bands of 8 rows: the second row of the second column; both SMs of its cluster.
  ASSERT_THAT(order.at("recorded"), SizeIs(1));
  ASSERT_THAT(order.at("recorded")[0].at("cells"), SizeIs(1));
  const Json& cell = order.at("recorded")[0].at("cells")[0];
  EXPECT_EQ(cell.at("row"), 1);
  EXPECT_EQ(cell.at("column"), 1);
  EXPECT_THAT(cell.at("sms"), ElementsAre(6, 7));
  EXPECT_EQ(cell.at("start_us"), 1);
  EXPECT_EQ(cell.at("end_us"), 5);
}

TEST(ReportData, TheNewestTimelineIsBesideTheNewestOfAnotherOrderAtItsShape) {
  ReportInput from = input();
  from.studies = studies();
  const auto found = std::ranges::find_if(from.studies, [](const RecordedStudy& recorded) {
    return recorded.study.kind == kProbeStudy && !recorded.study.spans.empty();
  });
  ASSERT_NE(found, from.studies.end());
  const RecordedStudy probed = *found;
  const auto add = [&](TileOrder order, std::int64_t m, const char* started_utc) {
    RecordedStudy other = probed;
    auto config = std::get<TiledConfig>(parse_label(other.study.label));
    config.order = order;
    config.group = order == TileOrder::kGroupedRows ? 8 : 0;
    other.study.label = label(config);
    other.study.problem->m = m;
    other.started_utc = started_utc;
    from.studies.push_back(other);
  };
  const std::int64_t m = probed.study.problem->m;
  add(TileOrder::kHilbert, m, "2099-01-03T00:00:00Z");
  add(TileOrder::kHilbert, m, "2099-01-02T00:00:00Z");
  add(TileOrder::kLinear, 2 * m, "2099-01-01T00:00:00Z");  // another shape
  const Json recorded = data(from).at("tile_order").at("recorded");
  ASSERT_THAT(recorded, SizeIs(2));
  EXPECT_EQ(recorded[0].at("order"), "hilbert");
  EXPECT_EQ(recorded[0].at("started_utc"), "2099-01-03T00:00:00Z");
  EXPECT_EQ(recorded[1].at("order"), "group8");
}

/// 256 configs, two of each tile, in which large tiles are the fastest.
RecordedRace whole_space() {
  std::vector<Trial> trials{test::ok("cublas", test::samples(1400, 3, 9))};
  for (int bn = 8; bn <= 256; bn += 8) {
    for (int i = 0; i < 8; ++i) {
      const int bm = 64 + i / 2 * 64;
      const TiledConfig config{
          .bm = bm, .bn = bn, .bk = 32 << i % 2, .consumers = bm / 64 > 1 ? 2 : 1};
      const double time_us = 1300 * (1 + 20000.0 / (bm * bn * config.bk));
      trials.push_back(test::ok(label(config), test::samples(time_us, 3, 9)));
    }
  }
  return test::race(trials, "580", kLarge);
}

TEST(ReportData, ASourceNamesOnlyRacesThatAreShown) {
  ReportInput from = input();
  RecordedRace of_older_kernels = race(kLarge);
  of_older_kernels.run.kernel_sources = "older sources";
  of_older_kernels.command_line = "hgemm-tune, long ago";
  RecordedRace whole = whole_space();
  whole.environment = of_older_kernels.environment;
  whole.run.kernel_sources = "todays sources";
  whole.command_line = "hgemm-tune --budget all";
  from.spaces = {of_older_kernels, whole};
  const Json json = data(from);
  for (const char* section : {"tiles", "search"}) {
    const Json& source = json.at(section).at("source");
    EXPECT_THAT(source.at("kernels"), ElementsAre("todays sourc")) << section;
    EXPECT_THAT(source.at("commands"), ElementsAre("hgemm-tune --budget all")) << section;
  }
}

std::vector<Json> timed_cells(const Json& space) {
  std::vector<Json> timed;
  for (const Json& cell : space.at("cells")) {
    if (!cell.at("fraction").is_null()) timed.push_back(cell);
  }
  return timed;
}

TEST(ReportData, AWholeSpaceHasTheBestOfEachTileAndSearchesReplayedOnIt) {
  ReportInput from = input();
  from.spaces = {whole_space()};
  const Json json = data(from);
  const Json spaces = json.at("tiles").at("spaces");
  ASSERT_THAT(spaces, SizeIs(1));
  EXPECT_EQ(spaces[0].at("configs"), 256);
  EXPECT_THAT(timed_cells(spaces[0]), SizeIs(128));
  double best = 0;
  for (const Json& cell : timed_cells(spaces[0])) {
    best = std::max(best, cell.at("fraction").get<double>());
    if (cell.at("fraction") != 1) continue;
    EXPECT_EQ(cell.at("label"), spaces[0].at("best"));
  }
  EXPECT_EQ(best, 1);
  EXPECT_EQ(json.at("search").at("rows"), 1);
  std::vector<std::string> names;
  for (const Json& strategy : json.at("search").at("strategies")) {
    names.push_back(strategy.at("name"));
    double before = 0;
    for (const Json& point : strategy.at("points")) {
      EXPECT_GE(point.at("measured").get<double>(), before);
      EXPECT_LE(point.at("least"), point.at("geomean").get<double>() + 1e-12);
      EXPECT_LE(point.at("geomean"), 1.0);
      EXPECT_GE(point.at("seeds"), 1);
      before = point.at("measured");
    }
  }
  std::vector<std::string> known;
  for (const std::string_view name : strategy_names()) {
    if (name != "exhaustive") known.emplace_back(name);
  }
  EXPECT_EQ(names, known) << "whatever can be replayed with a budget";
}

TEST(ReportData, ATileThatARaceLeftOutIsNotOneThatTheSpaceDoesNotHave) {
  ReportInput from = input();
  from.spaces = {whole_space()};
  const auto cell_of = [&](int bm, int bn) -> std::optional<Json> {
    const Json json = data(from).at("tiles");
    EXPECT_EQ(json.at("space"), "full");
    for (const Json& cell : json.at("spaces")[0].at("cells")) {
      if (cell.at("bm") == bm && cell.at("bn") == bn) return cell;
    }
    return std::nullopt;
  };
  ASSERT_TRUE(cell_of(384, 128)) << "valid, and no config of the race";
  EXPECT_TRUE(cell_of(384, 128)->at("fraction").is_null());
  EXPECT_EQ(cell_of(384, 128)->at("configs"), 0);
  EXPECT_FALSE(cell_of(384, 256)) << "too large for registers";
  EXPECT_FALSE(cell_of(8, 64)) << "for 8 rows";
  EXPECT_GT(data(from).at("tiles").at("spaces")[0].at("valid"), 256);

  for (Trial& trial : from.spaces[0].race.trials) {
    if (is_baseline(trial.label)) continue;
    const auto config = std::get<TiledConfig>(parse_label(trial.label));
    if (config.bm == 128 && config.bn == 128) trial.status = Status::kCompileFailed;
  }
  ASSERT_TRUE(cell_of(128, 128));
  EXPECT_TRUE(cell_of(128, 128)->at("fraction").is_null()) << "none of it ended ok";
  EXPECT_GT(cell_of(128, 128)->at("configs"), 0);
}

TEST(ReportData, ATagThatIsNotUtf8DoesNotStopIt) {
  ReportInput from = input();
  from.races = {race({.m = 512, .n = 512, .k = 512, .tag = "\xff/x"})};
  EXPECT_THAT(gaps(data(from)), Not(Contains("best")));
}

}  // namespace
}  // namespace hgemm
