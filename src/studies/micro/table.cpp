#include "studies/micro/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/micro/accumulator.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

// ---- Values derived from a figure ----

const Figure* find(const Study& study, std::string_view metric) {
  return find_figure(study.figures, "", metric);
}

struct Rate {
  double flops_per_clk = 0;
  double peak_fraction = 0;
};
/// The rate of tensor-core instructions issued back to back.
std::optional<Rate> rate_of(const MicroPoint& point, const Figure& figure) {
  if (figure.metric != "cycles" || figure.value <= 0) return std::nullopt;
  const auto rate = [&figure](double flops, MmaTypes types) {
    const double per_clk = flops / figure.value;
    return Rate{per_clk, per_clk / peak_flops_per_clk(types)};
  };
  if (const auto* wgmma = std::get_if<WgmmaPoint>(&point)) {
    if (wgmma->pace == MicroPace::kIssue) return rate(wgmma_flops(*wgmma), wgmma->types);
  } else if (const auto* promoted = std::get_if<PromotedPoint>(&point)) {
    return rate(wgmma_flops({.n = promoted->n, .types = MmaTypes::kF32E4m3}), MmaTypes::kF32E4m3);
  } else if (const auto* mma = std::get_if<MmaPoint>(&point)) {
    if (mma->pace == MicroPace::kIssue) return rate(mma_flops(), mma->types);
  } else if (const auto* beside = std::get_if<ContentionPoint>(&point)) {
    return rate(wgmma_flops({.n = beside->n}), MmaTypes::kF32Bf16);
  }
  return std::nullopt;
}

std::string family_of(const std::string& label) { return label.substr(0, label.find('.')); }

// ---- For programs ----

Json to_json(const RecordedStudy& recorded, const Figure* figure) {
  const Study& study = recorded.study;
  std::optional<Rate> rate;
  if (figure != nullptr) rate = rate_of(parse_micro(study.label), *figure);
  const auto of_figure = [figure](auto member) {
    return figure == nullptr ? Json() : Json(figure->*member);
  };
  return Json{{"label", study.label},
              {"family", family_of(study.label)},
              {"status", to_string(study.status)},
              {"message", study.message},
              {"metric", of_figure(&Figure::metric)},
              {"unit", of_figure(&Figure::unit)},
              {"value", figure == nullptr ? Json() : number(figure->value)},
              {"low", figure == nullptr ? Json() : number(figure->low)},
              {"high", figure == nullptr ? Json() : number(figure->high)},
              {"samples", of_figure(&Figure::samples)},
              {"flops_per_clk", rate ? number(rate->flops_per_clk) : Json()},
              {"peak_fraction", rate ? number(rate->peak_fraction) : Json()},
              {"gpu", recorded.environment.gpu_name},
              {"started_utc", recorded.started_utc}};
}

std::vector<Json> objects_of(std::span<const RecordedStudy> studies) {
  std::vector<Json> objects;
  for (const RecordedStudy& recorded : studies) {
    if (recorded.study.status != Status::kOk || recorded.study.figures.empty()) {
      objects.push_back(to_json(recorded, nullptr));
      continue;
    }
    for (const Figure& figure : recorded.study.figures) {
      objects.push_back(to_json(recorded, &figure));
    }
  }
  return objects;
}

// ---- For people ----

/// Tables with a heading; their rows and columns are added with the cells.
class Pivots {
 public:
  void add(const std::string& heading, const std::string& corner, const std::string& row,
           const std::string& column, const std::string& cell) {
    auto pivot = std::ranges::find(pivots_, heading, &Pivot::heading);
    if (pivot == pivots_.end()) {
      pivots_.push_back({heading, {.columns = {{corner, false}}, .rows = {}}});
      pivot = std::prev(pivots_.end());
    }
    Table& table = pivot->table;
    auto at_column = std::ranges::find(table.columns, column, &Table::Column::name);
    if (at_column == table.columns.end()) {
      table.columns.push_back({column});
      for (auto& cells : table.rows) cells.emplace_back("-");
      at_column = std::prev(table.columns.end());
    }
    auto at_row = std::ranges::find_if(
        table.rows, [&row](const auto& cells) { return cells.front().text == row; });
    if (at_row == table.rows.end()) {
      Table::Row cells(table.columns.size(), "-");
      cells.front() = row;
      table.rows.push_back(std::move(cells));
      at_row = std::prev(table.rows.end());
    }
    (*at_row)[static_cast<std::size_t>(at_column - table.columns.begin())] = cell;
  }

  std::vector<Piece> pieces(const Style& style) const {
    std::vector<Piece> pieces;
    for (const Pivot& pivot : pivots_) {
      pieces.emplace_back(
          fmt::format(fmt::runtime(style.markdown() ? "**{}**\n" : "\n{}\n"), pivot.heading));
      pieces.push_back(render(pivot.table, style));
    }
    return pieces;
  }

 private:
  struct Pivot {
    std::string heading;
    Table table;
  };
  std::vector<Pivot> pivots_;
};

/// The part of a label between two dots, which are counted from its front and from its end.
std::string middle_of(const std::string& label, int from_front, int from_back) {
  std::size_t begin = 0;
  std::size_t end = label.size();
  for (int i = 0; i < from_front; ++i) begin = label.find('.', begin) + 1;
  for (int i = 0; i < from_back; ++i) end = label.rfind('.', end - 1);
  return label.substr(begin, end - begin);
}
std::string last_of(const std::string& label) { return label.substr(label.rfind('.') + 1); }

std::string value_of(const Study& study, std::string_view metric, const char* format) {
  const Figure* figure = find(study, metric);
  return figure == nullptr ? "-" : fmt::format(fmt::runtime(format), figure->value);
}

void add(Pivots& tables, const WgmmaPoint& p, const Study& study) {
  const std::string row = fmt::format("{}", p.n);
  const std::string column = middle_of(study.label, 2, 3);  // "f32.bf16.ss"
  const char* data = p.data == MicroData::kRandom ? "random data" : "zeros";
  if (p.pace == MicroPace::kLatency) {
    tables.add(
        fmt::format("wgmma m64nNk16 (fp8: k32) alone, {}: cycles from fence to wait_group 0", data),
        "N", row, column, value_of(study, "cycles", "{:.1f}"));
    return;
  }
  const std::string of =
      fmt::format("wgmma m64nNk16 (fp8: k32) back to back, {}, {} warpgroup{} per SM", data,
                  p.warpgroups, p.warpgroups == 1 ? "" : "s");
  tables.add(of + ": cycles per instruction and SM", "N", row, column,
             value_of(study, "cycles", "{:.1f}"));
  const Figure* cycles = find(study, "cycles");
  const auto rate = cycles == nullptr ? std::nullopt : rate_of(p, *cycles);
  if (!rate) return;
  tables.add(of + ": FLOP/clk/SM (of the peak of 4096, fp8 8192)", "N", row, column,
             fmt::format("{:.0f} ({:.1f} %)", rate->flops_per_clk, 100 * rate->peak_fraction));
}
void add(Pivots& tables, const PromotedPoint& p, const Study& study) {
  const Figure* cycles = find(study, "cycles");
  const auto rate = cycles == nullptr ? std::nullopt : rate_of(p, *cycles);
  tables.add(
      "wgmma m64nNk32 f32.e4m3.ss whose sums are added to fp32 registers every so many elements "
      "of K: cycles per instruction and SM (of the peak of 8192 FLOP/clk/SM)",
      "N, warpgroups", fmt::format("n{} wg{}", p.n, p.warpgroups), middle_of(study.label, 2, 1),
      rate ? fmt::format("{:.1f} ({:.1f} %)", cycles->value, 100 * rate->peak_fraction) : "-");
}
void add(Pivots& tables, const MmaPoint& p, const Study& study) {
  if (p.pace == MicroPace::kLatency) {
    tables.add("mma.sync m16n8k16 in a dependent chain: cycles", "types",
               middle_of(study.label, 2, 2), "latency", value_of(study, "cycles", "{:.1f}"));
    return;
  }
  const Figure* cycles = find(study, "cycles");
  const auto rate = cycles == nullptr ? std::nullopt : rate_of(p, *cycles);
  tables.add(
      "mma.sync m16n8k16 back to back, warps per SM: cycles per instruction and SM (of the "
      "peak of 4096 FLOP/clk/SM)",
      "types", middle_of(study.label, 2, 2), last_of(study.label),
      rate ? fmt::format("{:.2f} ({:.1f} %)", cycles->value, 100 * rate->peak_fraction) : "-");
}
template <class Copy>
void add_copy(Pivots& tables, const Copy& p, const Study& study, const char* what) {
  if (p.pace == MicroPace::kLatency) {
    tables.add(fmt::format("{}: cycles from issue to its barrier's completion", what), "copy",
               middle_of(study.label, 1, 3), p.level == MemoryLevel::kL2 ? "from L2" : "from HBM",
               value_of(study, "latency", "{:.0f}"));
    return;
  }
  tables.add(
      fmt::format("{}, so many in flight per SM, all SMs: B/clk into each SM (TB/s read by all)",
                  what),
      "copy", middle_of(study.label, 1, 2), last_of(study.label),
      value_of(study, "bytes_per_clk", "{:.1f}") + value_of(study, "bandwidth", " ({:.2f})"));
}
void add(Pivots& tables, const TmaPoint& p, const Study& study) {
  add_copy(tables, p, study, "TMA boxes of bf16, rows x columns");
}
void add(Pivots& tables, const BulkPoint& p, const Study& study) {
  add_copy(tables, p, study, "Bulk copies");
}
void add(Pivots& tables, const ReadPoint&, const Study& study) {
  tables.add(
      "16-byte loads, t threads per SM with u in flight each, all SMs: B/clk/SM (TB/s of all)",
      "loads", middle_of(study.label, 1, 1), last_of(study.label),
      value_of(study, "bytes_per_clk", "{:.1f}") + value_of(study, "bandwidth", " ({:.2f})"));
}
void add(Pivots& tables, const StreamPoint& p, const Study& study) {
  tables.add(
      "Plain reads of so many KiB from HBM, launch after launch, of t threads per SM with u "
      "loads of 16 bytes in flight: us (TB/s)",
      "KiB", fmt::format("{}", p.kib), middle_of(study.label, 2, 3),
      value_of(study, "time", "{:.2f}") + value_of(study, "bandwidth", " ({:.2f})"));
}
void add(Pivots& tables, const MbarrierPoint& p, const Study& study) {
  tables.add("mbarrier round trip: cycles", "between",
             p.owner == SmemOwner::kOwn ? "two warps of a CTA" : "two CTAs of a cluster",
             p.wait == BarrierWait::kTest ? "test_wait" : "try_wait",
             value_of(study, "round_trip", "{:.0f}"));
}
void add(Pivots& tables, const SmemPoint& p, const Study& study) {
  const char* owner = p.owner == SmemOwner::kOwn ? "the CTA's own" : "a peer's (DSMEM)";
  if (p.pace == MicroPace::kLatency) {
    tables.add("Shared-memory loads: cycles of one", "memory", owner, "latency",
               value_of(study, "latency", "{:.1f}"));
  } else {
    tables.add("Shared-memory loads of 16 bytes, 4 in flight per thread, threads per SM: B/clk/SM",
               "memory", owner, last_of(study.label), value_of(study, "bytes_per_clk", "{:.1f}"));
  }
}
void add(Pivots& tables, const StmatrixPoint&, const Study& study) {
  tables.add("stmatrix.x4, warps per SM: cycles per instruction and SM", "rows",
             middle_of(study.label, 2, 1), last_of(study.label),
             value_of(study, "cycles", "{:.2f}"));
}
/// "14", or "14 to 25" if it depends on where in K the small addend is.
std::string bits_of(const Study& study, const char* metric) {
  const Figure* bits = find(study, metric);
  if (bits == nullptr) return "-";
  const char* const more = bits->value >= kMostAccumulatorBits ? " or more" : "";
  if (bits->low == bits->high) return fmt::format("{:g}{}", bits->value, more);
  return fmt::format("{:g} to {:g}", bits->low, bits->high);
}
std::string rest_of(const Study& study, const char* metric, const char* negative_metric) {
  const Figure* rest = find(study, metric);
  const Figure* negative = find(study, negative_metric);
  return rest == nullptr || negative == nullptr ? "-" : rounding_text(rest->value, negative->value);
}
void add(Pivots& tables, const AccumulatorPoint& p, const Study& study) {
  namespace metric = accumulator_metric;
  const std::string row = middle_of(study.label, 1, 0);
  const auto put = [&](const char* column, const std::string& cell) {
    tables.add(
        "Bits that one wgmma (k16, fp8: k32) keeps from the leading one of its largest addend on; "
        "C is the sum of those before",
        "types", row, column, cell);
  };
  put("of products beside products", bits_of(study, metric::kBesideProducts));
  put("of products beside C", bits_of(study, metric::kBesideC));
  put("of C beside products", bits_of(study, metric::kOfC));
  put("of the sum", bits_of(study, metric::kOfSum));
  put("rest of products", rest_of(study, metric::kRest, metric::kNegativeRest));
  put("rest of C", rest_of(study, metric::kRestOfC, metric::kNegativeRestOfC));
  const int rests = mma_k(p.types) - 2;  // of 3/4 of the last bit
  put("rests together",
      fmt::format("{} of {:g} last bits", value_of(study, metric::kRests, "{:g}"), 0.75 * rests));
}
void add(Pivots& tables, const ContentionPoint& p, const Study& study) {
  tables.add(
      fmt::format("wgmma m64nNk16 f32.bf16.ss while TMA fills other stages at the B/clk that "
                  "were asked for, {}: cycles per instruction and SM @ B/clk that came",
                  p.extent == Extent::kOneSm ? "one SM alone" : "all SMs"),
      "N, warpgroups", fmt::format("n{} wg{}", p.n, p.warpgroups),
      fmt::format("fill{}", p.fill_bytes_per_clk),
      value_of(study, "cycles", "{:.1f}") + value_of(study, "fill_bytes_per_clk", " @ {:.1f}"));
}

struct Block {
  const RecordedStudy* first;
  std::set<std::string> labels;
  Pivots tables;
  std::vector<std::string> failed;
};

std::string for_people(std::span<const RecordedStudy> studies, const Style& style) {
  std::vector<Block> blocks;
  for (const RecordedStudy& recorded : studies) {
    auto block = std::ranges::find_if(
        blocks, [&recorded](const Block& known) { return same_session(*known.first, recorded); });
    if (block == blocks.end()) {
      blocks.push_back({&recorded, {}, {}, {}});
      block = std::prev(blocks.end());
    }
    const Study& study = recorded.study;
    if (!block->labels.insert(study.label).second) continue;
    if (study.status != Status::kOk) {
      block->failed.push_back(
          fmt::format("{}: {} ({})", study.label, to_string(study.status), study.message));
      continue;
    }
    std::visit([&](const auto& point) { add(block->tables, point, study); },
               parse_micro(study.label));
  }
  std::string out;
  for (const Block& block : blocks) {
    std::vector<Piece> pieces = {fmt::format("{}, {}\n", environment_text(block.first->environment),
                                             block.first->started_utc.substr(0, 10))};
    std::ranges::move(block.tables.pieces(style), std::back_inserter(pieces));
    if (!block.failed.empty()) pieces.push_back(list_text("Failed:", block.failed, style));
    if (!out.empty()) out += '\n';
    out += joined(pieces, style);
  }
  return out.empty() ? "None of these microbenchmarks is recorded.\n" : out;
}

}  // namespace

std::string format_micro(std::span<const RecordedStudy> studies, const Style& style) {
  switch (style.format) {
    case Format::kTable:
    case Format::kMarkdown:
      return for_people(studies, style);
    case Format::kJson:
      return dump(Json(objects_of(studies)));
    case Format::kCsv:
      return as_csv(to_json({}, nullptr), objects_of(studies));
  }
  throw Error("an output format outside its enumeration");
}

}  // namespace hgemm
