// Runs steps of the ladder on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "device/candidate.h"
#include "kernels/studies/ladder/steps.h"
#include "studies/ladder/ladder.h"
#include "worker/bench.h"

namespace hgemm {

/// A step's loaded cubin, with its grid size for a problem.
class LadderKernel {
 public:
  /// Throws Error if the step cannot compute the problem, CudaError if the driver refuses the
  /// cubin.
  LadderKernel(const ladder::Step& step, const Cubin& cubin, const GemmProblem& problem);
  LadderKernel(const LadderKernel&) = delete;
  LadderKernel& operator=(const LadderKernel&) = delete;
  ~LadderKernel();

  int ctas() const { return ctas_; }
  /// `stamps`: only for a probed build; 2 * kProbeSlots values for each CTA, zeroed.
  LadderParams params(const Operands& operands, unsigned long long* stamps = nullptr) const;
  void launch(const LadderParams& params, cudaStream_t stream) const;

 private:
  cudaLaunchConfig_t launch_config(int ctas, cudaStream_t stream,
                                   cudaLaunchAttribute* cluster) const;
  int count_ctas() const;

  ladder::Step step_;
  GemmProblem problem_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  int ctas_ = 0;
};

/// A step of the ladder's own as a candidate, with parameters for every input set of the problem.
/// Throws InputError if the label is not that of a step.
std::unique_ptr<Candidate> make_ladder_candidate(const std::string& label, const Cubin& cubin,
                                                 const ProblemData& data);

/// Verifies a ladder step, or the config of a tuned one, then times it in turns with cublas at the
/// rested pace (device/protocol.h).
Study run_ladder(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

/// Runs and verifies one launch of a step's probed build, and returns its cycles by role and phase.
/// Roles: "cta" if all threads do the same work, otherwise "producer" and "consumer".
Study run_ladder_probe(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
