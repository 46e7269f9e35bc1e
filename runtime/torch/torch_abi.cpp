#include "torch_abi.h"

#include <stdexcept>

#include "dynamic_library.h"

namespace hgemm_torch {

namespace {

TorchAbi& found() {
  static TorchAbi abi;
  return abi;
}

/// Of libraries that torch has loaded.
constexpr int kLoaded = RTLD_LAZY | RTLD_NOLOAD;

}  // namespace

std::string find_torch() {
  hgemm_runtime::DynamicLibrary library("libtorch_cpu.so", kLoaded);
  if (!library) return "import torch first";
  TorchAbi& t = found();
  library.find("aoti_torch_abi_version", t.abi_version);
  library.find("aoti_torch_dtype_bfloat16", t.dtype_bfloat16);
  library.find("aoti_torch_dtype_float16", t.dtype_float16);
  library.find("aoti_torch_dtype_uint8", t.dtype_uint8);
  library.find("aoti_torch_device_type_cuda", t.device_type_cuda);
  library.find("aoti_torch_memory_format_contiguous_format", t.format_contiguous);
  library.find("aoti_torch_grad_mode_is_enabled", t.grad_mode_is_enabled);
  library.find("aoti_torch_get_data_ptr", t.get_data_ptr);
  library.find("aoti_torch_get_dim", t.get_dim);
  library.find("aoti_torch_get_sizes", t.get_sizes);
  library.find("aoti_torch_get_strides", t.get_strides);
  library.find("aoti_torch_get_dtype", t.get_dtype);
  library.find("aoti_torch_get_device_type", t.get_device_type);
  library.find("aoti_torch_get_device_index", t.get_device_index);
  library.find("aoti_torch_is_contiguous", t.is_contiguous);
  library.find("aoti_torch_empty_strided", t.empty_strided);
  library.find("aoti_torch_create_tensor_from_blob", t.from_blob);
  library.find("aoti_torch_new_tensor_handle", t.new_handle);
  library.find("aoti_torch_delete_tensor_object", t.delete_tensor);
  library.find("aoti_torch_library_init_fragment", t.library_fragment);
  library.find("aoti_torch_library_init_impl", t.library_implementations);
  library.find("aoti_torch_library_def", t.define);
  library.find("torch_library_impl", t.implement);
  library.find("torch_call_dispatcher", t.call);
  library.find("torch_new_string_handle", t.new_string);
  library.find("torch_string_length", t.string_length);
  library.find("torch_string_c_str", t.string_text);
  library.find("torch_delete_string", t.delete_string);
  if (library.missing != nullptr) {
    return std::string("this torch has no ") + library.missing + ": install torch 2.11 or newer";
  }
  if (t.abi_version() < kAbiVersion) {
    const std::uint64_t version = t.abi_version();
    return "this is torch " + std::to_string(version >> 56) + "." +
           std::to_string((version >> 48) & 0xff) + ": install torch 2.11 or newer";
  }
  hgemm_runtime::DynamicLibrary newer("libtorch_cpu.so", kLoaded);
  newer.find("torch_exception_get_what_without_backtrace", t.exception_text);
  hgemm_runtime::DynamicLibrary cuda("libtorch_cuda.so", kLoaded);
  cuda.find("aoti_torch_get_current_cuda_stream", t.current_cuda_stream);
  return "";
}

const TorchAbi& torch() { return found(); }

void torch_failed(const char* doing) {
  const char* const why = torch().exception_text != nullptr ? torch().exception_text() : nullptr;
  throw std::runtime_error(std::string("hgemm_tune: torch failed in ") + doing + ": " +
                           (why != nullptr ? why : "see stderr for why"));
}

void require(ErrorCode code, const char* doing) {
  if (code != 0) torch_failed(doing);
}

}  // namespace hgemm_torch
