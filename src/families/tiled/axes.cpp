// The axis table of the tiled family.
#include "families/shared_axes.h"
#include "families/tiled/family.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using C = TiledConfig;

constexpr Word<Schedule> kSchedules[] = {
    {"coop", Schedule::kRows}, {"cols", Schedule::kColumns}, {"pp", Schedule::kPingPong}};
constexpr Word<TileOrder> kOrders[] = {
    {"linear", TileOrder::kLinear},         {"group", TileOrder::kGroupedRows},
    {"ngroup", TileOrder::kGroupedColumns}, {"snake", TileOrder::kSnakeRows},
    {"nsnake", TileOrder::kSnakeColumns},   {"hilbert", TileOrder::kHilbert}};
constexpr Word<StorePath> kStores[] = {{"direct", StorePath::kDirect},
                                       {"tma", StorePath::kTma},
                                       {"staged", StorePath::kStaged},
                                       {"overlap", StorePath::kOverlapped}};
constexpr Word<TileScheduler> kSchedulers[] = {
    {"persist", TileScheduler::kPersistent},   {"dynamic", TileScheduler::kDynamic},
    {"single", TileScheduler::kSingle},        {"split", TileScheduler::kSplitK},
    {"csplit", TileScheduler::kClusterSplitK}, {"stream", TileScheduler::kStreamK}};

constexpr auto kAlways = [](auto) { return true; };
constexpr auto kInParts = [](TileScheduler scheduler) {
  return scheduler == TileScheduler::kSplitK || scheduler == TileScheduler::kClusterSplitK;
};

/// "2x1": two numbers, both required.
constexpr Axis<C> cluster_axis() {
  return {.text = {.name = "cluster",
                   .field = "c",
                   .form = "c<M>x<N>",
                   .values = "1x1, 2x1 (CTAs along M share B), 1x2 (along N share A), 2x2, 4x1, "
                             "1x4, 4x2, 2x4, 8x1, 1x8",
                   .domain = "1x1, 2x1, 1x2, 2x2, 4x1, 1x4, 4x2, 2x4, 8x1, 1x8",
                   .otherwise = "1x1",
                   .help = "CTAs along M x N that share what they fetch, by multicast"},
          .members = {AxisMember{"cluster_m", ""}, AxisMember{"cluster_n", ""}},
          .member_count = 2,
          .raw = [](const C& c) -> std::array<std::int64_t, 2> {
            return {c.cluster_m, c.cluster_n};
          },
          .print = [](const C& c) { return fmt::format("{}x{}", c.cluster_m, c.cluster_n); },
          .parse =
              [](C& c, std::string_view word) {
                const auto cross = word.find('x');
                if (cross == word.npos) return false;
                const auto m = find_small_number(word.substr(0, cross));
                const auto n = find_small_number(word.substr(cross + 1));
                if (!m || !n) return false;
                c.cluster_m = *m;
                c.cluster_n = *n;
                return true;
              },
          .copy =
              [](C& to, const C& from) {
                to.cluster_m = from.cluster_m;
                to.cluster_n = from.cluster_n;
              },
          .distance =
              [](const C& a, const C& b) {
                return differs<&C::cluster_m, 500>(a, b) + differs<&C::cluster_n, 500>(a, b);
              }};
}

/// "all", "few", or a number.
constexpr Axis<C> sms_axis() {
  return {.text = {.name = "sms",
                   .field = "sms",
                   .form = "smsfew or sms<SMs>",
                   .values = "all, few, 1 to 1024",
                   .domain = "all, few",
                   .otherwise = "all",
                   .help = "SMs that a persistent kernel takes: all, the fewest on which the tiles "
                           "need no more waves (few), or at most so many, beside other kernels",
                   .in_label = AxisText::InLabel::kUnlessDefault,
                   .number = true,
                   .minor = true,
                   .vary = AxisText::Vary::kDetail},
          .members = {AxisMember{"sms", ""}},
          .member_count = 1,
          .raw = raw_member<&C::sms>,
          .print = [](const C& c) -> std::string {
            if (c.sms == kAllSms) return "all";
            return c.sms == kFewestSms ? "few" : fmt::to_string(c.sms);
          },
          .parse =
              [](C& c, std::string_view word) {
                const auto number = word == "all"   ? std::optional(kAllSms)
                                    : word == "few" ? std::optional(kFewestSms)
                                                    : find_small_number(word);
                if (!number || (*number == kAllSms && word != "all")) return false;
                c.sms = *number;
                return true;
              },
          .copy = copy_member<&C::sms>,
          .distance = differs<&C::sms, 150>};
}

constexpr std::array kAxes = {
    number_axis<&C::bm, 1000, true>({.name = "bm",
                                     .field = "bm",
                                     .form = "bm<rows>",
                                     .values = "64 to 384 by 64, 8 to 256 by 8",
                                     .domain = "8:256:8, 320, 384",
                                     .help = "rows of a CTA's tile: in steps of 64, with swap of 8",
                                     .vary = AxisText::Vary::kTile},
                                    {"bm", ""}),
    number_axis<&C::bn, 800, true>(
        {.name = "bn",
         .field = "bn",
         .form = "bn<columns>",
         .values = "8 to 256 by 8, 64 to 384 by 64",
         .domain = "8:256:8, 320, 384",
         .help = "columns of a CTA's tile: in steps of 8, with swap of 64",
         .vary = AxisText::Vary::kTile},
        {"bn", ""}),
    number_axis<&C::bk, 500, true>(
        {.name = "bk",
         .field = "bk",
         .form = "bk<depth>",
         .values = "32, 64, 128, 256",
         .domain = "64, 32, 128, 256",
         .otherwise = "64",
         .help = "depth of a pipeline stage; with 8-bit operands twice as deep",
         .vary = AxisText::Vary::kTile},
        {"bk", ""}),
    stages_axis<&C::stages>(),
    cluster_axis(),
    searched(named_flag_axis<&C::swap, 700>(
                 "swap",
                 "B's rows are wgmma's 64-row operand, so bm has steps of 8 and bn of 64: for "
                 "numbers of rows that steps of 64 do not fit"),
             AxisText::Vary::kTile),
    numbered_axis<&C::schedule, &C::consumers, kSchedules, kAlways, 0, 1000, 500>(
        {.name = "schedule",
         .form = "coop<consumers>, cols<consumers> or pp<consumers>",
         .values = "coop1 to coop3, cols2, cols3, pp2",
         .domain = "coop2, coop1, coop3, cols2, cols3, pp2",
         .help = "how many consumer warpgroups cooperate, and how: coop: each has rows of every "
                 "tile; cols: columns; pp (ping-pong): whole tiles in turn",
         .vary = AxisText::Vary::kTile},
        {"schedule", "Schedule"}, {"consumers", ""}),
    mma_depth_axis<&C::mma_depth>(),
    promote_axis<&C::promote>(),
    numbered_axis<&C::order, &C::group, kOrders, has_bands, 0, 300, 150>(
        {.name = "order",
         .form = "linear, hilbert, or group, ngroup, snake or nsnake with its <tiles>",
         .values = "linear, hilbert, group1 to group64, ngroup.., snake.., nsnake..",
         .domain = "group8, group1, group2, group4, group16, group32, ngroup2, ngroup4, ngroup8, "
                   "ngroup16, ngroup32, snake2, snake4, snake8, snake16, nsnake2, nsnake4, "
                   "nsnake8, nsnake16, linear, hilbert",
         .otherwise = "linear",
         .help =
             "order of the tiles: in bands of so many rows (group8) or columns (ngroup8), which "
             "a snake sweeps to and fro",
         .minor = true,
         .vary = AxisText::Vary::kDetail},
        {"order", "TileOrder"}, {"group", ""}),
    word_axis<&C::store, kStores, 600>(
        {.name = "store",
         .form = "direct, tma, staged or overlap",
         .values = "direct, tma, staged, overlap",
         .domain = "tma, overlap, direct, staged",
         .otherwise = "tma",
         .help =
             "store path of a tile: by its threads (direct), by the copy engine (tma), by it "
             "while the next tile is multiplied (overlap), or through shared memory by ordinary "
             "stores (staged), for a D of any N and leading dimension"},
        {"store", "StorePath"}),
    numbered_axis<&C::scheduler, &C::splits, kSchedulers, kInParts, 1, 800, 500>(
        {.name = "scheduler",
         .form = "persist, dynamic, single, split<parts>, csplit<parts> or stream",
         .values = "persist, dynamic, single, split2 to split32, csplit2 to csplit8, stream",
         .domain = "persist, dynamic, single, stream, csplit2, csplit3, csplit4, csplit5, csplit6, "
                   "csplit7, csplit8, split2, split3, split4, split5, split6, split7, split8, "
                   "split10, split12, split14, split16, split20, split24, split28, split32",
         .otherwise = "persist",
         .help =
             "which work a CTA gets: every n-th tile (persist), the next one when it is ready "
             "(dynamic), one tile (single); or parts of tiles along K, whose sums meet in memory, "
             "where each CTA adds up a share (split4), in the shared memory of a cluster "
             "(csplit4), "
             "or evenly for all SMs where a last wave would not be full (stream: stream-K)"},
        {"scheduler", "TileScheduler"}, {"splits", ""}),
    hint_axis<&C::a_hint>("a_hint", "a", "afirst or alast",
                          "what L2 is told of A: nothing, or to evict it first or last"),
    hint_axis<&C::b_hint>("b_hint", "b", "bfirst or blast", "what L2 is told of B"),
    hint_axis<&C::d_hint>("d_hint", "d", "dfirst or dlast", "what L2 is told of D"),
    promotion_axis<&C::promotion>(),
    ctas_axis<&C::ctas_per_sm>(),
    sms_axis(),
    pdl_axis<&C::pdl>(
        "programmatic dependent launch: starts while the kernel before it drains, and asks L2 for "
        "its operands; reads none until that kernel is done"),
    hold_axis<&C::hold>(),
    searched(
        named_flag_axis<&C::gpc, 300>(
            "gpc",
            "clusters are numbered by the GPC on which they start, so that neighbours in the order "
            "of tiles share reads of L2; without pdl"),
        AxisText::Vary::kWork),
    pack_axis<&C::pack>(),
    fixed_axis<&C::fixed>(),
    flag_axis<&C::probe, 0>({.name = "probe",
                             .field = "probe1",
                             .form = "probe1",
                             .values = "0, 1",
                             .otherwise = "0",
                             .help = "a build with cycle stamps, never timed in a race",
                             .in_spaces = false},
                            {"probe", ""}),
};

}  // namespace

std::span<const Axis<TiledConfig>> Family<TiledConfig>::axes() { return kAxes; }

TiledConfig Family<TiledConfig>::simplest(const TiledConfig& config, const GemmProblem& problem) {
  const TileGrid grid = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), config);
  TiledConfig simple = config;
  const auto set = [&](TileOrder order, int group) {
    simple.order = order;
    simple.group = group;
  };
  const bool bands_of_columns =
      config.order == TileOrder::kGroupedColumns || config.order == TileOrder::kSnakeColumns;
  if (grid.m == 1 || grid.n == 1) {
    set(TileOrder::kLinear, 0);
  } else if (has_bands(config.order) && config.group >= (bands_of_columns ? grid.n : grid.m)) {
    // One band of columns goes along each row: so do bands of one row.
    bands_of_columns ? set(TileOrder::kGroupedRows, 1) : set(TileOrder::kLinear, 0);
  }
  return simple;
}

}  // namespace hgemm
