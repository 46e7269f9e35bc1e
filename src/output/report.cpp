#include "output/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>
#include <utility>

#include "base/revision.h"
#include "output/report_parts.h"
#include "output/text.h"

namespace hgemm {
namespace report {

void Source::add(const Environment& environment, const RunInfo& run, const std::string& started_utc,
                 const std::string& command_line) {
  environments_.insert(environment_text(environment));
  kernels_.insert(run.short_kernel_sources());
  dates_.insert(started_utc.substr(0, started_utc.find('T')));
  if (std::ranges::find(commands_, command_line) == commands_.end()) {
    commands_.push_back(command_line);
  }
}

void Source::add(const RecordedRace& race) {
  add(race.environment, race.run, race.started_utc, race.command_line);
  add_regime(race.race.regime);
}

void Source::add(const RecordedStudy& study) {
  add(study.environment, study.run, study.started_utc, study.command_line);
}

Json Source::json() const {
  Json dates;
  if (!dates_.empty()) {
    const std::string& first = *dates_.begin();
    const std::string& last = *dates_.rbegin();
    dates = first == last ? first : fmt::format("{} to {}", first, last);
  }
  return {{"environments", environments_},
          {"dates", dates},
          {"regimes", regimes_},
          {"kernels", kernels_},
          {"commands", commands_}};
}

Json missing(const std::string& sentence, const std::string& how) {
  return {{"missing", sentence}, {"how", how}};
}

std::string group_of(const GemmProblem& problem) {
  const std::string group = problem.tag.substr(0, problem.tag.find('/'));
  if (!group.empty()) return group;
  if (!problem.has_8_bit_operands()) return "other";
  GemmProblem packed = problem;
  packed.lda = packed.ldb = packed.ldd = 0;
  const std::string key = to_string(packed);
  return key.substr(key.find('.') + 1);
}

namespace {

struct Seen {
  std::string newest_utc, gpu;
  std::set<std::string> gpus;

  void add(const Environment& environment, const std::string& started_utc) {
    gpus.insert(environment.gpu_name);
    if (started_utc >= newest_utc) {
      newest_utc = started_utc;
      gpu = environment.gpu_name;
    }
  }
};

template <class T>
std::vector<T> of_gpu(std::span<const T> all, const std::string& gpu) {
  std::vector<T> here;
  std::ranges::copy_if(all, std::back_inserter(here),
                       [&gpu](const T& recorded) { return recorded.environment.gpu_name == gpu; });
  return here;
}

/// ISO 8601
std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[sizeof "2026-01-31T12:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json device_json(const Device* device) {
  if (device == nullptr) return Json();
  Json json{{"name", device->name},
            {"ridge", device->ridge(MmaInput::kBf16)},
            {"fp8_ridge", device->ridge(MmaInput::kFp8)}};
  const auto add = [&json](const char* name, const KnownFigure& figure) {
    json[name] = figure.value;
    json[fmt::format("{}_source", name)] = figure.source;
  };
  add("sms", device->sms);
  add("peak_tflops", device->peak_tflops);
  add("peak_fp8_tflops", device->peak_fp8_tflops);
  add("memory_tbps", device->memory_tbps);
  if (device->read_tbps) add("read_tbps", *device->read_tbps);
  return json;
}

}  // namespace
}  // namespace report

std::string report_data(const ReportInput& input, const StudySections& study_sections) {
  using namespace report;
  Seen seen;
  for (const auto* races : {&input.races, &input.spaces}) {
    for (const RecordedRace& race : *races) seen.add(race.environment, race.started_utc);
  }
  for (const RecordedStudy& study : input.studies) seen.add(study.environment, study.started_utc);
  std::set<std::string> others = seen.gpus;
  others.erase(seen.gpu);

  const auto races = of_gpu(std::span(input.races), seen.gpu);
  const auto spaces = of_gpu(std::span(input.spaces), seen.gpu);
  const auto studies = of_gpu(std::span(input.studies), seen.gpu);
  const std::span<const RecordedRace> whole = spaces.empty() ? races : spaces;
  std::vector<Truth> known_spaces = truths(whole);
  std::erase_if(known_spaces, [](const Truth& truth) {
    return !truth.problem.data.is_normal() || truth.entries.size() < kFewConfigs ||
           truth.best() <= 0;
  });
  const Known known{.races = races,
                    .spaces = whole,
                    .truths = known_spaces,
                    .studies = studies,
                    .devices = input.devices,
                    .space = input.space,
                    .device = find_device(input.devices, seen.gpu)};
  Json data{{"schema", 2},
            {"revision", git_revision()},
            {"command", input.command_line},
            {"created_utc", now_utc()},
            {"databases", input.databases},
            {"gpu", seen.gpu.empty() ? Json() : Json(seen.gpu)},
            {"other_gpus", others},
            {"device", device_json(known.device)}};
  for (Section& section : best_sections(known)) data[section.name] = std::move(section.content);
  data["comparison"] = input.before ? comparison_section(input.before->races, races,
                                                         {input.before->name, input.databases[0]})
                                    : Json();
  data["sustained"] = sustained_section(known);
  for (Section& section : study_sections(known)) data[section.name] = std::move(section.content);
  data["tiles"] = tiles_section(known);
  data["search"] = search_section(known);
  return compact(data) + "\n";
}

}  // namespace hgemm
