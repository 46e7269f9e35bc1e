#include "output/style.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace hgemm {

Format parse_format(std::string_view text) {
  if (text == "table") return Format::kTable;
  if (text == "md") return Format::kMarkdown;
  if (text == "json") return Format::kJson;
  if (text == "csv") return Format::kCsv;
  throw InputError(fmt::format("unknown format '{}': use table, md, json or csv", text));
}

bool for_programs(Format format) { return format == Format::kJson || format == Format::kCsv; }

std::vector<SortKey> parse_sort(std::string_view text) {
  std::vector<SortKey> keys;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
    const std::size_t colon = word.rfind(':');
    const std::string_view order = colon == word.npos ? "asc" : word.substr(colon + 1);
    if (order != "asc" && order != "desc") {
      throw InputError(
          fmt::format("--sort {}: the order is asc or desc, as in time_us:desc", in_quotes(word)));
    }
    keys.push_back({std::string(word.substr(0, colon)), order == "desc"});
  }
  return keys;
}

}  // namespace hgemm
