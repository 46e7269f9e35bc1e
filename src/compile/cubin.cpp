#include "compile/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/trusted_file.h"

namespace hgemm {
namespace {

/// Reads a value at an offset of the file.
template <class Value>
Value read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Value)) {
    throw Error("a cubin is cut short: its section table lies outside the file");
  }
  Value value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::string read_cubin(const Cubin& cubin) {
  const auto bytes = read_trusted_file(cubin.path, kMaxCubinBytes, cubin.owner);
  if (bytes && content_hash(*bytes) == cubin.hash) return *bytes;
  throw InputError(fmt::format(
      "the compiled kernel {} {} since it was compiled; nothing of it was run. Leave the cache "
      "alone while a run uses it, then run the same command again: it compiles it anew",
      cubin.path.string(), bytes ? "was changed" : "was removed, or its permissions changed,"));
}

std::string code_hash(std::string_view cubin) {
  if (!cubin.starts_with(std::string_view(ELFMAG, SELFMAG))) {
    throw Error("a cubin is no ELF file: its code cannot be identified");
  }
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  std::vector<std::string> hashes;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section =
        read_at<Elf64_Shdr>(cubin, header.e_shoff + std::uint64_t{i} * header.e_shentsize);
    if ((section.sh_flags & SHF_EXECINSTR) == 0 || section.sh_type == SHT_NOBITS) continue;
    if (section.sh_offset > cubin.size() || cubin.size() - section.sh_offset < section.sh_size) {
      throw Error("a cubin is cut short: its code lies outside the file");
    }
    hashes.push_back(content_hash(cubin.substr(section.sh_offset, section.sh_size)));
  }
  if (hashes.empty()) throw Error("a cubin has no code");
  std::ranges::sort(hashes);
  return content_hash(std::vector<std::string_view>(hashes.begin(), hashes.end()));
}

}  // namespace hgemm
