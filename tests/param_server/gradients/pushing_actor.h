#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/hub/gradients/gradient_address.h"
#include "common/hub/gradients/gradient_link.h"
#include "common/hub/gradients/gradient_sink.h"
#include "common/hub/hub_client.h"
#include "common/hub/model_client.h"
#include "common/hub/ports/await_hub.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/publishing/published_model.h"

namespace waggle::testing {

inline EnvironmentSpec PushedEnvironment() {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Discrete("action", 2)};
  return environment;
}

// An actor of a run with pushed gradients, without an environment: all weights begin as 0, and all numbers
// of its gradients are 1.
class PushingActor {
 public:
  // Metrics of this actor.
  static absl::StatusOr<std::unique_ptr<PushingActor>> Join(HubClientOptions options, const StopToken& stop) {
    auto actor = std::make_unique<PushingActor>();
    options.metrics = &actor->metrics;
    WAGGLE_ASSIGN_OR_RETURN(actor->hub, JoinHub(options, stop));
    actor->hub->ReportEnvironment(PushedEnvironment());
    WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment,
                            AwaitHub(actor->hub.get(), "an experiment", stop,
                                     [](const Assignment& said) { return !said.experiment_yaml.empty(); }));
    const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
    WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                            ParseExperiment(assignment.experiment_yaml, "the hub's", {}, definitions));
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, PushedEnvironment(), definitions));
    actor->network = plan.networks[0];
    ModelSnapshot weights = FirstWeights(actor->network);
    weights.model = experiment.experiment.name;
    const RunAddress run(options.hub_address, options.experiment_id);
    WAGGLE_RETURN_IF_ERROR(PublishFirst(std::move(weights), NewGrpcModelPublisher(run).get(), stop));
    const GradientServerOptions& server = experiment.learner.gradient_server;
    actor->link =
        NewGradientLink(options.experiment_id, [hub = actor->hub.get(), reducers = server.reducers](int64_t failed) {
          return GradientAddress(hub->assignment(), reducers, failed);
        });
    GradientSinkOptions sink_options;
    sink_options.model = {actor->network.hash, {{actor->network.name, actor->network.num_learned}}};
    sink_options.worker_id = assignment.worker_id;
    sink_options.life = assignment.life;
    sink_options.max_unacknowledged = server.max_unacknowledged;
    actor->sink = NewGradientSink(sink_options, actor->link.get(), &actor->metrics);
    const auto ones = std::make_shared<std::vector<float>>(static_cast<size_t>(actor->network.num_learned), 1.0F);
    actor->gradient = std::shared_ptr<const float>(ones, ones->data());
    return actor;
  }

  static ModelSnapshot FirstWeights(const NetworkPlan& network) {
    ModelSnapshot weights;
    weights.tensors = network.parameters;
    weights.network_hash = network.hash;
    const size_t bytes = static_cast<size_t>(network.num_parameters) * sizeof(float);
    const std::shared_ptr<char> data = AllocateBytes(bytes);
    std::fill_n(data.get(), bytes, '\0');
    weights.data = ByteSlices(ByteSlice{data.get(), bytes, data});
    return weights;
  }

  absl::Status Push(const StopToken& stop) { return sink->Push(gradient, {}, stop); }

  Metrics metrics;
  std::unique_ptr<HubLink> hub;
  NetworkPlan network;
  std::unique_ptr<GradientTaker> link;
  std::unique_ptr<GradientSink> sink;
  std::shared_ptr<const float> gradient;
};

}  // namespace waggle::testing
