// Results for other projects: which kernel for which problem, and that as a source package or in
// the formats of other tools.
//
// Every format has for each row where it comes from and the command that measures it again, and a
// block that says what it is valid for.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"
#include "families/family.h"
#include "results/best.h"

namespace hgemm {

/// A tuned problem.
struct ExportRow {
  BestRow best;  ///< has a label, whose kernel this program's sources still have
  /// Faster than cublasGemmEx: the 95 % interval of the ratio is above 1. False also where there is
  /// none.
  bool gain = false;
  /// Of several kernels for many shapes (--max-kernels): of the best speed at this problem.
  std::optional<double> fraction;

  /// Measures it again, at full effort: what is named by --config has no time budget.
  std::string command() const;
};

struct ExportPlan {
  Regime regime = Regime::kSustained;
  PdlKind pdl = PdlKind::kOff;  ///< the most that was allowed
  std::vector<ExportRow> rows;
  struct LeftOut {
    GemmProblem problem;
    std::string reason;
  };
  /// Problems without a row: of those that were asked for, or of all that are recorded.
  std::vector<LeftOut> left_out;
  /// A row whose kernel is not the fastest one recorded at its problem.
  struct Replaced {
    GemmProblem problem;
    std::string winner;              ///< label of the fastest
    std::string reason;              ///< a verb and what follows: why that one is not in the row
    std::optional<double> fraction;  ///< the row's ratio to cublas over the winner's
  };
  std::vector<Replaced> replaced;
};

struct ExportAim {
  std::vector<GemmProblem> problems = {};  ///< empty: all that are recorded
  Regime regime = Regime::kSustained;
  /// The most that a kernel may do before the kernel ahead of it is done (TiledConfig::pdl,
  /// SwapAbConfig::pdl). Whoever calls an exported kernel keeps the rule of its kind.
  PdlKind pdl = PdlKind::kOff;
  int max_kernels = 0;  ///< 0: any number
};

/// The best config of each problem of those that a package may have. Throws InputError if the rows
/// are of several GPUs, or nothing is known.
ExportPlan plan_export(std::vector<RecordedRace> races, const ExportAim& aim,
                       const IsCurrent& is_current = {});

/// What an export is valid for.
struct Validity {
  std::string gpu_name;
  int compute_major = 0, compute_minor = 0, sm_count = 0;
  std::string driver_min, driver_max, cuda_min, cuda_max;  ///< that rows were measured with
  std::vector<std::string> measured_kernels;               ///< hashes of their kernel sources
  std::string kernel_hash;                                 ///< of those of this program
  std::string revision;                                    ///< of this program
};
Validity validity_of(const ExportPlan& plan, std::string kernel_hash, std::string revision);

enum class ExportFormat { kCpp, kJson, kCsv, kMarkdown, kTriton, kCutlass };
ExportFormat parse_export_format(std::string_view text);  ///< throws InputError

/// A file of an export, by its path in the export's folder.
struct ExportFile {
  std::filesystem::path path;
  std::string text;
};
/// What is compiled into this program and goes into packages.
struct PackageSources {
  std::span<const EmbeddedFile> kernels = embedded_kernels();
  std::span<const EmbeddedFile> package = embedded_package();
};
std::vector<ExportFile> export_files(const ExportPlan& plan, const Validity& validity,
                                     ExportFormat format, const PackageSources& sources = {});

/// What the files of that format lack of the tuned table, a line each, with counts and the option
/// that changes it: kernels that stand in for faster ones, and shapes without a row.
std::vector<std::string> losses(const ExportPlan& plan, ExportFormat format);

/// Writes all of them, or throws and leaves what was there as it was; makes the folder. Files of
/// the same names are replaced. After a kill at any moment a folder that did not exist or that held
/// nothing but files of these names has all of the old export or all of the new; in one that holds
/// other files, which stay (those of an older export with other kernels are such, too), each file
/// is whole, but some may be old and some new (output/staged_folder.h).
void write_export(const std::filesystem::path& folder, std::span<const ExportFile> files);

}  // namespace hgemm
