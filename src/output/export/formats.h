// The formats, one function each. Internal to export.
#pragma once

#include <string>
#include <vector>

#include "output/export/export.h"
#include "output/json.h"

namespace hgemm {

/// The block that says what the rows are valid for.
Json validity_json(const Validity& validity);
/// A row of the table, as JSON and CSV have it; with the libraries that are faster if asked.
Json row_json(const ExportRow& row, bool with_cublaslt);

/// Adds what the plan replaced, and what it left out.
void add_plan(const ExportPlan& plan, Json& json);

ExportFile table_json(const ExportPlan& plan, const Validity& validity);
ExportFile table_csv(const ExportPlan& plan, const Validity& validity);
ExportFile table_markdown(const ExportPlan& plan, const Validity& validity);

/// The validity block and the table as Markdown.
std::string validity_markdown(const Validity& validity);
std::string rows_markdown(const ExportPlan& plan);

/// The kernels of a package or a bundle; for each row the kernel that computes it and the kernel
/// for similar problems. A kernel that is specialised for one problem computes no other. Its
/// general twin is there too, unless the number of kernels is limited.
struct ExportedKernels {
  static constexpr int kNone = -1;
  std::vector<Kernel> kernels;
  std::vector<int> of_row, general_of_row;

  int find(const Kernel& kernel) const;
  int add(const Kernel& kernel);
};
ExportedKernels exported_kernels(const ExportPlan& plan);

/// Whether a package calls a library for the row. It has none for epilogues other than
/// alpha.
bool calls_library(const ExportRow& row);
std::vector<ExportFile> cpp_package(const ExportPlan& plan, const Validity& validity,
                                    const PackageSources& sources);

/// Why the format cannot represent a row; null if it can.
const char* why_not_in_triton(const ExportRow& row);
const char* why_not_in_cutlass(const ExportRow& row);

std::vector<ExportFile> triton_files(const ExportPlan& plan, const Validity& validity);
std::vector<ExportFile> cutlass_files(const ExportPlan& plan, const Validity& validity);

}  // namespace hgemm
