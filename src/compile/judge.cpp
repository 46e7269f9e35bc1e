#include "compile/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace hgemm {
namespace {

struct Advisory {
  std::string_view code, meaning;
};
/// Advisories of ptxas (13.0) about kernels that give correct results but are not compiled as
/// written.
constexpr std::array kAdvisories = {
    Advisory{"C7504", "setmaxnreg is ignored"},
    Advisory{"C7508", "setmaxnreg is ignored"},
    Advisory{"C7511", "wgmma is serialised"},
    Advisory{"C7512", "wgmma is serialised"},
    Advisory{"C7514", "wgmma is serialised"},
    Advisory{"C7515", "wgmma is serialised"},
    Advisory{"C7520", "wgmma is serialised"},
    Advisory{"C7602", "the operands of one wgmma do not fit the registers at entry"},
    // Codes that nobody has met yet.
    Advisory{"instructions are serialized", "wgmma is serialised"},
};

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Sum of all integers directly before `phrase`, as in "8 bytes spill stores".
int sum_before(std::string_view text, std::string_view phrase) {
  int sum = 0;
  for (std::size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    int value = 0;
    std::from_chars(text.data() + begin, text.data() + at, value);
    sum += value;
  }
  return sum;
}

/// `reason`, followed by the log from the first line that `relevant` selects; the lines before it
/// do not help. The text is cut, because a template error can fill pages.
template <typename Relevant>
std::string explain(std::string_view reason, std::string_view log, Relevant relevant) {
  constexpr std::size_t kMaxLines = 20;
  const std::vector<std::string_view> lines = split_lines(log);
  auto first = std::ranges::find_if(lines, relevant);
  if (first == lines.end()) first = lines.begin();
  const auto left = static_cast<std::size_t>(lines.end() - first);
  std::string text(reason);
  for (std::size_t i = 0; i < std::min(left, kMaxLines); ++i) {
    text += fmt::format("\n{}", first[static_cast<std::ptrdiff_t>(i)]);
  }
  if (left > kMaxLines) text += fmt::format("\n... ({} more lines)", left - kMaxLines);
  return text;
}

auto contains(std::string_view word) {
  return [word](std::string_view line) { return line.find(word) != line.npos; };
}

}  // namespace

Judgement judge(bool succeeded, std::string_view log) {
  Judgement result;
  // A source may have several kernels, such as one with its packing kernel: report the maximum.
  constexpr std::string_view kUsed = "Used ";
  for (std::size_t at = log.find(kUsed); at != log.npos; at = log.find(kUsed, at + 1)) {
    int registers = 0;
    std::from_chars(log.data() + at + kUsed.size(), log.data() + log.size(), registers);
    result.registers = std::max(result.registers, registers);
  }
  result.spill_bytes =
      sum_before(log, " bytes spill stores") + sum_before(log, " bytes spill loads");
  result.static_smem_bytes = sum_before(log, " bytes smem");
  const int stack_bytes = sum_before(log, " bytes stack frame");

  for (const Advisory& advisory : kAdvisories) {
    if (log.find(advisory.code) != log.npos) {
      result.objection = explain(fmt::format("{} ({})", advisory.meaning, advisory.code), log,
                                 contains(advisory.code));
      return result;
    }
  }
  if (!succeeded) {
    result.objection = explain("the kernel does not compile", log, contains("error"));
  } else if (result.spill_bytes > 0) {
    result.objection = explain(fmt::format("spills registers ({} bytes)", result.spill_bytes), log,
                               contains(" bytes spill stores"));
  } else if (stack_bytes > 0) {
    result.objection = explain(fmt::format("uses a stack frame ({} bytes)", stack_bytes), log,
                               contains(" bytes stack frame"));
  } else if (result.registers == 0) {
    result.objection =
        explain("the compiler's log does not say what the kernel uses", log, contains(kUsed));
  }
  return result;
}

}  // namespace hgemm
