// The best configs of databases that were recorded long ago are those that the program named then:
// tests/data/recorded_best.tsv is what the version that recorded them answered
// (scripts/write_recorded_best.py).
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ranges>
#include <sstream>
#include <string>
#include <vector>

#include "families/family.h"
#include "gemm/codec.h"
#include "program/aim.h"
#include "program/current.h"
#include "results/best.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kNothing = "-";
/// Databases of later versions are answered from by no older program.
constexpr int kLastOldVersion = 6;

fs::path recorded_folder() { return fs::path(HGEMM_SOURCE_DIR) / "results/h200"; }

struct Answer {
  std::string regime;
  std::string problem;
  std::string label;  ///< in the words of today
  std::optional<double> time_us, ratio_cublas, ratio_cublaslt;
  std::vector<std::string> ties;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string in_words_of_today(const std::string& text) {
  return text == kNothing ? text : label(parse_label(text));
}

std::optional<double> number_of(const std::string& text) {
  return text == kNothing ? std::nullopt : std::optional(std::stod(text));
}

Answer answer_of(const std::vector<std::string>& fields) {
  Answer answer{.regime = fields.at(1),
                .problem = to_string(parse_problem(fields.at(2))),
                .label = in_words_of_today(fields.at(3)),
                .time_us = number_of(fields.at(4)),
                .ratio_cublas = number_of(fields.at(5)),
                .ratio_cublaslt = number_of(fields.at(6)),
                .ties = {}};
  if (fields.at(7) == kNothing) return answer;
  for (const std::string& tie : split(fields.at(7), '+')) {
    answer.ties.push_back(in_words_of_today(tie));
  }
  return answer;
}

Answer answer_of(const BestRow& row) {
  const auto value = [](const std::optional<Ratio>& ratio) {
    return ratio ? std::optional(ratio->value) : std::nullopt;
  };
  return {.regime = std::string(to_string(row.regime)),
          .problem = to_string(row.problem),
          .label = row.label.value_or(kNothing),
          .time_us = row.time_us,
          .ratio_cublas = value(row.cublas),
          .ratio_cublaslt = value(row.cublaslt),
          .ties = row.ties};
}

/// The fields of each line of what the program of then answered.
std::vector<std::vector<std::string>> lines_of_then() {
  const fs::path path = fs::path(HGEMM_SOURCE_DIR) / "tests/data/recorded_best.tsv";
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(split(line, '\t'));
    EXPECT_THAT(lines.back(), SizeIs(8)) << line;
    lines.back().resize(8);
  }
  return lines;
}

/// From that database, in its order.
std::vector<Answer> answers_of_then(const std::string& database) {
  std::vector<Answer> answers;
  for (const auto& fields : lines_of_then()) {
    if (fields[0] == database) answers.push_back(answer_of(fields));
  }
  return answers;
}

/// As `best --db --pdl weights` makes them.
std::vector<Answer> answers_of_today(const fs::path& path) {
  const Store store = Store::open(path.string(), Store::Mode::kReadOnly);
  auto races = store.races();
  const cli::Aim aim{.regimes = {Regime::kSustained, Regime::kBurst},
                     .objective = Objective::kTime,
                     .allowed = {}};
  std::vector<Answer> answers;
  for (const BestRow& row : cli::best_for(aim, races, {}, cli::current_among(store.builds()))) {
    answers.push_back(answer_of(row));
  }
  return answers;
}

bool is_same(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= 1e-6 * std::abs(*b);
}

std::string in_words(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : kNothing;
}

void expect_same(const Answer& now, const Answer& then) {
  SCOPED_TRACE(then.problem + " in " + then.regime);
  EXPECT_EQ(now.problem, then.problem);
  EXPECT_EQ(now.regime, then.regime);
  EXPECT_EQ(now.label, then.label);
  EXPECT_EQ(now.ties, then.ties);
  for (const auto number : {&Answer::time_us, &Answer::ratio_cublas, &Answer::ratio_cublaslt}) {
    EXPECT_TRUE(is_same(now.*number, then.*number))
        << in_words(now.*number) << ", was " << in_words(then.*number);
  }
}

std::vector<std::string> old_databases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(recorded_folder())) {
    if (entry.path().extension() != ".db") continue;
    // Immutable: nothing is written beside the file.
    SQLite::Database db("file:" + entry.path().string() + "?immutable=1",
                        SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    if (db.execAndGet("PRAGMA user_version").getInt() > kLastOldVersion) continue;
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

class RecordedBestTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedBestTest, IsWhatItWasWhenItWasRecorded) {
  const TemporaryFolder folder;
  const fs::path copy = folder.path() / GetParam();
  fs::copy_file(recorded_folder() / GetParam(), copy);
  const auto then = answers_of_then(GetParam());
  const auto now = answers_of_today(copy);
  ASSERT_EQ(now.size(), then.size());
  for (std::size_t i = 0; i < now.size(); ++i) expect_same(now[i], then[i]);
}

TEST(RecordedBest, EveryAnswerOfThenIsLookedAt) {
  const auto databases = old_databases();
  const auto lines = lines_of_then();
  EXPECT_THAT(lines, Not(IsEmpty()));
  for (const auto& fields : lines) EXPECT_THAT(databases, Contains(fields[0]));
}

INSTANTIATE_TEST_SUITE_P(Database, RecordedBestTest, ::testing::ValuesIn(old_databases()),
                         [](const auto& info) {
                           std::string name = info.param.substr(0, info.param.find('.'));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hgemm::test
