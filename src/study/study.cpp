#include "study/study.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace hgemm {
namespace {

struct Word {
  StudyKind kind;
  std::string_view text;
};
// The words of the database (CHECK constraints in store/schema.sql) and of the commands.
constexpr std::array kWords{
    Word{StudyKind::kMicro, "micro"},       Word{StudyKind::kProbe, "probe"},
    Word{StudyKind::kCounters, "counters"}, Word{StudyKind::kLadder, "ladder"},
    Word{StudyKind::kChain, "chain"},
};

}  // namespace

std::string_view to_string(StudyKind kind) {
  for (const Word& word : kWords) {
    if (word.kind == kind) return word.text;
  }
  throw Error(fmt::format("study kind {} has no name: a value outside its enumeration",
                          static_cast<int>(kind)));
}

StudyKind parse_study_kind(std::string_view text) {
  for (const Word& word : kWords) {
    if (word.text == text) return word.kind;
  }
  throw InputError(fmt::format(
      "unknown study '{}': expected one of micro, probe, counters, ladder, chain", text));
}

}  // namespace hgemm
