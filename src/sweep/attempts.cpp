#include "sweep/attempts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/open_file.h"
#include "base/text.h"

namespace hgemm::sweep {
namespace fs = std::filesystem;
namespace {

struct Note {
  std::string race;
  Attempt attempt;
};

std::optional<Note> find_note(const std::string& name) {
  const auto at = name.rfind('@');
  if (at == name.npos || at == 0) return std::nullopt;
  const auto attempt = find_attempt(std::string_view(name).substr(at + 1));
  if (!attempt) return std::nullopt;
  return Note{name.substr(0, at), *attempt};
}

/// The attempt of "<attempt><suffix>".
std::optional<Attempt> find_mark(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  return find_attempt(name);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;  // a folder that nobody made has no notes
  for (auto entry = fs::directory_iterator(folder, missing); entry != fs::directory_iterator();) {
    names.push_back(entry->path().filename().string());
    std::error_code vanished;
    entry.increment(vanished);
    if (vanished) break;
  }
  return names;
}

fs::path path_of(const fs::path& folder, const std::string& race, const Attempt& attempt) {
  return folder / fmt::format("{}@{}", race, to_string(attempt));
}

}  // namespace

std::string to_string(const Attempt& attempt) {
  return fmt::format("{}.{}.{}", attempt.job, attempt.restart, attempt.tries);
}

std::optional<Attempt> find_attempt(std::string_view text) {
  std::array<long, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto end = i + 1 < parts.size() ? text.find('.') : text.size();
    if (end == text.npos) return std::nullopt;
    const auto number = find_number(text.substr(0, end));
    if (!number) return std::nullopt;
    parts[i] = static_cast<long>(*number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Attempt{parts[0], parts[1], parts[2]};
}

void Attempts::begin(const std::string& race, const Attempt& attempt) const {
  const fs::path path = path_of(folder_, race, attempt);
  // The name is all that counts, so nothing is written into the file.
  OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (file.fd() < 0 || !file.close()) {
    throw Error(
        fmt::format("{} cannot be written: {}; check the room and the permissions of the "
                    "run folder",
                    path.string(), std::strerror(errno)));
  }
}

void Attempts::end(const std::string& race, const Attempt& attempt) const {
  std::error_code gone;
  fs::remove(path_of(folder_, race, attempt), gone);
}

void Attempts::forget(const std::string& race) const {
  for (const std::string& name : names_in(folder_)) {
    const auto note = find_note(name);
    if (note && note->race == race) end(race, note->attempt);
  }
}

std::map<std::string, RaceHistory> Attempts::histories(const std::optional<Attempt>& own) const {
  std::vector<Note> notes;
  std::set<Attempt> died, stopped;
  Attempt latest = own.value_or(Attempt{});
  for (const std::string& name : names_in(folder_)) {
    if (auto note = find_note(name)) {
      latest = std::max(latest, note->attempt);
      notes.push_back(std::move(*note));
    } else if (const auto mark = find_mark(name, ".died")) {
      died.insert(*mark);
    } else if (const auto stop = find_mark(name, ".stopped")) {
      stopped.insert(*stop);
    }
  }
  std::map<std::string, RaceHistory> histories;
  for (const auto& [race, attempt] : notes) {
    RaceHistory& history = histories[race];
    if (stopped.contains(attempt)) continue;  // a task that was being stopped proves nothing
    if (died.contains(attempt)) {
      ++history.deaths;
    } else if (attempt == latest) {
      history.is_in_hand = true;
    } else {
      ++history.losses;
    }
  }
  return histories;
}

}  // namespace hgemm::sweep
