#include "learner/inference/learner_inference.h"

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/live_exploration.h"
#include "common/rl/acting/network_policy.h"

namespace waggle {
namespace {

// Actors may join beyond the experiment's number. Each costs the states of its lanes.
constexpr int64_t kMinActors = 64;

class InferencePublisher final : public ModelPublisher {
 public:
  InferencePublisher(std::unique_ptr<ModelPublisher> publisher, std::shared_ptr<InferenceBatcher> batcher)
      : publisher_(std::move(publisher)), batcher_(std::move(batcher)) {}

  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& stop) override {
    batcher_->SetWeights(snapshot);
    return publisher_->Publish(snapshot, stop);
  }

 private:
  const std::unique_ptr<ModelPublisher> publisher_;
  const std::shared_ptr<InferenceBatcher> batcher_;
};

}  // namespace

LearnerInference::~LearnerInference() {
  if (batcher_ != nullptr) {
    serve_(nullptr, 0);
    batcher_->Stop();
  }
}

absl::Status LearnerInference::Begin(const Experiment& experiment, const EnvironmentSpec& environment,
                                     const AlgorithmDefinitions& definitions,
                                     const AlgorithmImplementations& implementations, torch::Device device,
                                     HubLink* hub, Metrics* metrics) {
  if (serve_ == nullptr) {
    return absl::FailedPreconditionError(
        "actor.inference: server: this learner must compute the actors' actions, but was started without --listen");
  }
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, environment, definitions));
  const ActorOptions& actor = experiment.actor;
  const InferenceOptions& inference = experiment.learner.inference;
  InferenceBatcher::Parts parts;
  parts.environment = environment;
  parts.lanes = actor.lanes;
  parts.actors = std::max(kMinActors, 2 * actor.processes);
  parts.metrics = metrics;
  parts.all_lanes = [hub, actor] { return std::max(hub->assignment().actors, actor.processes) * actor.lanes; };
  parts.take_settings =
      [hub, live = std::make_shared<LiveExploration>(experiment, environment, definitions)](Policy* policy) {
        const absl::StatusOr<std::optional<ExplorationOptions>> changed = live->Take(hub->assignment().settings);
        if (!changed.ok()) {
          LogError("actions are chosen by the earlier numbers: ", changed.status().message());
        } else if (changed->has_value()) {
          policy->SetExploration(**changed);
        }
      };
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &definitions;
  context.implementations = &implementations;
  context.environment = environment;
  context.device = device;
  context.lanes = parts.actors * parts.lanes;
  context.max_rows = std::max(inference.batch_rows, actor.lanes);
  context.all_lanes = actor.processes * actor.lanes;
  const Assignment assignment = hub->assignment();
  // A learner that restarts must not repeat the draws of the one before.
  context.seed = Rng::Split(static_cast<uint64_t>(experiment.experiment.seed), "inference", assignment.epoch).Next();
  context.first_step = assignment.progress.env_steps / std::max<int64_t>(1, context.all_lanes);
  WAGGLE_ASSIGN_OR_RETURN(parts.policy, NetworkPolicy::Create(context));
  batcher_ = std::make_shared<InferenceBatcher>(inference, std::move(parts));
  serve_(batcher_, plan.acting_hash());
  return absl::OkStatus();
}

std::unique_ptr<ModelPublisher> LearnerInference::Publisher(std::unique_ptr<ModelPublisher> publisher) const {
  if (batcher_ == nullptr) {
    return publisher;
  }
  return std::make_unique<InferencePublisher>(std::move(publisher), batcher_);
}

}  // namespace waggle
