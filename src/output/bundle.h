// What a bundle holds, for people.
#pragma once

#include <string>

#include "bundle/bundle.h"
#include "output/style.h"

namespace hgemm {

/// What the bundle is valid for, and its rows. Only the formats for people; programs read the
/// manifest (Bundle::manifest).
std::string format_bundle(const Bundle& bundle, const Style& style);

}  // namespace hgemm
