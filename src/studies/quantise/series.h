// What the study of quantising times, as it is recorded: a series of samples for each. (The
// library's GEMM has kCublasLabel.)
#pragma once

#include <string_view>

namespace hgemm {

inline constexpr std::string_view kQuantiseStudy = "quantise";

inline constexpr const char* kOurGemm = "gemm";
inline constexpr const char* kOurGemmAfter = "gemm_quantised";   ///< quantising A, then our GEMM
inline constexpr const char* kCublasAfter = "cublas_quantised";  ///< then the library's
inline constexpr const char* kQuantisingAlone = "quantise";

}  // namespace hgemm
