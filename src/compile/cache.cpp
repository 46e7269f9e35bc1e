#include "compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "compile/compiler.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Part of the checksum: an entry of another layout counts as damaged.
constexpr std::string_view kFormat = "hgemm-tune compile cache 2";

std::string checksum(const CompilerOutput& output) {
  const std::string cpu_ms = json(output.cpu_ms).dump();
  return content_hash(std::vector<std::string_view>{kFormat, output.succeeded ? "1" : "0",
                                                    output.log, output.cubin, cpu_ms});
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Writes all of `text` under a temporary name and renames it; errno is set if false.
bool write_file(const fs::path& path, std::string_view text) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return false;
  bool written = true;
  while (written && !text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else {
      written = count < 0 && errno == EINTR;
    }
  }
  written = written && fsync(fd) == 0;
  int error = errno;
  close(fd);
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return true;
  if (written) error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
}

}  // namespace

Cache::Cache(fs::path dir) : dir_(std::move(dir)) {
  const auto refuse = [&](const char* cause) {
    return InputError(fmt::format(
        "Cannot write the compile cache {}: {}. Choose another folder with --cache-dir.",
        dir_.string(), cause));
  };
  std::error_code error;
  fs::create_directories(dir_, error);
  if (error) throw refuse(error.message().c_str());
  const fs::path probe = dir_ / "writable";
  if (!write_file(probe, "")) throw refuse(std::strerror(errno));
  fs::remove(probe, error);
}

fs::path Cache::entry_path(const std::string& key, const char* extension) const {
  return dir_ / key.substr(0, 2) / (key + extension);
}

fs::path Cache::cubin_path(const std::string& key) const { return entry_path(key, ".cubin"); }

Cache::Found Cache::find(const std::string& key) const {
  const std::optional<std::string> text = read_file(entry_path(key, ".json"));
  if (!text) return {};
  const Found damaged{std::nullopt, true};
  const json entry = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  std::optional<std::string> cubin = read_file(cubin_path(key));
  if (!entry.is_object() || !cubin) return damaged;
  try {
    CompilerOutput output{entry.at("succeeded"), entry.at("log"), std::move(*cubin),
                          entry.at("cpu_ms")};
    if (checksum(output) != entry.at("checksum").get<std::string>()) return damaged;
    return {std::move(output), false};
  } catch (const json::exception&) {
    return damaged;
  }
}

void Cache::store(const std::string& key, const CompilerOutput& output) const {
  const json entry = {{"succeeded", output.succeeded},
                      {"log", output.log},
                      {"cpu_ms", output.cpu_ms},
                      {"checksum", checksum(output)}};
  const fs::path folder = entry_path(key, "").parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  // The entry last: it vouches for the cubin.
  if (!write_file(cubin_path(key), output.cubin) ||
      !write_file(entry_path(key, ".json"), entry.dump(1) + "\n")) {
    throw Error(fmt::format("Cannot write to the compile cache {}: {}.", folder.string(),
                            std::strerror(errno)));
  }
}

fs::path default_cache_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value != nullptr ? value : "");
  };
  // The XDG specification: a relative path is invalid and to be ignored.
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "hgemm-tune";
  }
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "hgemm-tune";
  throw InputError("Neither XDG_CACHE_HOME nor HOME is set: choose a folder with --cache-dir.");
}

}  // namespace hgemm
