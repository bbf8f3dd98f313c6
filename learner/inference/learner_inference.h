#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/nn/torch.h"
#include "common/rl/kit/algorithm.h"
#include "learner/inference/inference_batcher.h"

namespace waggle {

// The policy of a learner that computes the actions of all actors of the run, with the weights that the learner
// publishes.
class LearnerInference {
 public:
  using Serve = std::function<void(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash)>;

  // `serve`: see LearnerConnections.
  explicit LearnerInference(Serve serve) : serve_(std::move(serve)) {}
  // Actors get no more answers.
  ~LearnerInference();
  LearnerInference(const LearnerInference&) = delete;
  LearnerInference& operator=(const LearnerInference&) = delete;

  // Answers from the first weights on. `hub` and `metrics` must outlive this. FAILED_PRECONDITION if this process does
  // not listen; otherwise the errors of NetworkPolicy::Create.
  absl::Status Begin(const Experiment& experiment, const EnvironmentSpec& environment,
                     const AlgorithmDefinitions& definitions, const AlgorithmImplementations& implementations,
                     torch::Device device, HubLink* hub, Metrics* metrics);

  // A publisher that gives the weights to the policy here before it publishes them; `publisher` itself if no actors are
  // answered here.
  std::unique_ptr<ModelPublisher> Publisher(std::unique_ptr<ModelPublisher> publisher) const;

 private:
  const Serve serve_;
  std::shared_ptr<InferenceBatcher> batcher_;  // Null if no actors are answered.
};

}  // namespace waggle
