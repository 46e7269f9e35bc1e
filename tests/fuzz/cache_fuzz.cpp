// What lies in a compile cache, which others may write to: the entry and the cubin, apart at the
// first NUL byte of the input. A damaged entry counts as none; what was stored is found again.
#include <algorithm>

#include "compile/cache.h"
#include "compile/cubin.h"
#include "compile/judge.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hgemm;

constexpr const char* kKey = "ab00000000000000000000000000cdef";
constexpr const char* kOtherKey = "ab00000000000000000000000000cdee";

/// `is_kernel`: whether the cubin is one; else an entry that says that it was compiled is damaged.
void store_and_find(const CompilerOutput& output, bool is_kernel) {
  const std::string entry = entry_text(kKey, output);
  const auto found = parse_entry(kKey, entry, output.cubin);
  fuzz::require(found.has_value() == (is_kernel || !output.succeeded), "what was stored is found");
  fuzz::require(!found || (found->log == output.log && found->cubin == output.cubin),
                "what is found is what was stored");
  fuzz::require(!parse_entry(kOtherKey, entry, output.cubin), "an entry is of one key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view entry = text.substr(0, end);
  const std::string_view cubin = text.substr(std::min(end + 1, text.size()));
  fuzz::accepts([&] { parse_entry(kKey, entry, std::string(cubin)); });
  // A log is UTF-8 (compile/nvrtc.h): here as ASCII.
  std::string log(entry);
  for (char& byte : log) byte = static_cast<char>(byte & 0x7f);
  const bool is_kernel = fuzz::accepts([&] { code_hash(cubin); });
  for (const bool succeeded : {true, false}) {
    store_and_find({.succeeded = succeeded, .log = log, .cubin = std::string(cubin), .cpu_ms = 1},
                   is_kernel);
  }
  fuzz::accepts([&] { judge(true, entry); });
  fuzz::accepts([&] { judge(false, entry); });
  return 0;
}
