#include "param_server/gradients/reducer_process.h"

#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/hub/ports/await_hub.h"
#include "param_server/gradients/gradient_reducer.h"

namespace waggle {
namespace {

absl::Status Reduce(const ReducerConnections& connections) {
  HubLink* const hub = connections.hub;
  connections.metrics->SetActivity("waiting for the others");
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment,
                          AwaitHub(hub, "an experiment", hub->run_over(),
                                   [](const Assignment& said) { return !said.experiment_yaml.empty(); }));
  WAGGLE_ASSIGN_OR_RETURN(
      const Experiment experiment,
      ParseStoredExperiment(assignment.experiment_yaml, "the hub's experiment", {}, *connections.definitions));
  if (!experiment.learner.actors_push()) {
    return absl::FailedPreconditionError("learner.gradients is local: this run has no use for a reducer");
  }
  WAGGLE_ASSIGN_OR_RETURN(const Assignment begun,
                          AwaitHub(hub, "the first actor, which says what the environment is", hub->run_over(),
                                   [](const Assignment& said) { return said.environment.has_value(); }));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                          PlanExperiment(experiment, *begun.environment, *connections.definitions));
  const NetworkPlan& network = plan.networks[0];
  const GradientServerOptions& server = experiment.learner.gradient_server;
  const std::unique_ptr<GradientTaker> link = connections.link([hub] {
    const std::vector<std::string> learners = hub->assignment().learners;
    return learners.empty() ? std::string() : learners.front();
  });
  GradientRunner* const runner = connections.runner;
  GradientReducer reducer({server.batch, absl::Seconds(server.flush_seconds)}, link.get(), connections.metrics,
                          [runner](std::function<void()> task) { runner->Post(std::move(task)); });
  runner->Start(&reducer);
  connections.serve({network.hash, {{plan.algorithm.networks[0].name, network.num_learned}}});
  connections.metrics->SetActivity("reducing");
  LogInfo("adds up to ", server.batch, " gradients");
  hub->run_over().Wait();
  runner->Stop();
  return absl::OkStatus();
}

}  // namespace

absl::Status RunReducer(const ReducerConnections& connections) {
  const absl::Status status = Reduce(connections);
  connections.runner->Stop();
  return WorkResult(status, connections.hub);
}

}  // namespace waggle
