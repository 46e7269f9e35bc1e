#include "worker/messages.h"

namespace hgemm {

using nlohmann::json;

namespace {

template <class T>
json nullable(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
template <class T>
void read_nullable(const json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

}  // namespace

void to_json(json& json, const Prepared& prepared) {
  json = {{"status", to_string(prepared.status)},
          {"message", prepared.message},
          {"verdict", prepared.verdict},
          {"estimate_us", prepared.estimate_us}};
}
void from_json(const json& json, Prepared& prepared) {
  prepared.status = parse_status(json.at("status").get<std::string>());
  json.at("message").get_to(prepared.message);
  json.at("verdict").get_to(prepared.verdict);
  json.at("estimate_us").get_to(prepared.estimate_us);
}

void to_json(json& json, const Sample& sample) {
  json = {{"round", sample.round},
          {"pace", to_string(sample.pace)},
          {"launches", sample.launches},
          {"time_us", sample.time_us},
          {"sm_mhz", sample.sm_mhz},
          {"power_w", nullable(sample.power_w)},
          {"temperature_c", nullable(sample.temperature_c)},
          {"clock_events", nullable(sample.clock_events)}};
}
void from_json(const json& json, Sample& sample) {
  json.at("round").get_to(sample.round);
  sample.pace = parse_pace(json.at("pace").get<std::string>());
  json.at("launches").get_to(sample.launches);
  json.at("time_us").get_to(sample.time_us);
  json.at("sm_mhz").get_to(sample.sm_mhz);
  read_nullable(json.at("power_w"), sample.power_w);
  read_nullable(json.at("temperature_c"), sample.temperature_c);
  read_nullable(json.at("clock_events"), sample.clock_events);
}

void to_json(json& json, const CallTime& time) {
  json = {{"calls", time.calls},
          {"host_us", time.host_us},
          {"kernels", time.kernels},
          {"kernel_us", nullable(time.kernel_us)}};
}
void from_json(const json& json, CallTime& time) {
  json.at("calls").get_to(time.calls);
  json.at("host_us").get_to(time.host_us);
  json.at("kernels").get_to(time.kernels);
  read_nullable(json.at("kernel_us"), time.kernel_us);
}

void to_json(json& json, const Opening& opening) {
  json = {{"seed", opening.seed},
          {"without", opening.without},
          {"brief", opening.effort == Effort::kBrief},
          {"regime", to_string(opening.regime)}};
}
void from_json(const json& json, Opening& opening) {
  json.at("seed").get_to(opening.seed);
  json.at("without").get_to(opening.without);
  opening.effort = json.at("brief").get<bool>() ? Effort::kBrief : Effort::kFull;
  opening.regime = parse_regime(json.at("regime").get<std::string>());
}

void to_json(json& json, const StudyRequest& request) {
  json = {
      {"kind", request.kind},   {"label", request.label}, {"problem", nullable(request.problem)},
      {"parts", request.parts}, {"seed", request.seed},   {"timeline", request.timeline}};
}
void from_json(const json& json, StudyRequest& request) {
  json.at("kind").get_to(request.kind);
  json.at("label").get_to(request.label);
  read_nullable(json.at("problem"), request.problem);
  json.at("parts").get_to(request.parts);
  json.at("seed").get_to(request.seed);
  json.at("timeline").get_to(request.timeline);
}

void to_json(json& json, const Study& study) {
  json = {{"kind", study.kind},
          {"label", study.label},
          {"problem", nullable(study.problem)},
          {"kernel_id", study.kernel_id},
          {"status", to_string(study.status)},
          {"message", study.message},
          {"figures", study.figures},
          {"spans", study.spans},
          {"parts", study.parts},
          {"series", study.series},
          {"verdict", study.verdict}};
}
void from_json(const json& json, Study& study) {
  json.at("kind").get_to(study.kind);
  json.at("label").get_to(study.label);
  read_nullable(json.at("problem"), study.problem);
  json.at("kernel_id").get_to(study.kernel_id);
  study.status = parse_status(json.at("status").get<std::string>());
  json.at("message").get_to(study.message);
  json.at("figures").get_to(study.figures);
  json.at("spans").get_to(study.spans);
  json.at("parts").get_to(study.parts);
  json.at("series").get_to(study.series);
  json.at("verdict").get_to(study.verdict);
}

}  // namespace hgemm
