// The source package: package/, the kernel headers that its kernels need, and the files that are
// generated here: src/table.h (the kernels and the rows), the README and the tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/cpp_text.h"
#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/escape.h"
#include "output/export/formats.h"

namespace hgemm {
namespace {

/// The files that the definitions of these kernels and the sources of the package need, with
/// everything that these include.
std::vector<ExportFile> kernel_files(const ExportedKernels& all, const PackageSources& sources) {
  constexpr std::string_view kFolder = "kernels/";
  std::vector<std::string> wanted;
  for (const EmbeddedFile& file : sources.package) {
    for (const std::string& name : included_by(file.text)) {
      if (name.starts_with(kFolder)) wanted.push_back(name.substr(kFolder.size()));
    }
  }
  for (const Kernel& kernel : all.kernels) {
    std::ranges::copy(kernel_headers(kernel), std::back_inserter(wanted));
  }
  std::map<std::string, std::string_view> found;
  while (!wanted.empty()) {
    const std::string name = wanted.back();
    wanted.pop_back();
    if (found.contains(name)) continue;
    const auto file =
        std::ranges::find(sources.kernels, std::string(kFolder) + name, &EmbeddedFile::path);
    if (file == sources.kernels.end()) throw Error(fmt::format("kernels/{} is not embedded", name));
    found[name] = file->text;
    std::ranges::move(included_by(file->text), std::back_inserter(wanted));
  }
  std::vector<ExportFile> files;
  for (const auto& [name, text] : found) {
    files.push_back({std::filesystem::path("src/kernels") / name, std::string(text)});
  }
  return files;
}

std::string number_text(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.4f}", *value) : "kUnknown";
}

/// ProblemExtents, of which fields at the end are left out if they have their defaults.
std::string extents_text(const ProblemExtents& p) {
  const bool is_batch = p.batch.count > 1;
  std::string text = fmt::format("{}, {}, {}, {}, {}, {}", p.m, p.n, p.k, p.lda, p.ldb, p.ldd);
  if (p.a_major == Major::kK && p.b_major == Major::kK && !p.gated && !is_batch) return text;
  text += fmt::format(", hgemm::Major{{{}}}, hgemm::Major{{{}}}", static_cast<int>(p.a_major),
                      static_cast<int>(p.b_major));
  if (p.gated || is_batch) text += fmt::format(", {}", p.gated);
  if (!is_batch) return text;
  return text + fmt::format(",\n      {{{}, {}, {}, {}{}}}", p.batch.count, p.batch.stride_a,
                            p.batch.stride_b, p.batch.stride_d,
                            p.batch.by_pointers ? ", true" : "");
}

/// The fields of a GemmKind that the extents do not have.
std::string kind_text(const GemmKind& kind) {
  const bool has_more = has_epilogue(kind) || kind.batched || is_8_bit(kind.input);
  const std::string_view name_input = has_more ? ".input = " : "";
  const std::string_view name_output = name_input.empty() ? "" : ".output = ";
  std::string text =
      fmt::format("{}hgemm::DataType{{{}}}, {}hgemm::DataType{{{}}}", name_input,
                  static_cast<int>(kind.input), name_output, static_cast<int>(kind.output));
  if (has_epilogue(kind)) {
    text += fmt::format(",\n      .epilogue = {}, .adds_c = {}", epilogue_definition(kind.epilogue),
                        kind.adds_c);
  }
  if (kind.batched) text += ", .batched = true";
  if (kind.by_pointers) text += ", .by_pointers = true";
  if (kind.b_is_other) text += ", .b_is_other = true";
  if (kind.fast_sums) text += ", .fast_sums = true";
  if (kind.scaling != Scaling::kNone) {
    text += fmt::format(", .scaling = hgemm::Scaling{{{}}}", static_cast<int>(kind.scaling));
  }
  if (finds_output_scales(kind)) {
    text += fmt::format(", .output_scaling = hgemm::OutputScaling{{{}}}",
                        static_cast<int>(kind.output_scaling));
  }
  return text;
}

std::string row_text(const ExportRow& row, int kernel, int general_kernel) {
  const BestRow& best = row.best;
  const auto ratio = [&](double Interval::*bound) {
    return number_text(best.cublas ? std::optional(best.cublas->interval.*bound) : std::nullopt);
  };
  return fmt::format(
      "    {{{{{}}}, {{{}}}, {}, {}, {},\n"
      "     {}, {}, {}, {}}},\n",
      extents_text(best.problem.extents()), kind_text(best.problem.kind()), kernel, general_kernel,
      row.gain, number_text(best.time_us),
      number_text(best.cublas ? std::optional(best.cublas->value) : std::nullopt),
      ratio(&Interval::low), ratio(&Interval::high));
}

std::string table_text(const ExportPlan& plan, const Validity& validity,
                       const ExportedKernels& all) {
  std::set<std::string> headers;
  std::string definitions, entries, rows;
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& kernel = all.kernels[i];
    const std::string constant = fmt::format("kKernel{}", i);
    for (const std::string& header : kernel_headers(kernel)) headers.insert(header);
    definitions += fmt::format("// {}\n{}\n", build_name(kernel),
                               kernel_definition(kernel, constant, "static"));
    entries += fmt::format(
        "    {{\"{}\",\n     {}, reinterpret_cast<const void*>({}), {}}},\n",
        label(config_of(kernel)), constant, kernel_name(kernel),
        packs(kernel) ? fmt::format("reinterpret_cast<const void*>({})", pack_kernel_name(kernel))
                      : "nullptr");
  }
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    rows += fmt::format("    // {}\n", to_string(plan.rows[i].best.problem));
    rows += row_text(plan.rows[i], all.of_row[i], all.general_of_row[i]);
  }
  std::string includes;
  for (const std::string& header : headers) includes += fmt::format("#include \"{}\"\n", header);
  return fmt::format(
      "// Written by hgemm-tune {} for {}, {} regime: the kernels, and what was measured of them.\n"
      "#pragma once\n\n{}#include \"row.h\"\n\nnamespace hgemm_tuned_table {{\n\n{}"
      "const TunedKernel kKernels[] = {{\n{}}};\n"
      "constexpr int kKernelCount = {};\n\n"
      "constexpr Row kRows[] = {{\n{}}};\n"
      "constexpr int kRowCount = {};\n"
      "constexpr bool kBatchInvariant = {};  ///< bits of a row of D must not follow M\n\n"
      "}}  // namespace hgemm_tuned_table\n",
      comment_text(validity.revision), comment_text(validity.gpu_name), to_string(plan.regime),
      includes, definitions, entries, all.kernels.size(), rows, plan.rows.size(),
      plan.allowed.batch_invariant);
}

bool has_libraries(const ExportPlan& plan) { return std::ranges::any_of(plan.rows, calls_library); }

/// Numbers and words of this program only: labels and messages of a database stay out of code.
/// cublas is the first choice of cuBLASLt's heuristic with 8-bit operands.
std::string library_text(const FasterLibrary& library, bool has_8_bits, std::size_t row) {
  const char* kind = library.kind == Fastest::kCublas && !has_8_bits ? "Library::kGemmEx"
                     : library.algorithm                             ? "Library::kAlgorithm"
                                                                     : "Library::kHeuristic";
  const LtAlgorithm a = library.algorithm.value_or(LtAlgorithm{});
  std::string text;
  if (library.kind == Fastest::kCublasLt && !library.algorithm) {
    text = "    // Recorded without all attributes of the algorithm.\n";
  }
  return text + fmt::format("    {{{}, {}, {}, {{{}, {}, {}, {}, {}, {}, {}, {}, {}}}, {}}},\n",
                            row, kind, library.version, a.id, a.tile, a.stages, a.cluster,
                            a.split_k, a.reduction, a.swizzle, a.custom, a.inner,
                            a.workspace_bytes);
}

ExportFile library_table(const ExportPlan& plan) {
  std::string rows;
  int count = 0;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const ExportRow& row = plan.rows[i];
    if (!calls_library(row)) continue;
    rows += fmt::format("    // {}\n{}", to_string(row.best.problem),
                        library_text(*row.library, row.best.problem.has_8_bit_operands(), i));
    ++count;
  }
  return {"src/library_table.h",
          fmt::format("// Written by hgemm-tune export --with-cublaslt: the problems at which a "
                      "library is faster.\n"
                      "#pragma once\n\n#include \"library_row.h\"\n#include \"table.h\"\n\n"
                      "namespace hgemm_tuned_table {{\n\n"
                      "constexpr LibraryRow kLibraryRows[] = {{\n{}}};\n"
                      "constexpr int kLibraryRowCount = {};\n\n"
                      "}}  // namespace hgemm_tuned_table\n",
                      rows, count)};
}

}  // namespace

std::vector<ExportFile> cpp_package(const ExportPlan& plan, const Validity& validity,
                                    const PackageSources& sources) {
  const ExportedKernels kernels = exported_kernels(plan);
  std::vector<ExportFile> files = kernel_files(kernels, sources);
  for (const EmbeddedFile& file : sources.package) {
    constexpr std::string_view kPackage = "package/";
    std::string path(file.path);
    // Files from src/ keep their place.
    if (path.starts_with(kPackage)) path.erase(0, kPackage.size());
    if (path.starts_with("src/library") && !has_libraries(plan)) continue;
    std::string text(file.text);
    if (path == "README.md") {
      const auto fill = [&text](std::string_view mark, const std::string& with) {
        const auto at = text.find(mark);
        if (at == std::string::npos) throw Error(fmt::format("package/README.md has no {}", mark));
        text.replace(at, mark.size(), with);
      };
      fill("@VALIDITY@", validity_markdown(validity));
      fill("@ROWS@", rows_markdown(plan));
      fill("@REGIME@", std::string(to_string(plan.regime)));
      fill("@KERNELS@", std::to_string(kernels.kernels.size()));
    }
    files.push_back({path, text});
  }
  files.push_back({"src/table.h", table_text(plan, validity, kernels)});
  if (has_libraries(plan)) files.push_back(library_table(plan));
  files.push_back(table_json(plan, validity));
  files.push_back(table_csv(plan, validity));
  std::ranges::sort(files, {}, &ExportFile::path);
  return files;
}

}  // namespace hgemm
