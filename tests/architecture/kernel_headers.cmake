# Every header of kernels/ compiles alone with nvcc, as it must in a project that takes it home. They
# name others by their paths below kernels/. Needs no GPU. One test per header, so that a failure
# names it.
file(GLOB_RECURSE kernel_headers RELATIVE ${PROJECT_SOURCE_DIR}/kernels CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/kernels/*.cuh)
foreach(header IN LISTS kernel_headers)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/kernel_headers/${header}.cu)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"kernels/${header}\"\n")
  add_test(NAME KernelHeaders.CompilesAlone/${header}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 -Werror all-warnings
            -gencode arch=compute_90a,code=sm_90a
            -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/kernels -c ${unit} -o ${unit}.o)
  set_tests_properties(KernelHeaders.CompilesAlone/${header} PROPERTIES LABELS cpu)
endforeach()
