#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/api/hub.h"
#include "common/api/model.h"
#include "common/experiment/experiment.h"
#include "common/metrics/metrics.h"
#include "common/nn/torch.h"
#include "learner/inference/inference_batcher.h"

namespace waggle {

// A learner's own policy, that computes the actions of all actors of the run by the weights that the learner publishes.
class LearnerInference {
 public:
  using Serve = std::function<void(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash)>;

  // `serve`: see LearnerConnections.
  explicit LearnerInference(Serve serve) : serve_(std::move(serve)) {}
  // Nobody is answered any more.
  ~LearnerInference();
  LearnerInference(const LearnerInference&) = delete;
  LearnerInference& operator=(const LearnerInference&) = delete;

  // Answers from the first weights on. `hub` and `metrics` outlive this. FAILED_PRECONDITION where this process listens
  // nowhere; otherwise errors as of NetworkPolicy::Create.
  absl::Status Begin(const Experiment& experiment, const EnvironmentSpec& environment,
                     const AlgorithmDefinitions& definitions, torch::Device device, HubLink* hub, Metrics* metrics);

  // One that gives the weights to the actors here before it publishes them; `publisher` itself where none are
  // answered.
  std::unique_ptr<ModelPublisher> Publisher(std::unique_ptr<ModelPublisher> publisher) const;

 private:
  const Serve serve_;
  std::shared_ptr<InferenceBatcher> batcher_;  // Null where nobody is answered.
};

}  // namespace waggle
