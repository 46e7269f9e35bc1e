#include "studies/chain/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "record/cold.h"
#include "studies/chain/chain.h"

namespace hgemm {
namespace {

std::optional<double> median_us(const std::vector<Sample>& samples) {
  return samples.empty() ? std::nullopt : std::optional(median(times_us(samples)));
}

std::vector<ChainTiming> timings_of(const Study& study) {
  const std::vector<Sample>& off = study.samples(kPdlOff);
  const std::vector<Sample>& on = study.samples(kPdlOn);
  const std::vector<Sample>& cublas = study.samples(kCublasLabel);
  std::vector<ChainTiming> timings;
  timings.push_back({.kernels = kPdlOff,
                     .time_us = median_us(off),
                     .cublas = ratio_by_round(cublas, off),
                     .pdl = {}});
  timings.push_back({.kernels = kPdlOn,
                     .time_us = median_us(on),
                     .cublas = ratio_by_round(cublas, on),
                     .pdl = ratio_by_round(off, on)});
  timings.push_back({.kernels = std::string(kCublasLabel),
                     .time_us = median_us(cublas),
                     .cublas = {},
                     .pdl = {}});
  return timings;
}

std::int64_t rows_of(const ChainRow& row) {
  return row.links.empty() ? 0 : row.links.front().problem.m;
}

// ---- For programs ----

void add_ratio(Json& json, const std::string& name, const std::optional<RoundsRatio>& ratio) {
  json[name] = ratio ? number(ratio->value) : Json();
  json[name + "_low"] = ratio ? number(ratio->interval.low) : Json();
  json[name + "_high"] = ratio ? number(ratio->interval.high) : Json();
}

Json links_json(const ChainRow& row, const std::string& kernels) {
  Json links = Json::array();
  for (const ChainLink& link : row.links) {
    const std::string& label = kernels == kPdlOff  ? link.pdl_off
                               : kernels == kPdlOn ? link.pdl_on
                                                   : kernels;
    links.push_back({{"problem", to_string(link.problem)},
                     {"n", link.problem.n},
                     {"k", link.problem.k},
                     {"label", label}});
  }
  return links;
}

Json json_of(const ChainRow& row, const ChainTiming& timing) {
  const Study& study = row.recorded.study;
  Json json{{"chain", study.label},
            {"m", rows_of(row)},
            {"length", row.links.size()},
            {"weight_bytes", row.weight_bytes},
            {"cold", row.cold},
            {"kernels", timing.kernels},
            {"status", to_string(study.status)},
            {"message", study.message.empty() ? Json() : Json(study.message)},
            {"time_us", number(timing.time_us)},
            {"weight_tbps", number(row.tbps(timing))},
            {"read_tbps", row.read_tbps ? number(row.read_tbps->value) : Json()},
            {"of_read", number(row.of_ceiling(timing))}};
  add_ratio(json, "ratio_cublas", timing.cublas);
  add_ratio(json, "pdl_gain", timing.pdl);
  json["rounds"] = study.samples(kCublasLabel).size();
  json["gpu"] = row.recorded.environment.gpu_name;
  json["started_utc"] = row.recorded.started_utc;
  return json;
}

// ---- For people ----

std::string name_of(const std::string& kernels) {
  if (kernels == kPdlOff) return "ours, PDL off";
  if (kernels == kPdlOn) return "ours, PDL on";
  return "cuBLAS";
}

std::string ratio_of(const std::optional<RoundsRatio>& ratio) {
  return ratio ? ratio_text(ratio->value, ratio->interval, Stage::kFinal) : "-";
}

Table table_of(std::span<const ChainRow* const> rows) {
  Table table;
  table.columns = {{"M"},    {"GEMMs"},     {"weights GB"}, {"kernels", false}, {"us"},
                   {"TB/s"}, {"% of read"}, {"x cuBLAS"},   {"x PDL off"}};
  for (const ChainRow* row : rows) {
    const Study& study = row->recorded.study;
    for (const ChainTiming& timing : row->timings) {
      table.rows.push_back(
          {std::to_string(rows_of(*row)), std::to_string(row->links.size()),
           fmt::format("{:.2f}", row->weight_bytes * 1e-9), name_of(timing.kernels),
           study.status == Status::kOk ? optional_text(timing.time_us, "{:.1f}")
                                       : std::string(to_string(study.status)),
           optional_text(row->tbps(timing), "{:.2f}"),
           optional_text(row->of_ceiling(timing), "{:.1f}", 100), ratio_of(timing.cublas),
           timing.kernels == kCublasLabel ? "has no PDL" : ratio_of(timing.pdl)});
    }
  }
  return table;
}

/// "8 of 1x11008x4096: bm8...; with PDL bm8...pdl", a line for each problem among its links.
std::vector<std::string> configs_of(const ChainRow& row) {
  struct Kind {
    const ChainLink* link;
    int count;
  };
  std::vector<Kind> kinds;
  for (const ChainLink& link : row.links) {
    const auto known = std::ranges::find_if(
        kinds, [&](const Kind& kind) { return kind.link->problem.same_problem(link.problem); });
    if (known != kinds.end()) {
      ++known->count;
    } else {
      kinds.push_back({&link, 1});
    }
  }
  std::vector<std::string> lines;
  for (const auto& [link, count] : kinds) {
    lines.push_back(fmt::format("{} of {}: {}; with PDL {}", count, to_string(link->problem),
                                link->pdl_off, link->pdl_on));
  }
  return lines;
}

std::vector<std::string> notes_of(std::span<const ChainRow* const> rows) {
  std::vector<std::string> notes{
      "TB/s: the bytes of the weights, each link's its own, by the time of the whole chain",
      "x PDL off: what programmatic dependent launch (PDL) gains; the API of cuBLAS does not offer "
      "it"};
  const bool has_epilogues = std::ranges::any_of(rows, [](const ChainRow* row) {
    return std::ranges::any_of(
        row->links, [](const ChainLink& link) { return link.problem.exceeds_product(); });
  });
  if (has_epilogues) {
    notes.push_back(
        "cuBLAS: links with an epilogue are by the first algorithm of cuBLASLt, and what it has no "
        "epilogue for is a launch of this program after it");
  }
  const ChainRow& first = *rows.front();
  if (first.read_tbps) {
    notes.push_back(fmt::format("% of read: of {:g} TB/s ({})", first.read_tbps->value,
                                first.read_tbps->source));
  } else {
    notes.push_back("% of read: no ceiling of this GPU is in configs/devices.yaml");
  }
  for (const ChainRow* row : rows) {
    const Study& study = row->recorded.study;
    if (!row->cold) {
      notes.push_back(fmt::format(
          "M = {}: the weights are less than 3x L2, which may hold some of them from one run of "
          "the chain to the next",
          rows_of(*row)));
    }
    if (study.status != Status::kOk) {
      notes.push_back(fmt::format("M = {}: {}: {}", rows_of(*row), to_string(study.status),
                                  study.message.substr(0, study.message.find('\n'))));
    }
  }
  return notes;
}

std::string block_of(std::span<const ChainRow* const> rows, const Style& style) {
  const RecordedStudy& first = rows.front()->recorded;
  std::vector<Piece> pieces{
      fmt::format("{}Chains on {}, {}\n", style.markdown() ? "### " : "",
                  environment_text(first.environment), first.started_utc.substr(0, 10)),
      render(table_of(rows), style)};
  for (const ChainRow* row : rows) {
    pieces.push_back(list_text(
        fmt::format("{}, {:.2f} GB:", row->recorded.study.label, row->weight_bytes * 1e-9),
        configs_of(*row), style));
  }
  pieces.push_back(list_text("Notes:", notes_of(rows), style));
  return joined(pieces, style);
}

}  // namespace

std::optional<double> ChainRow::tbps(const ChainTiming& timing) const {
  return timing.time_us ? std::optional(weight_bytes / *timing.time_us * 1e-6) : std::nullopt;
}

std::optional<double> ChainRow::of_ceiling(const ChainTiming& timing) const {
  const auto speed = tbps(timing);
  return speed && read_tbps ? std::optional(*speed / read_tbps->value) : std::nullopt;
}

std::vector<ChainRow> chain_rows(std::span<const RecordedStudy> studies,
                                 std::span<const Device> devices) {
  std::vector<ChainRow> rows;
  for (const RecordedStudy& recorded : studies) {
    ChainRow row{.recorded = recorded,
                 .links = links_of(recorded.study.parts),
                 .read_tbps = {},
                 .timings = timings_of(recorded.study)};
    row.weight_bytes = weight_bytes(row.links);
    row.cold = row.weight_bytes >= cold_bytes(recorded.environment.l2_bytes);
    if (const Device* device = find_device(devices, recorded.environment.gpu_name)) {
      row.read_tbps = device->read_tbps;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string format_chain(std::span<const ChainRow> rows, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const ChainRow& row : rows) {
      for (const ChainTiming& timing : row.timings) {
        objects.push_back(json_of(row, timing));
        if (style.format != Format::kJson) continue;
        objects.back()["links"] = links_json(row, timing.kernels);
      }
    }
    if (style.format == Format::kCsv) return as_csv(json_of({}, {}), objects);
    return dump(Json(objects));
  }
  std::vector<std::string> blocks;
  std::vector<const ChainRow*> left;
  for (const ChainRow& row : rows) left.push_back(&row);
  while (!left.empty()) {
    const RecordedStudy& first = left.front()->recorded;
    const auto others = std::ranges::stable_partition(
        left, [&](const ChainRow* row) { return same_session(row->recorded, first); });
    const auto size = left.size() - others.size();
    blocks.push_back(block_of(std::span(left).first(size), style));
    left.erase(left.begin(), others.begin());
  }
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace hgemm
