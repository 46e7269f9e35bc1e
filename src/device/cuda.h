// CUDA handles that free themselves, and CUDA error codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/error.h"

namespace hgemm {

class CudaError : public Error {
 public:
  CudaError(cudaError_t code, const std::string& what) : Error(what), code(code) {}

  /// Whether the context may be lost: later calls then fail too, and only a new process helps. True
  /// for every code that is not known to be harmless: a false "lost" costs a second, a false
  /// "harmless" makes all later candidates fail.
  bool sticky() const;

  cudaError_t code;
};

/// Throws CudaError with "<doing>: <CUDA's name and text>" unless `code` is cudaSuccess.
void check(cudaError_t code, const char* doing);

class Stream {
 public:
  Stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }

  cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "running on the GPU"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  void record(const Stream& stream) {
    check(cudaEventRecord(event_, stream.get()), "recording an event");
  }
  void synchronize() const { check(cudaEventSynchronize(event_), "running on the GPU"); }
  bool completed() const;
  cudaEvent_t get() const { return event_; }
  /// Microseconds from `start` to this event; both must have completed.
  double us_since(const Event& start) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Device memory of a fixed size, uninitialised.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() { cudaFree(data_); }

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A captured sequence of operations, launched as one.
class Graph {
 public:
  /// Captures the operations that `enqueue` puts on `stream`.
  template <typename Enqueue>
  static Graph capture(const Stream& stream, const Enqueue& enqueue) {
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      abandon(stream);
      throw;
    }
    return end(stream);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  void launch(const Stream& stream) const {
    check(cudaGraphLaunch(graph_, stream.get()), "launching a graph");
  }

 private:
  explicit Graph(cudaGraphExec_t graph) : graph_(graph) {}
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream);
  static Graph end(const Stream& stream);

  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace hgemm
