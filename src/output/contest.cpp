#include "output/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "gemm/codec.h"
#include "output/contest_fields.h"
#include "output/json.h"
#include "output/text.h"

namespace hgemm {
namespace {

template <class Row>
Table table_of(std::span<const Row> rows, const std::vector<const Field<Row>*>& fields) {
  Table table;
  for (const Field<Row>* field : fields) table.columns.push_back(column_of(*field));
  for (const Row& row : rows) {
    Table::Row& cells = table.rows.emplace_back();
    for (const Field<Row>* field : fields) cells.push_back(cell_of(*field, row));
  }
  return table;
}

template <class Row>
Json list_of(std::span<const Field<Row>> fields, std::span<const Row> rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object_of(fields_of(fields, Format::kJson), row));
  return list;
}

/// "cuda_l2 has no time at 12 problems: invalid_config: ... (10), wrong_result: ... (2)"
std::vector<std::string> exclusion_lines(std::span<const Exclusion> exclusions) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> by_peer;
  for (const Exclusion& exclusion : exclusions) {
    by_peer[exclusion.peer][exclusion.reason].push_back(to_string(exclusion.problem));
  }
  std::vector<std::string> lines;
  for (const auto& [peer, by_reason] : by_peer) {
    for (const auto& [reason, problems] : by_reason) {
      lines.push_back(fmt::format("{} at {} problem{}, first {}: {}", peer, problems.size(),
                                  problems.size() == 1 ? "" : "s", problems.front(), reason));
    }
  }
  return lines;
}

/// For people: without the bouts against each of the two libraries, which the scores sum up.
std::vector<Bout> shown(const Contest& contest) {
  std::vector<Bout> bouts = contest.bouts;
  std::erase_if(bouts, [](const Bout& bout) {
    return bout.opponent == kCublas || bout.opponent == kCublasLt;
  });
  std::ranges::stable_sort(
      bouts, {}, [](const Bout& bout) { return std::pair(bout.regime, to_string(bout.problem)); });
  return bouts;
}

/// For people: the size classes of the bouts that shown() shows.
std::vector<Score> shown_scores(const Contest& contest) {
  std::vector<Score> scores = contest.scores;
  std::erase_if(scores, [](const Score& score) {
    return score.size != "all" && (score.opponent == kCublas || score.opponent == kCublasLt);
  });
  return scores;
}

}  // namespace

std::string format_contest(const Contest& given, const Style& style) {
  Contest contest = given;
  sort_rows(contest.bouts, bout_fields(), style);
  const auto fields = fields_of(bout_fields(), style);
  if (style.format == Format::kCsv) {
    std::vector<Json> rows;
    for (const Bout& bout : contest.bouts) rows.push_back(object_of(fields, bout));
    return csv_of(fields, std::span<const Json>(rows));
  }
  if (style.format == Format::kJson) {
    Json bouts = Json::array();
    for (const Bout& bout : contest.bouts) bouts.push_back(object_of(fields, bout));
    return dump(Json{{"bouts", bouts},
                     {"scores", list_of<Score>(score_fields(), contest.scores)},
                     {"exclusions", list_of<Exclusion>(exclusion_fields(), contest.exclusions)}});
  }
  if (contest.bouts.empty()) return "No kernel was measured to the end: there is no verdict.\n";
  Style of_table = style;
  of_table.sort.clear();  // the bouts are sorted
  Style of_scores = of_table;
  of_scores.columns.clear();
  const std::vector<Bout> bouts = style.sort.empty() ? shown(contest) : contest.bouts;
  std::vector<Piece> pieces = {
      render(table_of<Bout>(bouts, fields), of_table),
      "Ratio: the opponent's time over the contestant's; above 1 the contestant is faster. All "
      "ratios are of one race on one card.\n",
      render(table_of<Score>(shown_scores(contest), fields_of(score_fields(), of_scores)),
             of_scores)};
  if (const auto lines = exclusion_lines(contest.exclusions); !lines.empty()) {
    pieces.push_back(list_text("Without a time:", lines, style));
  }
  return joined(pieces, style);
}

void check_contest_columns(const Style& style) { check_columns(bout_fields(), style); }

}  // namespace hgemm
