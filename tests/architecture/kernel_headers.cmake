# Every header of kernels/ and its folders compiles alone with nvcc, as it must in a project that
# takes it home. Those of the folders name others by their paths below kernels/. Needs no GPU. One
# test per header, so that a failure names it.
file(GLOB kernel_headers RELATIVE ${PROJECT_SOURCE_DIR}/kernels CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/kernels/*.cuh
     ${PROJECT_SOURCE_DIR}/kernels/micro/*.h ${PROJECT_SOURCE_DIR}/kernels/micro/*.cuh
     ${PROJECT_SOURCE_DIR}/kernels/ladder/*.h ${PROJECT_SOURCE_DIR}/kernels/ladder/*.cuh)
foreach(header IN LISTS kernel_headers)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/kernel_headers/${header}.cu)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"kernels/${header}\"\n")
  set(include_dirs -I ${PROJECT_SOURCE_DIR})
  if(header MATCHES "/")
    list(APPEND include_dirs -I ${PROJECT_SOURCE_DIR}/kernels)
  endif()
  add_test(NAME KernelHeaders.CompilesAlone/${header}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 -Werror all-warnings
            -gencode arch=compute_90a,code=sm_90a ${include_dirs}
            -c ${unit} -o ${unit}.o)
  set_tests_properties(KernelHeaders.CompilesAlone/${header} PROPERTIES LABELS cpu)
endforeach()
