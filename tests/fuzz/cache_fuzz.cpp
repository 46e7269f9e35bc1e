// What lies in a compile cache, which others may write to: the entry and the cubin, apart at the
// first NUL byte of the input. A damaged entry counts as none; what was stored is found again.
#include <algorithm>

#include "compile/cache.h"
#include "compile/cubin.h"
#include "compile/judge.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hgemm;

const std::string kKey = "ab00000000000000000000000000cdef";

void find_in(const fuzz::Scratch& scratch, std::string_view entry, std::string_view cubin) {
  const Cache cache(scratch.folder());
  const auto folder = cache.cubin_path(kKey).parent_path();
  std::filesystem::create_directories(folder);
  const auto relative = folder.filename().string();
  scratch.write(relative + "/" + kKey + ".json", entry);
  scratch.write(relative + "/" + kKey + ".cubin", cubin);
  const Cache::Found found = cache.find(kKey);
  fuzz::require(!(found.output && found.damaged), "a damaged entry has no output");
}

void store_and_find(const fuzz::Scratch& scratch, const CompilerOutput& output) {
  const Cache cache(scratch.folder());
  cache.store(kKey, output);
  const Cache::Found found = cache.find(kKey);
  fuzz::require(found.output.has_value() && found.output->log == output.log &&
                    found.output->cubin == output.cubin,
                "what was stored is found");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch("cache");
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view entry = text.substr(0, end);
  const std::string_view cubin = text.substr(std::min(end + 1, text.size()));
  fuzz::accepts([&] { find_in(scratch, entry, cubin); });
  // A log is UTF-8 (compile/nvrtc.h): here as ASCII.
  std::string log(entry);
  for (char& byte : log) byte = static_cast<char>(byte & 0x7f);
  fuzz::accepts([&] {
    store_and_find(scratch,
                   {.succeeded = true, .log = log, .cubin = std::string(cubin), .cpu_ms = 1});
  });
  fuzz::accepts([&] { judge(true, entry); });
  fuzz::accepts([&] { judge(false, entry); });
  fuzz::accepts([&] { code_hash(cubin); });
  return 0;
}
