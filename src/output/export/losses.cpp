// Reports what an export lacks compared with the tuned table, with the flag that changes it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/statistics.h"
#include "gemm/codec.h"
#include "output/export/formats.h"

namespace hgemm {
namespace {

/// Values by their reason, in the order in which the reasons first appear.
template <class Value>
using ByReason = std::vector<std::pair<std::string, std::vector<Value>>>;

template <class Value>
void add(ByReason<Value>& groups, const std::string& reason, Value value) {
  auto group =
      std::ranges::find(groups, reason, &std::pair<std::string, std::vector<Value>>::first);
  if (group == groups.end()) group = groups.insert(group, {reason, {}});
  group->second.push_back(std::move(value));
}

/// "3 of 25 shapes: 1x2x3, 4x5x6, ..."
std::string named(std::vector<std::string> shapes, std::size_t of_all) {
  constexpr std::size_t kNamed = 8;
  const std::size_t count = shapes.size();
  shapes.resize(std::min(count, kNamed));
  return fmt::format("{} of {} shapes ({}{})", count, of_all, fmt::join(shapes, ", "),
                     count > kNamed ? ", ..." : "");
}

/// " They have 0.967 of the speed (geomean; least 0.890).": where it is known.
std::string speed_kept(std::span<const ExportPlan::Replaced* const> replaced) {
  std::vector<double> fractions;
  for (const ExportPlan::Replaced* one : replaced) {
    if (one->fraction) fractions.push_back(*one->fraction);
  }
  if (fractions.empty()) return "";
  return fmt::format("; what stands in has {:.3f} of its speed (geomean; least {:.3f})",
                     geomean(fractions), std::ranges::min(fractions));
}

/// Whether a library was faster, and no package calls it. (With a handle cuBLAS computes a batch by
/// pointers.)
bool lacks_library(const ExportRow& row) {
  const GemmProblem& problem = row.best.problem;
  return row.library && (problem.exceeds_product() ||
                         (problem.by_pointers && row.library->kind == Fastest::kCublasLt));
}

}  // namespace

bool calls_library(const ExportRow& row) {
  const GemmProblem& problem = row.best.problem;
  return row.library && !problem.exceeds_product() && !problem.by_pointers;
}

const char* why_not_in(ExportFormat format, const ExportRow& row) {
  if (format == ExportFormat::kTriton) return why_not_in_triton(row);
  if (format == ExportFormat::kCutlass) return why_not_in_cutlass(row);
  return nullptr;  // these formats have all rows
}

std::vector<std::string> losses(const ExportPlan& plan, ExportFormat format) {
  const std::size_t all = plan.rows.size() + plan.left_out.size();
  std::vector<std::string> lines;

  ByReason<const ExportPlan::Replaced*> replaced;
  for (const ExportPlan::Replaced& one : plan.replaced) add(replaced, one.reason, &one);
  for (const auto& [reason, group] : replaced) {
    std::vector<std::string> shapes;
    for (const ExportPlan::Replaced* one : group) shapes.push_back(to_string(one->problem));
    lines.push_back(fmt::format("not the fastest kernel at {}: it {}{}",
                                named(std::move(shapes), all), reason, speed_kept(group)));
  }

  ByReason<std::string> left_out;
  for (const auto& [problem, reason] : plan.left_out) {
    add(left_out, reason, to_string(problem));
  }
  for (const ExportRow& row : plan.rows) {
    if (const char* reason = why_not_in(format, row)) {
      add(left_out, std::string(reason) + " (--format cpp, json, csv and md have such rows)",
          to_string(row.best.problem));
    }
  }
  for (auto& [reason, shapes] : left_out) {
    lines.push_back(fmt::format("left out: {}: {}", named(std::move(shapes), all), reason));
  }
  const auto add_unknown = [&](const char* what, const auto& is_it) {
    std::vector<std::string> shapes;
    for (const ExportRow& row : plan.rows) {
      if (calls_library(row) && row.library->kind == Fastest::kCublasLt && is_it(*row.library)) {
        shapes.push_back(to_string(row.best.problem));
      }
    }
    if (shapes.empty()) return;
    lines.push_back(fmt::format(
        "cuBLASLt's first choice runs, not the algorithm that was the fastest, at {}: {}; a tune "
        "of these shapes with this program records it",
        named(std::move(shapes), all), what));
  };
  std::vector<std::string> behind;
  for (const ExportRow& row : plan.rows) {
    if (format == ExportFormat::kCpp && lacks_library(row)) {
      behind.push_back(to_string(row.best.problem));
    }
  }
  if (!behind.empty()) {
    lines.push_back(
        fmt::format("the kernel runs although a library was faster at {}: a package calls no "
                    "library for an epilogue other than alpha, and no cuBLASLt by pointers",
                    named(std::move(behind), all)));
  }
  std::vector<std::string> not_numbered;
  for (const ExportRow& row : plan.rows) {
    const Kernel kernel = kernel_for(parse_label(*row.best.label), row.best.problem);
    if (format == ExportFormat::kBundle && is_numbered(kernel)) {
      not_numbered.push_back(to_string(row.best.problem));
    }
  }
  if (!not_numbered.empty()) {
    lines.push_back(
        fmt::format("some percent slower than measured at {}: nobody tells a bundle's kernels on "
                    "which GPC their "
                    "clusters run (gpc in the label), as a cpp package does",
                    named(std::move(not_numbered), all)));
  }
  add_unknown("the database does not have all attributes of the algorithm",
              [](const FasterLibrary& library) { return !library.algorithm; });
  add_unknown(
      "the database does not have the version of cuBLASLt",
      [](const FasterLibrary& library) { return library.algorithm && library.version == 0; });
  return lines;
}

}  // namespace hgemm
