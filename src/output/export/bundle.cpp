// A bundle: one file with the chosen kernels as cubins and their table (bundle/bundle.h reads it).
#include "bundle/bundle.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/export/formats.h"

namespace hgemm {
namespace {

Json index(int kernel) { return kernel == ExportedKernels::kNone ? Json() : Json(kernel); }

/// A problem of the kernel: label and problem say which kernel it is.
const GemmProblem& problem_of(const ExportPlan& plan, const ExportedKernels& all, int kernel) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    if (all.of_row[i] == kernel || all.general_of_row[i] == kernel)
      return plan.rows[i].best.problem;
  }
  throw Error("an exported kernel without a row");
}

Json kernel_json(const Kernel& kernel, const GemmProblem& problem, const std::string& cubin) {
  return {{"label", label(config_of(kernel))},
          {"problem", to_string(problem)},
          {"function", kernel_name(kernel)},
          {"pack_function", packs(kernel) ? Json(pack_kernel_name(kernel)) : Json()},
          {"threads", threads_per_cta(kernel)},
          {"cluster_size", cluster_size(kernel)},
          {"smem_bytes", smem_bytes(kernel)},
          {"cubin", {{"bytes", cubin.size()}, {"hash", content_hash(cubin)}}}};
}

}  // namespace

std::vector<Kernel> bundle_kernels(const ExportPlan& plan) {
  return exported_kernels(plan).kernels;
}

std::string bundle_file(const ExportPlan& plan, const Validity& validity,
                        const std::string& compiler, std::span<const std::string> cubins) {
  const ExportedKernels all = exported_kernels(plan);
  if (cubins.size() != all.kernels.size()) throw Error("a bundle needs a cubin of each kernel");
  std::vector<Json> kernels, rows;
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    kernels.push_back(
        kernel_json(all.kernels[i], problem_of(plan, all, static_cast<int>(i)), cubins[i]));
  }
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    Json row = row_json(plan.rows[i], plan.with_cublaslt);
    row["kernel"] = index(all.of_row[i]);
    row["general_kernel"] = index(all.general_of_row[i]);
    rows.push_back(std::move(row));
  }
  Json manifest = {{"schema", kBundleSchema},
                   {"valid_for", validity_json(validity)},
                   {"compiler", compiler},
                   {"launch_interface", launch_interface_hash()},
                   {"regime", to_string(plan.regime)},
                   {"pdl", to_string(plan.allowed.pdl)},
                   {"batch_invariant", plan.allowed.batch_invariant},
                   {"kernels", kernels},
                   {"rows", rows}};
  add_plan(plan, manifest);
  return pack_bundle(dump(manifest), cubins);
}

}  // namespace hgemm
