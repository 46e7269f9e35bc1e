// Launches as the driver takes them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <stdexcept>

namespace hgemm_runtime {

/// A launch that families/launch.h describes in the words of the CUDA runtime, in those of the
/// driver. It points into itself.
class DriverLaunch {
 public:
  explicit DriverLaunch(const cudaLaunchConfig_t& config) {
    config_.gridDimX = config.gridDim.x;
    config_.gridDimY = config.gridDim.y;
    config_.gridDimZ = config.gridDim.z;
    config_.blockDimX = config.blockDim.x;
    config_.blockDimY = config.blockDim.y;
    config_.blockDimZ = config.blockDim.z;
    config_.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
    config_.hStream = config.stream;
    for (unsigned i = 0; i < config.numAttrs; ++i) add(config.attrs[i]);
    config_.attrs = attributes_.data();
  }
  DriverLaunch(const DriverLaunch&) = delete;
  DriverLaunch& operator=(const DriverLaunch&) = delete;
  const CUlaunchConfig* config() const { return &config_; }

 private:
  void add(const cudaLaunchAttribute& from) {
    CUlaunchAttribute& to = attributes_.at(config_.numAttrs++);
    switch (from.id) {
      case cudaLaunchAttributeClusterDimension:
        to.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        to.value.clusterDim.x = from.val.clusterDim.x;
        to.value.clusterDim.y = from.val.clusterDim.y;
        to.value.clusterDim.z = from.val.clusterDim.z;
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        to.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        to.value.programmaticStreamSerializationAllowed =
            from.val.programmaticStreamSerializationAllowed;
        break;
      case cudaLaunchAttributeCooperative:
        to.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        to.value.cooperative = from.val.cooperative;
        break;
      default:
        throw std::logic_error("a launch has an attribute that the library of bundles lacks");
    }
  }

  CUlaunchConfig config_{};
  std::array<CUlaunchAttribute, 3> attributes_{};
};

}  // namespace hgemm_runtime
