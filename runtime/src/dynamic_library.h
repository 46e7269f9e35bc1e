// A library of the process whose functions are looked up by name.
#pragma once

#include <dlfcn.h>

namespace hgemm_runtime {

/// It is never closed: what it has given out is used until the process ends.
class DynamicLibrary {
 public:
  /// `flags`: of dlopen(). With RTLD_NOLOAD it is there if the process has loaded it already.
  DynamicLibrary(const char* name, int flags) : handle_(dlopen(name, flags)) {}
  explicit operator bool() const { return handle_ != nullptr; }

  /// Null if the library or the function is missing; `missing` is the name of the first such one.
  template <class Function>
  void find(const char* name, Function& function) {
    void* const symbol = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    if (symbol == nullptr && missing == nullptr) missing = name;
    function = reinterpret_cast<Function>(symbol);
  }

  const char* missing = nullptr;

 private:
  void* handle_;
};

}  // namespace hgemm_runtime
