#include "bundle/bundle.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/embedded.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/source_hash.h"
#include "base/text.h"
#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

using nlohmann::json;

BundleError other_version(std::string_view name, const std::string& what) {
  return BundleError(
      BundleFault::kOtherVersion,
      fmt::format("{}: {}; export it again with the hgemm-tune that is used here", name, what));
}

/// NaN for null, which the manifest has where nothing was measured.
double number_at(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? BundleRow::kUnknown : value.get<double>();
}

Validity validity_at(const json& manifest) {
  const json& of = manifest.at("valid_for");
  Validity validity;
  validity.gpu_name = of.at("gpu");
  const std::string capability = of.at("compute_capability");
  const auto point = capability.find('.');
  validity.compute_major = find_small_number(capability.substr(0, point)).value();
  validity.compute_minor = find_small_number(capability.substr(point + 1)).value();
  validity.sm_count = of.at("sm_count");
  validity.driver_min = of.at("driver").at("min");
  validity.driver_max = of.at("driver").at("max");
  validity.cuda_min = of.at("cuda").at("min");
  validity.cuda_max = of.at("cuda").at("max");
  validity.measured_kernels = of.at("measured_kernel_hashes");
  validity.kernel_hash = of.at("kernel_hash");
  validity.revision = of.at("hgemm_tune");
  return validity;
}

/// The kernel without its cubin. Both sides derive from label and problem how it is launched; what
/// the writer derived is in the manifest, so that a difference is found here.
BundleKernel kernel_at(const json& entry, std::string_view name) {
  BundleKernel out;
  out.label = entry.at("label");
  out.kernel =
      kernel_for(parse_label(out.label), parse_problem(entry.at("problem").get<std::string>()));
  out.function = kernel_name(out.kernel);
  if (packs(out.kernel)) out.pack_function = pack_kernel_name(out.kernel);
  const std::string pack_function =
      entry.at("pack_function").is_null() ? "" : entry.at("pack_function").get<std::string>();
  if (why_invalid(out.kernel) || entry.at("function") != out.function ||
      pack_function != out.pack_function || entry.at("threads") != threads_per_cta(out.kernel) ||
      entry.at("smem_bytes") != smem_bytes(out.kernel) ||
      entry.at("cluster_size") != cluster_size(out.kernel)) {
    throw other_version(name, fmt::format("the kernel {} is launched otherwise by this version",
                                          in_quotes(out.label)));
  }
  return out;
}

/// Gives each kernel its part of the file.
void add_cubins(const json& entries, const UnpackedBundle& unpacked, std::string_view name,
                std::vector<BundleKernel>& kernels) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const json& cubin = entries.at(i).at("cubin");
    const std::size_t bytes = cubin.at("bytes");
    const auto damaged = [&](std::string_view what) {
      return BundleError(
          BundleFault::kDamaged,
          fmt::format("{} is damaged: bytes {} to {}, the kernel {}, {}; copy or export it again",
                      name, unpacked.parts_offset + at, unpacked.parts_offset + at + bytes,
                      in_quotes(kernels[i].label), what));
    };
    if (bytes > unpacked.parts.size() - at) throw damaged("are beyond its end");
    kernels[i].cubin = unpacked.parts.substr(at, bytes);
    if (cubin.at("hash") != content_hash(kernels[i].cubin)) {
      throw damaged("are not those that were written");
    }
    at += bytes;
  }
  if (at != unpacked.parts.size()) {
    throw BundleError(BundleFault::kDamaged,
                      fmt::format("{} is damaged: from byte {} on it has what its manifest does "
                                  "not name; copy or export it again",
                                  name, unpacked.parts_offset + at));
  }
}

BundleRow row_at(const json& entry, std::size_t kernel_count) {
  const auto index_at = [&](const char* key) {
    const json& value = entry.at(key);
    if (value.is_null()) return BundleRow::kNone;
    const std::size_t index = value;
    if (index >= kernel_count) throw InputError(fmt::format("there is no kernel {}", index));
    return static_cast<int>(index);
  };
  return {.problem = parse_problem(entry.at("problem").get<std::string>()),
          .kernel = index_at("kernel"),
          .general_kernel = index_at("general_kernel"),
          .gain = entry.at("gain"),
          .time_us = number_at(entry, "time_us"),
          .ratio = number_at(entry, "ratio_cublas"),
          .ratio_low = number_at(entry, "ratio_cublas_low"),
          .ratio_high = number_at(entry, "ratio_cublas_high")};
}

Bundle bundle_of(const UnpackedBundle& unpacked, std::string_view name) {
  const json manifest = json::parse(unpacked.manifest);
  const json& schema = manifest.at("schema");
  const bool is_older = schema == kOlderBundleSchema;
  if (schema != kBundleSchema && !is_older) {
    throw other_version(name, "its manifest has another schema than this version reads");
  }
  Bundle bundle{.manifest = std::string(unpacked.manifest),
                .validity = validity_at(manifest),
                .compiler = manifest.at("compiler"),
                .batch_invariant = !is_older && manifest.at("batch_invariant").get<bool>(),
                .kernels = {},
                .rows = {}};
  if (manifest.at("launch_interface") != launch_interface_hash()) {
    throw other_version(
        name, fmt::format("hgemm-tune {} wrote it, whose kernels are launched otherwise than those "
                          "of this version",
                          one_line(bundle.validity.revision)));
  }
  const json& kernels = manifest.at("kernels");
  for (const json& entry : kernels) bundle.kernels.push_back(kernel_at(entry, name));
  add_cubins(kernels, unpacked, name, bundle.kernels);
  for (const json& entry : manifest.at("rows")) {
    bundle.rows.push_back(row_at(entry, bundle.kernels.size()));
  }
  return bundle;
}

}  // namespace

std::string launch_interface_hash() {
  std::vector<EmbeddedFile> headers;
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (file.path.ends_with(".h")) headers.push_back(file);
  }
  return source_hash(headers);
}

Bundle parse_bundle(std::string_view bytes, std::string_view name) {
  const UnpackedBundle unpacked = unpack_bundle(bytes, name);
  try {
    return bundle_of(unpacked, name);
  } catch (const BundleError&) {
    throw;
  } catch (const Error& error) {
    throw other_version(name, error.what());
  } catch (const std::exception& error) {  // JSON's, and that of an optional without a value
    throw other_version(name,
                        fmt::format("its manifest is not understood ({})", one_line(error.what())));
  }
}

Bundle read_bundle(const std::filesystem::path& path) {
  return parse_bundle(read_file(path, kMaxBundleBytes), path.string());
}

}  // namespace hgemm
