// The option --blas: another cuBLAS for the workers.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hgemm::cli {

/// The folder of the option, or of $HGEMM_TUNE_BLAS; empty: the cuBLAS that the program is linked
/// with. Throws InputError if a library is missing there.
std::string blas_folder(const std::optional<std::string>& option);

/// The variables of a worker that loads cuBLAS from this folder; none if it is empty.
std::vector<std::string> variables_for_blas(const std::string& folder);

}  // namespace hgemm::cli
