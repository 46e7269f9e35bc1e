// A bundle: chosen kernels, compiled, with the table that says where each is the best. `export`
// writes it, and the library in runtime/ loads it without a compiler.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/container.h"
#include "bundle/validity.h"
#include "families/kernel.h"
#include "gemm/problem.h"

namespace hgemm {

struct BundleKernel {
  std::string label;          ///< of its config
  Kernel kernel;              ///< how it is launched follows from it (families/launch.h)
  std::string function;       ///< its name in the cubin
  std::string pack_function;  ///< the same of the kernel that packs before it; empty: none does
  std::string cubin;
};

/// A tuned problem.
struct BundleRow {
  static constexpr int kNone = -1;
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  GemmProblem problem;
  int kernel = kNone;          ///< index of the kernel that computes it
  int general_kernel = kNone;  ///< index of the one for similar problems; kNone: there is none
  bool gain = false;           ///< the 95 % interval of the ratio to cuBLAS is above 1
  double time_us = kUnknown, ratio = kUnknown, ratio_low = kUnknown, ratio_high = kUnknown;
};

struct Bundle {
  std::string manifest;  ///< the JSON that all of this was read from
  Validity validity;
  std::string compiler;  ///< version of NVRTC, "13.0"
  /// Its kernels give a row of D the same bits whatever M is (families/sum_order.h), so whoever
  /// launches them must do so at every M of an N and K that it has.
  bool batch_invariant = false;
  std::vector<BundleKernel> kernels;
  std::vector<BundleRow> rows;
};

/// The schema of the manifest. Since 2 it says whether the bundle is batch-invariant; one of schema
/// 1, which is not, is read, too.
inline constexpr std::string_view kBundleSchema = "hgemm-tune bundle 2";
inline constexpr std::string_view kOlderBundleSchema = "hgemm-tune bundle 1";

/// Hash of the headers that say how a kernel is launched (parameters, shared memory, grid): those
/// of kernels/ that host code includes, too. A bundle's cubins agree with the launching code of a
/// program whose hash is the same.
std::string launch_interface_hash();

/// Reads a bundle and checks every byte of it. `name` starts the messages. Throws BundleError.
Bundle parse_bundle(std::string_view bytes, std::string_view name);
/// The same of a file. Throws InputError if it cannot be read.
Bundle read_bundle(const std::filesystem::path& path);

}  // namespace hgemm
