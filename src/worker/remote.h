// The measurer in a process of its own, so that a kernel that hangs or crashes costs one trial.
//
// The parent never calls CUDA. It runs this program again as `hgemm-tune worker`, and sends it one
// JSON request at a time over a socket pair. The worker announces each step of a request (loading a
// kernel, its first launch, a sample), and each step has a deadline. When a deadline passes or the
// worker dies, the parent kills it, throws MeasurerLost with the step and its candidate, and starts
// a new worker at the next call.
//
// Each problem that is measured at full effort gets a new worker. The addresses at which the driver
// places the inputs change the time of a memory-bound GEMM by up to some percent, and they depend
// on the earlier allocations of the process. In fresh processes three problems had the same times
// within 0.1 % each time (H200, 2026-11-20); at the end of long tunes their times were up to 3 %
// apart. Brief effort keeps its worker, because a new one takes 0.4 s (H200, 2026-11-22).
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "device/device.h"
#include "device/measurer.h"
#include "record/peer.h"
#include "worker/bench.h"
#include "worker/lab.h"
#include "worker/limits.h"

namespace hgemm {

inline const std::vector<std::string> kWorkerCommand = {kThisProgram, "worker"};

/// The GPUs that a worker process could use. Throws NoDevice if there are none, MeasurerLost if the
/// worker dies or hangs.
std::vector<VisibleGpu> list_gpus(const std::vector<std::string>& command = kWorkerCommand,
                                  const WorkerLimits& limits = {});

class RemoteMeasurer : public Measurer {
 public:
  /// `command` runs the `worker` subcommand of this program. `gpu_uuid`: the GPU; empty: the first
  /// visible one. `peers` are baselines of every problem. `variables`: of the worker's environment
  /// (base/child.h).
  explicit RemoteMeasurer(std::vector<std::string> command = kWorkerCommand,
                          const WorkerLimits& limits = {}, const std::string& gpu_uuid = {},
                          std::vector<Peer> peers = {}, std::vector<std::string> variables = {});
  ~RemoteMeasurer() override;

  /// Throws NoDevice if there is no driver or no GPU, or if the GPU is not sm_90.
  Machine machine() override;
  Opened open(const GemmProblem& problem, const Opening& opening) override;
  Prepared prepare(const Build& build) override;
  Prepared restore(const Build& build, double estimate_us) override;
  void forget(const std::string& label) override;
  Settled settle(Pace pace) override;
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace) override;
  std::optional<Energy> energy(const std::string& label) override;
  CallTime calls(const std::string& label) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs studies in a process of their own, with the same deadlines. Trials are timed in another
/// worker, the measurer's.
class RemoteLab : public Lab {
 public:
  explicit RemoteLab(std::vector<std::string> command = kWorkerCommand,
                     const WorkerLimits& limits = {});
  ~RemoteLab() override;

  Machine machine() override;
  Study run(const StudyRequest& request, const Cubins& cubins) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Entry of the hidden `worker` subcommand: serves requests on a socket until it closes.
int worker_main(int socket_fd, const RunStudy& run_study);

}  // namespace hgemm
