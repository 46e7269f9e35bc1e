# CUDA 13: the runtime is linked statically; NVRTC and cuBLAS are shared libraries of the toolkit.
# libcuda is never linked: the program starts without a driver.
find_package(CUDAToolkit 13.0 REQUIRED)

# Headers only: libcupti is loaded when counters are asked for. Some installations keep them apart.
find_path(CUPTI_INCLUDE_DIR cupti_range_profiler.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include
                ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
foreach(part IN ITEMS CUPTI_INCLUDE_DIR CUDA_nvrtc_LIBRARY CUDA_cublas_LIBRARY
        CUDA_cublasLt_LIBRARY CUDA_cudart_static_LIBRARY)
  if(NOT ${part})
    list(APPEND missing_parts ${part})
  endif()
endforeach()
if(missing_parts)
  set(release ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  list(JOIN missing_parts ", " missing_parts)
  message(FATAL_ERROR "The CUDA toolkit of ${CUDAToolkit_INCLUDE_DIRS} lacks ${missing_parts}. "
    "Install the whole toolkit, or these parts of it:\n"
    "  NVIDIA's packages of Debian, Ubuntu, Fedora   cuda-cudart-dev-${release} "
    "cuda-nvrtc-dev-${release} libcublas-dev-${release} cuda-cupti-dev-${release}\n"
    "  conda-forge   cuda-cudart-static cuda-nvrtc-dev libcublas-dev cuda-cupti-dev\n")
endif()

# Where this toolkit keeps its libraries, then where most machines do: a build folder may be carried
# to another one.
set(CMAKE_INSTALL_RPATH ${CUDAToolkit_LIBRARY_DIR} /usr/local/cuda/lib64)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
