#include "compile/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/console.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/trusted_file.h"
#include "compile/compiler.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Part of the checksum, so that an entry of another layout counts as damaged.
constexpr std::string_view kFormat = "hgemm-tune compile cache 3";
/// Largest size of an entry; a compiler writes some kilobytes about a kernel.
constexpr std::size_t kMaxEntryBytes = std::size_t{1} << 24;

std::string checksum(std::string_view key, const CompilerOutput& output) {
  const std::string cpu_ms = json(output.cpu_ms).dump();
  return content_hash(std::vector<std::string_view>{kFormat, key, output.succeeded ? "1" : "0",
                                                    output.log, output.cubin, cpu_ms});
}

/// Throws unless the key is a hash: any other text might name a file outside the cache.
void check_key(std::string_view key) {
  if (key.size() == 32 && key.find_first_not_of("0123456789abcdef") == key.npos) return;
  throw Error(fmt::format("\"{}\" is no key of the compile cache", key));
}

fs::path entry_path(const fs::path& dir, const std::string& key, const char* extension) {
  return dir / key.substr(0, 2) / (key + extension);
}

Cache::Found find_in(const fs::path& dir, const std::string& key, uid_t owner) {
  const auto text = read_trusted_file(entry_path(dir, key, ".json"), kMaxEntryBytes, owner);
  if (!text) return {};
  const fs::path path = entry_path(dir, key, ".cubin");
  auto bytes = read_trusted_file(path, kMaxCubinBytes, owner);
  if (!bytes) return {.output = {}, .cubin = {}, .damaged = true};
  Cubin cubin{path, content_hash(*bytes), owner};
  auto output = parse_entry(key, *text, std::move(*bytes));
  const bool damaged = !output;
  return {std::move(output), std::move(cubin), damaged};
}

Cubin store_in(const fs::path& dir, const std::string& key, const CompilerOutput& output) {
  const fs::path cubin = entry_path(dir, key, ".cubin");
  // The .json is written last: its presence says that the cubin is complete.
  write_trusted_file(cubin, output.cubin);
  write_trusted_file(entry_path(dir, key, ".json"), entry_text(key, output));
  return {cubin, content_hash(output.cubin), geteuid()};
}

}  // namespace

std::string entry_text(std::string_view key, const CompilerOutput& output) {
  const json entry = {{"succeeded", output.succeeded},
                      {"log", output.log},
                      {"cpu_ms", output.cpu_ms},
                      {"checksum", checksum(key, output)}};
  return entry.dump(1) + "\n";
}

std::optional<CompilerOutput> parse_entry(std::string_view key, std::string_view text,
                                          std::string cubin) {
  const json entry = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!entry.is_object()) return std::nullopt;
  try {
    CompilerOutput output{entry.at("succeeded").get<bool>(), entry.at("log").get<std::string>(),
                          std::move(cubin), entry.at("cpu_ms").get<double>()};
    if (checksum(key, output) != entry.at("checksum").get<std::string>()) return std::nullopt;
    if (output.succeeded) static_cast<void>(code_hash(output.cubin));
    return output;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const Error&) {  // the writer of this entry had no valid cubin
    return std::nullopt;
  }
}

Cache::Cache(fs::path dir, fs::path shared, std::shared_ptr<TemporaryFolders> overflow)
    : dir_(std::move(dir)), shared_(std::move(shared)), overflow_(std::move(overflow)) {
  if (!shared_.empty()) shared_owner_ = owner_of_trusted_folder(shared_);
  std::error_code unwritable;  // ignored here: store() reports it, if there is anything to store
  fs::create_directories(dir_, unwritable);
}

Cache::Found Cache::find(const std::string& key) const {
  check_key(key);
  Found found = find_in(dir_, key, geteuid());
  bool damaged = found.damaged;
  for (const fs::path& folder : overflow_->made()) {
    if (!found.output) found = find_in(folder, key, geteuid());
  }
  if (!found.output && !shared_.empty()) found = find_in(shared_, key, shared_owner_);
  found.damaged = !found.output && (found.damaged || damaged);
  return found;
}

Cubin Cache::store(const std::string& key, const CompilerOutput& output) const {
  check_key(key);
  std::string causes;
  try {
    return store_in(dir_, key, output);
  } catch (const Error& error) {
    causes = error.what();
  }
  for (std::size_t place = 0; place < TemporaryFolders::kPlaces; ++place) {
    try {
      const TemporaryFolders::Made made = overflow_->at(place);
      Cubin cubin = store_in(made.folder, key, output);
      if (made.is_new) {
        say("the compile cache {} is done without: {}\nWhat it cannot take is kept in {} until "
            "this run ends; choose another folder with --cache-dir.\n",
            dir_.string(), causes, made.folder.string());
      }
      return cubin;
    } catch (const Error& error) {
      causes += fmt::format("; {}", error.what());
    }
  }
  throw Error(fmt::format("There is no room for compiled kernels: {}.", causes));
}

fs::path default_cache_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value != nullptr ? value : "");
  };
  // XDG Base Directory Specification: a relative path is invalid and must be ignored.
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "hgemm-tune";
  }
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "hgemm-tune";
  throw InputError("Neither XDG_CACHE_HOME nor HOME is set: choose a folder with --cache-dir.");
}

}  // namespace hgemm
