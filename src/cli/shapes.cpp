#include "cli/shapes.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/resources.h"

namespace hgemm::cli {
namespace {

constexpr double kAbsurdBytes = 1e12;  // several times the memory of any Hopper GPU

}  // namespace

std::vector<Shape> chosen_shapes(const std::string& argument) {
  std::vector<Shape> shapes = load_shapes(argument, (resource_dir() / "configs").string());
  for (const Shape& shape : shapes) {
    if (shape.bytes() <= kAbsurdBytes) continue;
    throw InputError(fmt::format(
        "shape {}: an absurd size: its matrices have {:.3g} TB, more than 1 TB; correct it",
        to_string(shape), shape.bytes() / 1e12));
  }
  return shapes;
}

}  // namespace hgemm::cli
