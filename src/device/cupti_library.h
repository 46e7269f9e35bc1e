// Finds libcupti, which is loaded on first use: the program starts and tunes without it.
#pragma once

#include <string>

namespace hgemm {

inline constexpr const char* kCuptiLibrary = "libcupti.so.13";

/// libcupti, found as the loader does or in the usual folders of a toolkit. nullptr if it cannot be
/// loaded; `why` then says the reason. It is never unloaded: CUPTI leaves hooks in the driver and
/// exit handlers of the process.
void* load_cupti(std::string& why);

/// Sets `function` to the function of this name; false if the library has none.
bool find_function(void* library, const char* name, void** function);

}  // namespace hgemm
