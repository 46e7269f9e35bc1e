// The compiled part of {fmt}, once. Header-only, every file that formats a string compiled it
// again: 6.9 s instead of 1.0 for one call, and half of the build. There is no static library of it
// on Debian, and the program links no shared one that a machine with CUDA may lack. These are the
// definitions that its headers leave to the library (fmt 9: those that they declare extern).
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
