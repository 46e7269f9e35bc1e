#include "worker/messages.h"

namespace hgemm {

using nlohmann::json;

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

}  // namespace hgemm
