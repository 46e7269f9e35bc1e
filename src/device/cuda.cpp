#include "device/cuda.h"

#include <fmt/format.h>

namespace hgemm {

bool CudaError::sticky() const {
  switch (code) {
    case cudaErrorInvalidValue:
    case cudaErrorMemoryAllocation:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidSource:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorFileNotFound:
    case cudaErrorSymbolNotFound:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorInvalidClusterSize:
    case cudaErrorNotPermitted:
    case cudaErrorNotSupported:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorGraphExecUpdateFailure:
      return false;
    default:
      return true;
  }
}

void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  // Clears an error that is not sticky, so that the next call does not report it.
  cudaGetLastError();
  throw CudaError(
      code, fmt::format("{}: {} ({})", doing, cudaGetErrorName(code), cudaGetErrorString(code)));
}

bool Event::completed() const {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) return false;
  check(code, "running on the GPU");
  return true;
}

double Event::us_since(const Event& start) const {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start.event_, event_), "reading events");
  return static_cast<double>(ms) * 1e3;
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, bytes), "allocating device memory");
}

void Graph::begin(const Stream& stream) {
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
        "beginning a capture");
}

void Graph::abandon(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream.get(), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

Graph Graph::end(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream.get(), &graph), "ending a capture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(code, "instantiating a graph");
  Graph result(executable);
  // Otherwise the first replay uploads the graph, between the events that time it.
  check(cudaGraphUpload(executable, stream.get()), "uploading a graph");
  return result;
}

}  // namespace hgemm
