// What this library calls of PyTorch: the C functions of its stable interface, found at run time in
// the torch that the process has loaded. So the library is built without torch, and one build
// serves every version from 2.11 on. The prototypes are those of
// torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h in torch 2.11.0.
#pragma once

#include <cstdint>
#include <string>

namespace hgemm_torch {

using TensorHandle = struct TensorObject*;
using LibraryHandle = struct LibraryObject*;
using StringHandle = struct StringObject*;
/// An argument or a result of an operator: a number, a handle, or, if it is optional, null or a
/// pointer to such a value that whoever reads it deletes.
using StableValue = std::uint64_t;
using BoxedKernel = void (*)(StableValue* stack, std::uint64_t inputs, std::uint64_t outputs);
using ErrorCode = std::int32_t;  ///< 0: none

/// The interface that this library was written for, as torch counts: 2.11.
inline constexpr std::uint64_t kAbiVersion = (std::uint64_t{2} << 56) | (std::uint64_t{11} << 48);

struct TorchAbi {
  std::uint64_t (*abi_version)() = nullptr;
  std::int32_t (*dtype_bfloat16)() = nullptr;
  std::int32_t (*dtype_float16)() = nullptr;
  std::int32_t (*dtype_uint8)() = nullptr;
  std::int32_t (*device_type_cuda)() = nullptr;
  std::int32_t (*format_contiguous)() = nullptr;
  bool (*grad_mode_is_enabled)() = nullptr;

  ErrorCode (*get_data_ptr)(TensorHandle, void**) = nullptr;
  ErrorCode (*get_dim)(TensorHandle, std::int64_t*) = nullptr;
  ErrorCode (*get_sizes)(TensorHandle, std::int64_t**) = nullptr;
  ErrorCode (*get_strides)(TensorHandle, std::int64_t**) = nullptr;
  ErrorCode (*get_dtype)(TensorHandle, std::int32_t*) = nullptr;
  ErrorCode (*get_device_type)(TensorHandle, std::int32_t*) = nullptr;
  ErrorCode (*get_device_index)(TensorHandle, std::int32_t*) = nullptr;
  ErrorCode (*is_contiguous)(TensorHandle, bool*) = nullptr;
  ErrorCode (*empty_strided)(std::int64_t dim, const std::int64_t* sizes,
                             const std::int64_t* strides, std::int32_t dtype,
                             std::int32_t device_type, std::int32_t device_index,
                             TensorHandle*) = nullptr;
  ErrorCode (*from_blob)(void* data, std::int64_t dim, const std::int64_t* sizes,
                         const std::int64_t* strides, std::int64_t storage_offset,
                         std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                         TensorHandle*) = nullptr;
  ErrorCode (*new_handle)(TensorHandle, TensorHandle*) = nullptr;
  ErrorCode (*delete_tensor)(TensorHandle) = nullptr;

  ErrorCode (*library_fragment)(const char* name, const char* file, std::uint32_t line,
                                LibraryHandle*) = nullptr;
  ErrorCode (*library_implementations)(const char* name, const char* dispatch_key, const char* file,
                                       std::uint32_t line, LibraryHandle*) = nullptr;
  ErrorCode (*define)(LibraryHandle, const char* schema) = nullptr;
  ErrorCode (*implement)(LibraryHandle, const char* name, BoxedKernel,
                         std::uint64_t abi_version) = nullptr;
  ErrorCode (*call)(const char* name, const char* overload, StableValue* stack,
                    std::uint64_t abi_version) = nullptr;

  ErrorCode (*new_string)(const char* text, std::size_t length, StringHandle*) = nullptr;
  ErrorCode (*string_length)(StringHandle, std::size_t*) = nullptr;
  ErrorCode (*string_text)(StringHandle, const char**) = nullptr;
  ErrorCode (*delete_string)(StringHandle) = nullptr;

  /// The text of the last exception of this thread; null before torch 2.13, which logs it instead.
  const char* (*exception_text)() = nullptr;
  /// Null in a torch without CUDA.
  ErrorCode (*current_cuda_stream)(std::int32_t device_index, void** stream) = nullptr;
};

/// Finds the functions. Empty, or why they are not there and what to do.
std::string find_torch();
/// Those that find_torch() has found.
const TorchAbi& torch();

/// Throws std::runtime_error: torch has failed in this. Type and often text of its own exception
/// are lost, so pytorch.py, which knows the words by which the text begins, asks torch once more.
[[noreturn]] void torch_failed(const char* doing);
/// Throws it if torch has refused something.
void require(ErrorCode code, const char* doing);

}  // namespace hgemm_torch
