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

void to_json(json& json, const Shape& shape) {
  json = {{"m", shape.m},
          {"n", shape.n},
          {"k", shape.k},
          {"dtype", to_string(shape.dtype)},
          {"layout", to_string(shape.layout)},
          {"weight", shape.weight},
          {"tag", shape.tag}};
}
void from_json(const json& json, Shape& shape) {
  json.at("m").get_to(shape.m);
  json.at("n").get_to(shape.n);
  json.at("k").get_to(shape.k);
  shape.dtype = parse_dtype(json.at("dtype").get<std::string>());
  shape.layout = parse_layout(json.at("layout").get<std::string>());
  json.at("weight").get_to(shape.weight);
  json.at("tag").get_to(shape.tag);
}

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

}  // namespace hgemm
