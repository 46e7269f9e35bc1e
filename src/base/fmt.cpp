// The compiled part of {fmt}, once for the whole program. With header-only fmt, every file that
// formats a string compiled it again: 6.9 s instead of 1.0 s for one call, and half of the build.
// Debian has no static library of fmt, and the program links no shared library that a machine with
// CUDA may lack. These are the definitions that the headers of fmt 9 leave to the library; other
// versions stay header-only (CMakeLists.txt).
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
template std::locale locale_ref::get<std::locale>() const;
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
}  // namespace detail
FMT_END_NAMESPACE
#endif
