// Exports tuned results for other projects: which kernel suits which problem, as a source package
// or in the formats of other tools.
//
// In every format each row names its origin and the command that measures it again. A block states
// what the export is valid for.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"
#include "bundle/validity.h"
#include "families/allowed.h"
#include "record/lt_algorithm.h"
#include "results/best.h"

namespace hgemm {

/// A library that was measured to be faster than the config of a row.
struct FasterLibrary {
  Fastest kind = Fastest::kCublas;
  std::string label;                     ///< cublas or cublaslt.N
  std::optional<LtAlgorithm> algorithm;  ///< nullopt: cublasGemmEx, or not all attributes are known
  std::int64_t version = 0;              ///< of cuBLASLt, e.g. 130100; 0: not known
};
/// 130100 of "13.1.0", as cublasLtGetVersion() returns it; 0 if the text is no version.
std::int64_t cublaslt_version_of(std::string_view text);

/// A tuned problem.
struct ExportRow {
  BestRow best;  ///< has a label; its kernel is still in the sources of this program
  /// Faster than cublasGemmEx: the 95 % interval of the ratio is above 1. False where there is no
  /// interval.
  bool gain = false;
  /// With --max-kernels: the share of the best speed at this problem that the kernel of this row
  /// reaches.
  std::optional<double> fraction;
  /// With --with-cublaslt: the library that is faster, if one is.
  std::optional<FasterLibrary> library = {};

  /// The command that measures this row again, at full effort: a config named by --config has no
  /// time budget.
  std::string command() const;
};

struct ExportPlan {
  Regime regime = Regime::kSustained;
  Allowed allowed = {.pdl = PdlKind::kOff};  ///< what kernels might do
  std::vector<ExportRow> rows;
  struct LeftOut {
    GemmProblem problem;
    std::string reason;
  };
  /// Problems without a row: among the requested ones, or among all recorded ones if none were
  /// requested.
  std::vector<LeftOut> left_out;
  /// A row with a kernel that is not the fastest one recorded at its problem.
  struct Replaced {
    GemmProblem problem;
    std::string winner;              ///< label of the fastest config
    std::string reason;              ///< why the winner is not in the row; starts with a verb
    std::optional<double> fraction;  ///< the row's ratio to cublas over that of the winner
  };
  std::vector<Replaced> replaced;
  bool with_cublaslt = false;  ///< rows name the libraries that are faster
};

struct ExportAim {
  std::vector<GemmProblem> problems = {};  ///< empty: all recorded problems
  Regime regime = Regime::kSustained;
  /// What a kernel may do before the preceding kernel is done (TiledConfig::pdl,
  /// SwapAbConfig::pdl), of which callers must keep the rule; and whether all must give a row of D
  /// the same bits whatever M is. Then they compute every M, also where a library is faster.
  Allowed allowed = {.pdl = PdlKind::kOff};
  int max_kernels = 0;  ///< 0: any number
  bool with_cublaslt = false;
  bool plain_only = false;  ///< the format has no epilogues
};

/// Finds the best config of each problem among the configs that a package may contain. Throws
/// InputError if the rows come from several GPUs or nothing is known.
ExportPlan plan_export(std::vector<RecordedRace> races, const ExportAim& aim,
                       const IsCurrent& is_current = {});

/// The conditions that an export is valid for.
Validity validity_of(const ExportPlan& plan, std::string kernel_hash, std::string revision);

enum class ExportFormat { kCpp, kJson, kCsv, kMarkdown, kTriton, kCutlass, kBundle };
ExportFormat parse_export_format(std::string_view text);  ///< throws InputError
/// Whether the format's kernels, or its entries, may have an epilogue (ExportAim::plain_only).
bool has_epilogues(ExportFormat format);
/// Throws InputError if the format cannot say that a row runs a library (--with-cublaslt).
void check_has_libraries(ExportFormat format);

/// A file of an export; the path is relative to the folder of the export.
struct ExportFile {
  std::filesystem::path path;
  std::string text;
};
/// Sources that are embedded in this program and copied into packages.
struct PackageSources {
  std::span<const EmbeddedFile> kernels = embedded_kernels();
  std::span<const EmbeddedFile> package = embedded_package();
};
/// The files of a format, except those of kBundle, which has one file (bundle_file()).
std::vector<ExportFile> export_files(const ExportPlan& plan, const Validity& validity,
                                     ExportFormat format, const PackageSources& sources = {});

/// The kernels of a bundle, which it has compiled.
std::vector<Kernel> bundle_kernels(const ExportPlan& plan);
/// A bundle (bundle/bundle.h), with the cubins of bundle_kernels() in their order. `compiler`:
/// version of what compiled them, "13.0".
std::string bundle_file(const ExportPlan& plan, const Validity& validity,
                        const std::string& compiler, std::span<const std::string> cubins);

/// Lists what the files of that format lack compared with the tuned table: kernels that stand in
/// for faster ones, and shapes without a row. One line for each, with counts and the option that
/// changes it.
std::vector<std::string> losses(const ExportPlan& plan, ExportFormat format);

/// Writes all files to `folder`, which is created if needed. Replaces files of the same names. On
/// an error it throws and leaves the old content as it was.
///
/// After a kill at any moment, a folder that did not exist before, or that held only files of these
/// names, has all of the old export or all of the new one. A folder with other files keeps them
/// (files of an older export with other kernels are among these). There each file is whole, but
/// some may be old and some new (output/staged_folder.h).
void write_export(const std::filesystem::path& folder, std::span<const ExportFile> files);

}  // namespace hgemm
