#include "studies/probe/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

// Roles of a CTA first, then summaries from small to large.
constexpr auto kRoles = std::to_array<std::string_view>(
    {"producer", "consumer", "cta", "article", "cluster", "sm", "kernel"});
// Phases in their order in time, then sums. All roles share this order.
constexpr auto kPhases = std::to_array<std::string_view>(
    {"prologue",  "setmaxnreg",   "order",         "wait_empty", "issue",   "load",
     "wait_full", "mma_issue",    "mma_wait",      "mma",        "release", "promote",
     "epilogue",  "store",        "skew",          "drain",      "total",   "kernel",
     "launch",    "start_spread", "finish_spread", "plain",      "probed"});

/// Restores the order, because databases return figures by name. Unknown roles and phases come
/// last, by name.
std::vector<CycleFigure> in_order(std::vector<CycleFigure> figures) {
  const auto place = [](const CycleFigure& figure) {
    return std::tuple(std::ranges::find(kRoles, figure.role) - kRoles.begin(), figure.role,
                      std::ranges::find(kPhases, figure.phase) - kPhases.begin(), figure.phase);
  };
  std::ranges::stable_sort(figures, {}, place);
  return figures;
}

/// Whether the phase is outside a role's time from begin to end, to which shares refer.
bool is_around(const CycleFigure& figure) {
  return figure.phase == "prologue" || figure.phase == "setmaxnreg" || figure.phase == "drain";
}
/// Whether the role is one of a CTA (a ladder step may have just "cta"); other roles are summaries.
bool is_role(const CycleFigure& figure) {
  return figure.role != "article" && figure.role != "cluster" && figure.role != "sm" &&
         figure.role != "kernel";
}

/// A study with its figures as cycles, in order.
struct Probed {
  RecordedStudy recorded;
  std::vector<CycleFigure> cycles;
};

const CycleFigure* find(const Probed& study, std::string_view role, std::string_view phase) {
  for (const CycleFigure& figure : study.cycles) {
    if (figure.role == role && figure.phase == phase) return &figure;
  }
  return nullptr;
}

/// Number of units counted for a role: tiles, k blocks or CTAs.
std::optional<std::int64_t> count_of(const Probed& study, std::string_view role,
                                     std::string_view unit) {
  for (const CycleFigure& figure : study.cycles) {
    if (figure.role == role && figure.unit == unit) return figure.count;
  }
  return std::nullopt;
}

/// Share of the role's time; none for a phase that is not part of it.
std::optional<double> share(const Probed& study, const CycleFigure& figure) {
  const CycleFigure* const total = find(study, figure.role, "total");
  if (!is_role(figure) || is_around(figure) || total == nullptr || total->cycles <= 0) {
    return std::nullopt;
  }
  return figure.cycles / total->cycles;
}

/// Sum of the phases that make up the role's time, as a share of it.
double accounted(const Probed& study, std::string_view role) {
  double sum = 0;
  for (const CycleFigure& figure : study.cycles) {
    if (figure.role == role && figure.phase != "total") sum += share(study, figure).value_or(0);
  }
  return sum;
}

std::string cycles_text(const std::optional<double>& cycles) {
  if (!cycles) return "-";
  return fmt::format("{:.{}f}", *cycles, *cycles < 100 ? 1 : 0);
}

Table::Row row_of(const Probed& study, const CycleFigure& figure) {
  const auto per = [&](std::string_view unit) -> std::optional<double> {
    if (figure.unit == unit) return figure.mean();
    // Figures of a finer unit are summed up for a coarser one.
    const bool is_finer = unit == "cta" || (unit == "tile" && figure.unit == "k_block");
    const auto count = count_of(study, figure.role, unit);
    if (!is_finer || !count || *count == 0) return std::nullopt;
    return figure.cycles / static_cast<double>(*count);
  };
  const std::optional<double> part = share(study, figure);
  return {figure.role,
          figure.phase,
          cycles_text(per("k_block")),
          cycles_text(per("tile")),
          cycles_text(per("cta")),
          part ? fmt::format("{:.1f} %", *part * 100) : "-"};
}

std::vector<std::string> remarks(const Probed& study) {
  std::vector<std::string> lines;
  const auto mean_of = [&](std::string_view role, std::string_view phase) -> std::optional<double> {
    const CycleFigure* const figure = find(study, role, phase);
    return figure != nullptr ? std::optional(figure->mean()) : std::nullopt;
  };
  const auto load = mean_of("article", "load");
  const auto mma = mean_of("article", "mma");
  const auto store = mean_of("article", "store");
  if (load && mma && store) {
    lines.push_back(
        fmt::format("as a consumer sees it: load {:.0f} and MMA {:.0f} cycles a k block, store "
                    "{:.0f} a tile",
                    *load, *mma, *store));
  }
  if (const auto promote = mean_of("consumer", "promote"); promote && mma) {
    lines.push_back(fmt::format(
        "of its MMA, adding the tensor cores' sums to fp32 ones takes {:.0f} cycles a k "
        "block",
        *promote));
  }
  if (find(study, "consumer", "total") != nullptr) {
    const double sum = accounted(study, "consumer");
    lines.push_back(
        fmt::format("a consumer's phases are {:.1f} % of its time; the rest is the writing of the "
                    "records",
                    sum * 100));
  }
  const auto launch = mean_of("kernel", "launch");
  if (launch) {
    std::string line = fmt::format("the launch took {:.0f} cycles", *launch);
    if (const auto total = mean_of("kernel", "total")) {
      line += fmt::format(", a CTA {:.0f} on average", *total);
    }
    lines.push_back(line);
  }
  const auto start = mean_of("sm", "start_spread");
  const auto finish = mean_of("sm", "finish_spread");
  if (start && finish) {
    lines.push_back(
        fmt::format("SMs started within {:.0f} cycles of one another and finished "
                    "within {:.0f}",
                    *start, *finish));
  }
  if (const auto skew = mean_of("cluster", "skew")) {
    lines.push_back(
        fmt::format("the CTAs of a cluster had a tile's first stage within {:.0f} cycles of one "
                    "another on average",
                    *skew));
  }
  const auto plain = mean_of("kernel", "plain");
  const auto probed = mean_of("kernel", "probed");
  if (plain && probed && *plain > 0) {
    lines.push_back(
        fmt::format("without stamps {:.0f} cycles a launch, with them {:.0f} ({:+.1f} "
                    "%), back to back",
                    *plain, *probed, (*probed / *plain - 1) * 100));
  }
  if (study.recorded.study.label.find(".overlap.") != std::string::npos) {
    lines.push_back(
        "a tile is stored while the next one is multiplied: that is in mma_wait, not in the store");
  }
  if (!study.recorded.study.message.empty()) lines.push_back(study.recorded.study.message);
  return lines;
}

std::string block_of(const Probed& probed, const Style& style) {
  const RecordedStudy& recorded = probed.recorded;
  const Study& study = recorded.study;
  const std::string subject = study.problem
                                  ? fmt::format("{} at {}", study.label, shape_text(*study.problem))
                                  : study.label;
  if (study.status != Status::kOk) {
    return fmt::format("{}: {}: {}\n", subject, to_string(study.status),
                       study.message.substr(0, study.message.find('\n')));
  }
  Table table;
  table.columns = {{"role", false}, {"phase", false}, {"cycles / k block"},
                   {"/ tile"},      {"/ CTA"},        {"of its time"}};
  for (const CycleFigure& figure : probed.cycles) {
    if (is_role(figure)) table.rows.push_back(row_of(probed, figure));
  }
  std::string list;
  for (const std::string& line : remarks(probed)) list += fmt::format("- {}\n", line);
  const std::vector<Piece> pieces = {
      fmt::format("{}, {}, {}\n", subject, environment_text(recorded.environment),
                  recorded.started_utc.substr(0, 10)),
      render(table, style), list};
  return joined(pieces, style);
}

Json subject_of(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  Json json;
  json["m"] = study.problem ? Json(study.problem->m) : Json();
  json["n"] = study.problem ? Json(study.problem->n) : Json();
  json["k"] = study.problem ? Json(study.problem->k) : Json();
  json["dtype"] = study.problem ? Json(types_text(*study.problem)) : Json();
  json["label"] = study.label;
  json["gpu"] = recorded.environment.gpu_name;
  json["started_utc"] = recorded.started_utc;
  json["status"] = to_string(study.status);
  return json;
}

Json figure_json(const Probed& study, const CycleFigure& figure) {
  return {{"role", figure.role},
          {"phase", figure.phase},
          {"unit", figure.unit},
          {"count", figure.count},
          {"cycles", number(figure.cycles)},
          {"mean", number(figure.mean())},
          {"share", number(share(study, figure))}};
}

}  // namespace

std::string format_probe(std::span<const RecordedStudy> studies, const Style& style) {
  std::vector<Probed> all;
  for (const RecordedStudy& recorded : studies) {
    all.push_back({recorded, in_order(cycles_of(recorded.study))});
  }
  if (style.format == Format::kJson) {
    Json list = Json::array();
    for (const Probed& probed : all) {
      Json json = subject_of(probed.recorded);
      json["message"] = probed.recorded.study.message;
      json["figures"] = Json::array();
      for (const CycleFigure& figure : probed.cycles) {
        json["figures"].push_back(figure_json(probed, figure));
      }
      list.push_back(std::move(json));
    }
    return dump(list);
  }
  if (style.format == Format::kCsv) {
    Json names = subject_of({});
    names.update(figure_json({}, {}));
    std::vector<Json> rows;
    for (const Probed& probed : all) {
      if (probed.cycles.empty()) rows.push_back(subject_of(probed.recorded));
      for (const CycleFigure& figure : probed.cycles) {
        rows.push_back(subject_of(probed.recorded));
        rows.back().update(figure_json(probed, figure));
      }
    }
    for (Json& row : rows) {
      for (const auto& [name, value] : names.items()) {
        if (!row.contains(name)) row[name] = nullptr;
      }
    }
    return as_csv(names, rows);
  }
  std::string text;
  for (const Probed& probed : all) {
    if (!text.empty()) text += "\n";
    text += block_of(probed, style);
  }
  return text;
}

}  // namespace hgemm
