#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "output/export/formats.h"
#include "output/staged_folder.h"

namespace hgemm {

ExportFormat parse_export_format(std::string_view text) {
  static const std::vector<std::string> kNames = {"cpp",    "json",    "csv",   "md",
                                                  "triton", "cutlass", "bundle"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (text == kNames[i]) return static_cast<ExportFormat>(i);
  }
  throw InputError(
      fmt::format("unknown export format '{}': {}use cpp, json, csv, md, triton, cutlass or bundle",
                  text, did_you_mean(text, kNames)));
}

bool has_epilogues(ExportFormat format) {
  return format != ExportFormat::kTriton && format != ExportFormat::kCutlass;
}

void check_has_libraries(ExportFormat format) {
  if (format == ExportFormat::kCpp || format == ExportFormat::kJson) return;
  throw InputError(
      "--with-cublaslt: only --format cpp and json have rows that run cuBLASLt; use one of these, "
      "or leave the option out");
}

std::vector<ExportFile> export_files(const ExportPlan& plan, const Validity& validity,
                                     ExportFormat format, const PackageSources& sources) {
  if (plan.with_cublaslt) check_has_libraries(format);
  switch (format) {
    case ExportFormat::kCpp:
      return cpp_package(plan, validity, sources);
    case ExportFormat::kJson:
      return {table_json(plan, validity)};
    case ExportFormat::kCsv:
      return {table_csv(plan, validity)};
    case ExportFormat::kMarkdown:
      return {table_markdown(plan, validity)};
    case ExportFormat::kTriton:
      return triton_files(plan, validity);
    case ExportFormat::kCutlass:
      return cutlass_files(plan, validity);
    case ExportFormat::kBundle:
      break;
  }
  throw Error("an export format without files of text");
}

void write_export(const std::filesystem::path& folder, std::span<const ExportFile> files) {
  StagedFolder staged(folder);
  for (const ExportFile& file : files) staged.write(file.path, file.text);
  staged.publish();
}

}  // namespace hgemm
