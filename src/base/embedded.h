// Files compiled into the program (cmake/embed.cmake), so that it runs away from its source tree.
#pragma once

#include <span>
#include <string_view>

namespace hgemm {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the project folder, e.g. "kernels/tiled/kernel.cuh"
  std::string_view text;  ///< NUL-terminated: text.data() is a C string
};

std::span<const EmbeddedFile> embedded_kernels();  ///< kernels/common/ and the families' folders
std::span<const EmbeddedFile> embedded_study_kernels();  ///< kernels/studies/
/// package/ and the files of src/ that packages share with this program: `export --format cpp`
/// copies them.
std::span<const EmbeddedFile> embedded_package();
std::span<const EmbeddedFile> embedded_schema();      ///< src/store/schema.sql
std::span<const EmbeddedFile> embedded_migrations();  ///< src/store/migrations/
std::span<const EmbeddedFile> embedded_help();        ///< src/program/help/
std::span<const EmbeddedFile> embedded_completion();  ///< src/program/completion/

}  // namespace hgemm
