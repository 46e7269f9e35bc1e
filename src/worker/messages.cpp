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
          {"lda", shape.lda},
          {"ldb", shape.ldb},
          {"ldd", shape.ldd},
          {"weight", shape.weight},
          {"tag", shape.tag}};
}
void from_json(const json& json, Shape& shape) {
  json.at("m").get_to(shape.m);
  json.at("n").get_to(shape.n);
  json.at("k").get_to(shape.k);
  shape.dtype = parse_dtype(json.at("dtype").get<std::string>());
  shape.layout = parse_layout(json.at("layout").get<std::string>());
  json.at("lda").get_to(shape.lda);
  json.at("ldb").get_to(shape.ldb);
  json.at("ldd").get_to(shape.ldd);
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

void to_json(json& json, const ChainLink& link) {
  json = {{"shape", link.shape}, {"pdl_off", link.pdl_off}, {"pdl_on", link.pdl_on}};
}
void from_json(const json& json, ChainLink& link) {
  json.at("shape").get_to(link.shape);
  json.at("pdl_off").get_to(link.pdl_off);
  json.at("pdl_on").get_to(link.pdl_on);
}

void to_json(json& json, const StudyRequest& request) {
  json = {{"kind", to_string(request.kind)},
          {"label", request.label},
          {"shape", nullable(request.shape)},
          {"links", request.links},
          {"seed", request.seed},
          {"timeline", request.timeline}};
}
void from_json(const json& json, StudyRequest& request) {
  request.kind = parse_study_kind(json.at("kind").get<std::string>());
  json.at("label").get_to(request.label);
  read_nullable(json.at("shape"), request.shape);
  json.at("links").get_to(request.links);
  json.at("seed").get_to(request.seed);
  json.at("timeline").get_to(request.timeline);
}

void to_json(json& json, const Study& study) {
  json = {{"kind", to_string(study.kind)},
          {"label", study.label},
          {"shape", nullable(study.shape)},
          {"cubin_hash", study.cubin_hash},
          {"status", to_string(study.status)},
          {"message", study.message},
          {"micro", study.micro},
          {"cycles", study.cycles},
          {"spans", study.spans},
          {"counters", study.counters},
          {"links", study.links},
          {"verdict", study.verdict},
          {"samples", study.samples},
          {"pdl_samples", study.pdl_samples},
          {"cublas_samples", study.cublas_samples}};
}
void from_json(const json& json, Study& study) {
  study.kind = parse_study_kind(json.at("kind").get<std::string>());
  json.at("label").get_to(study.label);
  read_nullable(json.at("shape"), study.shape);
  json.at("cubin_hash").get_to(study.cubin_hash);
  study.status = parse_status(json.at("status").get<std::string>());
  json.at("message").get_to(study.message);
  json.at("micro").get_to(study.micro);
  json.at("cycles").get_to(study.cycles);
  json.at("spans").get_to(study.spans);
  json.at("counters").get_to(study.counters);
  json.at("links").get_to(study.links);
  json.at("verdict").get_to(study.verdict);
  json.at("samples").get_to(study.samples);
  json.at("pdl_samples").get_to(study.pdl_samples);
  json.at("cublas_samples").get_to(study.cublas_samples);
}

}  // namespace hgemm
