#include "store/checksum.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/hash.h"

namespace hgemm::sql {
namespace {

/// Collects the bytes that are hashed for one row. Each value is written with its length or at a
/// fixed size, so that two rows with the same bytes in a row have the same values. Values that
/// SQLite does not give back as they were stored (-0, NaN) are written in one form.
class Content {
 public:
  explicit Content(std::string_view table) { add(table); }

  void add(std::string_view text) {
    add_bits(text.size());
    bytes_ += text;
  }
  void add(double value) {
    const double one = value == 0 ? 0 : value;
    add_bits(std::bit_cast<std::uint64_t>(std::isnan(one) ? std::numeric_limits<double>::quiet_NaN()
                                                          : one));
  }
  void add(std::int64_t value) { add_bits(static_cast<std::uint64_t>(value)); }
  void add(int value) { add(std::int64_t{value}); }
  void add(bool value) { add(std::int64_t{value}); }
  void add(std::uint64_t value) { add_bits(value); }
  template <class Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }
  std::uint64_t hash() const { return short_hash(bytes_); }

 private:
  void add_bits(std::uint64_t bits) {  // little-endian on every machine
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  std::string bytes_;
};

void add_place(Content& content, const Environment& e, const RunInfo& run) {
  content.add_all(std::string_view(e.gpu_name), e.compute_major, e.compute_minor, e.sm_count,
                  e.l2_bytes, e.memory_bytes, e.max_sm_mhz, e.power_limit_w,
                  std::string_view(e.driver), std::string_view(e.cuda), std::string_view(e.cublas),
                  std::string_view(run.gpu_uuid));
}

void add_verdict(Content& content, const Verdict& verdict) {
  content.add_all(verdict.correct, verdict.error, verdict.tolerance,
                  std::string_view(verdict.message));
}

void add_sample(Content& content, const Sample& sample) {
  content.add_all(sample.round, to_string(sample.pace), sample.launches, sample.time_us,
                  sample.sm_mhz, sample.power_w, sample.temperature_c, sample.clock_events);
}

}  // namespace

std::uint64_t hash_of_race(const RecordedRace& recorded) {
  const Race& race = recorded.race;
  Content content("race");
  content.add_all(std::string_view(recorded.uid), std::string_view(recorded.started_utc));
  add_place(content, recorded.environment, recorded.run);
  content.add_all(std::string_view(to_string(race.problem)), race.problem.weight,
                  std::string_view(race.problem.tag), to_string(race.regime), race.timing.cold,
                  race.timing.graph, race.timing.pdl, race.timing.brief);
  if (race.timing.neighbours) content.add_all(*race.timing.neighbours);  // since version 9
  return content.hash();
}

std::uint64_t hash_of_trial(const Trial& trial) {
  Content content("trial");
  content.add_all(std::string_view(trial.label), std::string_view(trial.kernel_id),
                  to_string(trial.stage), to_string(trial.status), std::string_view(trial.message));
  add_verdict(content, trial.verdict);
  return content.hash();
}

std::uint64_t hash_of_sample(const std::string& label, const Sample& sample) {
  Content content("sample");
  content.add(std::string_view(label));
  add_sample(content, sample);
  return content.hash();
}

std::uint64_t hash_of_energy(const std::string& label, const Energy& energy) {
  Content content("energy");
  content.add_all(std::string_view(label), energy.window_s, energy.power_w, energy.time_us);
  return content.hash();
}

std::uint64_t hash_of_calls(const std::string& label, const CallTime& time) {
  Content content("call_time");
  content.add_all(std::string_view(label), time.calls, time.host_us, time.kernels, time.kernel_us);
  return content.hash();
}

std::uint64_t checksum(const RecordedRace& recorded) {
  std::uint64_t sum = hash_of_race(recorded);
  for (const Trial& trial : recorded.race.trials) {
    sum += hash_of_trial(trial);
    for (const Sample& sample : trial.samples) sum += hash_of_sample(trial.label, sample);
    if (trial.energy) sum += hash_of_energy(trial.label, *trial.energy);
    if (trial.calls) sum += hash_of_calls(trial.label, *trial.calls);
  }
  return sum;
}

std::uint64_t checksum(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  Content own("study");
  own.add_all(std::string_view(recorded.uid), std::string_view(recorded.started_utc));
  add_place(own, recorded.environment, recorded.run);
  own.add_all(std::string_view(study.kind), std::string_view(study.label),
              std::string_view(study.problem ? to_string(*study.problem) : std::string()),
              std::string_view(study.kernel_id), to_string(study.status),
              std::string_view(study.message));
  add_verdict(own, study.verdict);
  std::uint64_t sum = own.hash();

  for (const Figure& f : study.figures) {
    Content row("figure");
    row.add_all(std::string_view(f.point), std::string_view(f.metric), std::string_view(f.unit),
                f.value, f.low, f.high, f.samples);
    sum += row.hash();
  }
  for (const Span& s : study.spans) {
    Content row("span");
    row.add_all(s.sm, s.cta, std::string_view(s.role), std::string_view(s.phase), s.tile,
                s.start_ns, s.end_ns);
    sum += row.hash();
  }
  for (const StudyPart& part : study.parts) {
    Content row("part");
    row.add_all(part.position, std::string_view(part.variant),
                std::string_view(to_string(part.problem)), std::string_view(part.label));
    sum += row.hash();
  }
  for (const Series& series : study.series) {
    for (const Sample& sample : series.samples) {
      Content row("study_sample");
      row.add(std::string_view(series.name));
      add_sample(row, sample);
      sum += row.hash();
    }
  }
  return sum;
}

}  // namespace hgemm::sql
