#include "tests/runtime/fake_torch.h"

#include <cstring>

namespace {

using namespace hgemm::test;

struct Library {
  std::string key;
};

FakeTensor* tensor_of(std::uint64_t value) { return reinterpret_cast<FakeTensor*>(value); }

void release(FakeTensor* tensor) {
  fake_torch().tensors.erase(tensor);
  delete tensor;
}

/// Deletes an argument that may be null.
void release_optional(std::uint64_t value) {
  auto* const pointer = reinterpret_cast<std::uint64_t*>(value);
  if (pointer != nullptr) release(tensor_of(*pointer));
  delete pointer;
}

FakeTensor* new_tensor(const FakeTensor& content) {
  auto* const made = new FakeTensor(content);
  fake_torch().tensors.insert(made);
  return made;
}

void close_gaps(FakeTensor& tensor) {
  std::int64_t stride = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= tensor.sizes[i];
  }
}

std::uint64_t linear(std::uint64_t* stack) {
  FakeTensor* const x = tensor_of(stack[0]);
  FakeTensor result = *x;
  result.sizes.back() = tensor_of(stack[1])->sizes[0];
  close_gaps(result);
  release(x);
  release(tensor_of(stack[1]));
  release_optional(stack[2]);
  return reinterpret_cast<std::uint64_t>(new_tensor(result));
}

std::uint64_t narrow(std::uint64_t* stack) {
  FakeTensor* const y = tensor_of(stack[0]);
  FakeTensor result = *y;
  result.sizes.back() = static_cast<std::int64_t>(stack[3]);
  release(y);
  return reinterpret_cast<std::uint64_t>(new_tensor(result));
}

/// Of two tensors of one size; the result has no gaps.
std::uint64_t product(std::uint64_t* stack) {
  FakeTensor* const y = tensor_of(stack[0]);
  FakeTensor result = *y;
  close_gaps(result);
  release(y);
  release(tensor_of(stack[1]));
  return reinterpret_cast<std::uint64_t>(new_tensor(result));
}

}  // namespace

hgemm::test::FakeTorch& hgemm::test::fake_torch() {
  static FakeTorch torch;
  return torch;
}

#define FAKE(...) extern "C" __attribute__((visibility("default"))) __VA_ARGS__

FAKE(std::uint64_t aoti_torch_abi_version()) {
  return (std::uint64_t{2} << 56) | (fake_torch().minor_version << 48);
}
FAKE(std::int32_t aoti_torch_dtype_bfloat16()) { return kFakeBf16; }
FAKE(std::int32_t aoti_torch_dtype_float16()) { return 5; }
FAKE(std::int32_t aoti_torch_dtype_uint8()) { return kFakeUint8; }
FAKE(std::int32_t aoti_torch_device_type_cuda()) { return kFakeCuda; }
FAKE(std::int32_t aoti_torch_memory_format_contiguous_format()) { return 0; }
FAKE(bool aoti_torch_grad_mode_is_enabled()) { return fake_torch().grad_mode; }

FAKE(int aoti_torch_get_data_ptr(FakeTensor* tensor, void** data)) {
  *data = tensor->data;
  return 0;
}
FAKE(int aoti_torch_get_dim(FakeTensor* tensor, std::int64_t* dim)) {
  *dim = static_cast<std::int64_t>(tensor->sizes.size());
  return 0;
}
FAKE(int aoti_torch_get_sizes(FakeTensor* tensor, std::int64_t** sizes)) {
  *sizes = tensor->sizes.data();
  return 0;
}
FAKE(int aoti_torch_get_strides(FakeTensor* tensor, std::int64_t** strides)) {
  *strides = tensor->strides.data();
  return 0;
}
FAKE(int aoti_torch_get_dtype(FakeTensor* tensor, std::int32_t* dtype)) {
  *dtype = tensor->dtype;
  return 0;
}
FAKE(int aoti_torch_get_device_type(FakeTensor* tensor, std::int32_t* type)) {
  *type = tensor->device_type;
  return 0;
}
FAKE(int aoti_torch_get_device_index(FakeTensor* tensor, std::int32_t* index)) {
  *index = tensor->device_index;
  return 0;
}
FAKE(int aoti_torch_is_contiguous(FakeTensor*, bool* is_contiguous)) {
  *is_contiguous = true;
  return 0;
}
FAKE(int aoti_torch_empty_strided(std::int64_t dim, const std::int64_t* sizes,
                                  const std::int64_t* strides, std::int32_t dtype,
                                  std::int32_t device_type, std::int32_t device_index,
                                  FakeTensor** result)) {
  if (fake_torch().has_memory_for == 0) return 1;
  --fake_torch().has_memory_for;
  FakeTensor* const made = new_tensor({.sizes = {sizes, sizes + dim},
                                       .strides = {strides, strides + dim},
                                       .dtype = dtype,
                                       .device_type = device_type,
                                       .device_index = device_index});
  constexpr std::size_t kUnit = 256;
  made->memory.resize(2 * kUnit);  // nothing is written there
  const auto begin = reinterpret_cast<std::uintptr_t>(made->memory.data());
  made->data = reinterpret_cast<void*>((begin + kUnit - 1) / kUnit * kUnit);
  fake_torch().allocated.push_back(made);
  *result = made;
  return 0;
}
FAKE(int aoti_torch_create_tensor_from_blob(void* data, std::int64_t dim, const std::int64_t* sizes,
                                            const std::int64_t* strides, std::int64_t,
                                            std::int32_t dtype, std::int32_t device_type,
                                            std::int32_t device_index, FakeTensor** made)) {
  *made = new_tensor({.data = data,
                      .sizes = {sizes, sizes + dim},
                      .strides = {strides, strides + dim},
                      .dtype = dtype,
                      .device_type = device_type,
                      .device_index = device_index});
  return 0;
}
FAKE(int aoti_torch_new_tensor_handle(FakeTensor* tensor, FakeTensor** other)) {
  *other = new_tensor(*tensor);
  return 0;
}
FAKE(int aoti_torch_delete_tensor_object(FakeTensor* tensor)) {
  release(tensor);
  return 0;
}

FAKE(int aoti_torch_library_init_fragment(const char*, const char*, std::uint32_t,
                                          Library** made)) {
  static Library library;
  *made = &library;
  return 0;
}
FAKE(int aoti_torch_library_init_impl(const char*, const char* key, const char*, std::uint32_t,
                                      Library** made)) {
  static std::map<std::string, Library> libraries;
  *made = &libraries.try_emplace(key, Library{key}).first->second;
  return 0;
}
FAKE(int aoti_torch_library_def(Library*, const char* schema)) {
  const std::string text = schema;
  fake_torch().schemas[text.substr(0, text.find('('))] = text;
  return 0;
}
FAKE(int torch_library_impl(Library* library, const char* name, FakeKernel kernel, std::uint64_t)) {
  fake_torch().kernels[std::string(name) + " " + library->key] = kernel;
  return 0;
}
FAKE(int torch_call_dispatcher(const char* name, const char*, std::uint64_t* stack,
                               std::uint64_t)) {
  const std::string called = name;
  fake_torch().called.push_back(called);
  if (called == "aten::linear") {
    stack[0] = linear(stack);
    if (fake_torch().failing.contains(called)) {
      release(tensor_of(stack[0]));
      return 1;
    }
  } else if (called == "aten::gelu") {
    delete reinterpret_cast<std::string*>(stack[1]);
    --fake_torch().strings;
  } else if (called == "aten::narrow") {
    stack[0] = narrow(stack);
  } else if (called == "aten::copy_") {
    release(tensor_of(stack[1]));
  } else if (called == "aten::mul") {
    stack[0] = product(stack);
  } else if (called.starts_with("hgemm_tune::")) {
    const std::string own = called.substr(std::strlen("hgemm_tune::"));
    const std::uint64_t inputs = own == "_linear" ? 4 : 3;
    fake_torch().kernels.at(own + " CUDA")(stack, inputs, 1);
  }
  return 0;
}

FAKE(const char* torch_exception_get_what_without_backtrace()) { return "it is a fake"; }

FAKE(int torch_new_string_handle(const char* text, std::size_t length, std::string** made)) {
  *made = new std::string(text, length);
  ++fake_torch().strings;
  return 0;
}
FAKE(int torch_string_length(std::string* text, std::size_t* length)) {
  *length = text->size();
  return 0;
}
FAKE(int torch_string_c_str(std::string* text, const char** data)) {
  *data = text->c_str();
  return 0;
}
FAKE(int torch_delete_string(std::string* text)) {
  delete text;
  --fake_torch().strings;
  return 0;
}
