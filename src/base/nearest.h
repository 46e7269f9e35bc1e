#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hgemm {

/// The candidate with the smallest Levenshtein distance to `word`, ignoring case; the first one of
/// a tie; empty if there are no candidates. For "did you mean ...?" in error messages.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "did you mean <nearest>? ", or empty if no candidate is near enough.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace hgemm
