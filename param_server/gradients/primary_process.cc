#include "param_server/gradients/primary_process.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/live_settings.h"
#include "common/hub/ports/await_hub.h"
#include "common/rl/publishing/best_keeper.h"
#include "common/rl/publishing/checkpoint_folder.h"
#include "common/rl/publishing/published_model.h"
#include "param_server/gradients/primary_loop.h"

namespace waggle {
namespace {

// The experiment that the hub assigned.
struct Job {
  Assignment assignment;
  Experiment experiment;
  NetworkNeed need;  // The stepped network.
  NetworkPlan network;
};

absl::StatusOr<Job> Prepare(const PrimaryConnections& connections) {
  Job job;
  const StopToken& over = connections.hub->training_over();
  connections.metrics->SetActivity("waiting for the others");
  WAGGLE_ASSIGN_OR_RETURN(job.assignment, AwaitHub(connections.hub, "an experiment", over, [](const Assignment& said) {
                            return !said.experiment_yaml.empty();
                          }));
  WAGGLE_ASSIGN_OR_RETURN(job.experiment, ParseStoredExperiment(job.assignment.experiment_yaml, "the hub's experiment",
                                                                {}, *connections.definitions));
  if (!job.experiment.learner.actors_push()) {
    return absl::FailedPreconditionError(
        "learner.gradients is local: this run has a learner (waggle-learner) and no primary");
  }
  WAGGLE_ASSIGN_OR_RETURN(job.assignment,
                          AwaitHub(connections.hub, "the first actor, which says what the environment is", over,
                                   [](const Assignment& said) { return said.environment.has_value(); }));
  const EnvironmentSpec& environment = *job.assignment.environment;
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(job.experiment, environment, *connections.definitions));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                          PlanExperiment(job.experiment, environment, *connections.definitions));
  job.need = plan.algorithm.networks[0];
  job.network = plan.networks[0];
  return job;
}

// Waits for the hub's first weights, and returns the newest.
absl::StatusOr<ModelSnapshot> AwaitWeights(const Job& job, const PrimaryConnections& connections) {
  const std::unique_ptr<ModelSubscriber> subscriber = connections.new_subscriber(job.experiment.experiment.name);
  const StopToken& over = connections.hub->training_over();
  LogInfo("waiting for the first weights, which an actor publishes");
  WAGGLE_RETURN_IF_ERROR(subscriber->WaitNewer(std::nullopt, over));
  WAGGLE_ASSIGN_OR_RETURN(std::optional<ModelSnapshot> newest, PullNewest(subscriber.get(), over));
  if (!newest.has_value()) {
    return absl::UnavailableError("the weights that were published are gone");
  }
  if (newest->network_hash != job.network.hash || newest->tensors != job.network.parameters) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the weights at the parameter server are of another network: its hash is ",
        absl::Hex(newest->network_hash, absl::kZeroPad16), " and it has ", newest->tensors.size(), " tensors; wanted ",
        absl::Hex(job.network.hash, absl::kZeroPad16), " and ", job.network.parameters.size()));
  }
  return *std::move(newest);
}

// Zeros in the network's shape; a checkpoint fills them.
ModelSnapshot EmptyWeights(const Job& job) {
  ModelSnapshot weights;
  weights.tensors = job.network.parameters;
  weights.network_hash = job.network.hash;
  const size_t bytes = static_cast<size_t>(job.network.num_parameters) * sizeof(float);
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  std::fill_n(data.get(), bytes, '\0');
  weights.data = ByteSlices(ByteSlice{data.get(), bytes, data});
  return weights;
}

GradientPrimaryOptions OptionsOf(const Job& job, int64_t first_step) {
  const GradientServerOptions& server = job.experiment.learner.gradient_server;
  GradientPrimaryOptions options;
  options.mean = server.reduce == "mean";
  options.batch = server.primary_batch;
  options.flush_after = absl::Seconds(server.flush_seconds);
  options.max_staleness = server.max_staleness;
  options.scale_stale = server.stale == "scale";
  options.epoch = job.assignment.epoch;
  options.first_step = first_step;
  return options;
}

// Returns the model's name once the run is over.
absl::StatusOr<std::string> Step(const PrimaryProcessOptions& options, const PrimaryConnections& connections) {
  WAGGLE_ASSIGN_OR_RETURN(const Job job, Prepare(connections));
  CheckpointFolderOptions wanted;
  wanted.output_dir = options.output_dir;
  wanted.experiment = job.experiment.experiment.name;
  wanted.keep = static_cast<int>(job.experiment.learner.checkpoint.keep);
  WAGGLE_ASSIGN_OR_RETURN(CheckpointFolder folder, OpenCheckpointFolder(wanted));

  ModelSnapshot weights = EmptyWeights(job);
  if (!folder.contents.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(weights, AwaitWeights(job, connections));
  }
  weights.model = job.experiment.experiment.name;
  const std::vector<SteppedGroup> groups = {{{job.need.name, job.network.num_learned}, job.need.optimizer}};
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<SteppedParameters> parameters,
                          SteppedParameters::Create(weights, groups));
  SettledGradients settled;
  auto first_step = static_cast<int64_t>(weights.version.version);
  if (folder.contents.has_value()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(RestorePrimary(*folder.contents, parameters.get(), &settled),
                                    absl::StrCat("restoring the primary: ", folder.source)));
    first_step = folder.contents->step;
    LogInfo("goes on from step ", first_step, " of run ", folder.run, " in ", folder.source);
  } else if (first_step > 0) {
    LogWarning("there is no checkpoint: goes on from the parameter server's newest weights, of step ", first_step,
               "; the optimizer begins anew, and what was applied before is not known");
  }
  PrimaryLoopOptions loop_options;
  loop_options.primary = OptionsOf(job, first_step);
  // A run that was resumed may have a later limit.
  WAGGLE_ASSIGN_OR_RETURN(const Experiment with_settings,
                          WithSettings(job.experiment, job.assignment.settings, *connections.definitions));
  loop_options.primary.max_steps = with_settings.stop.max_learner_steps;
  loop_options.publish_period_steps = job.experiment.learner.publish_period_steps;
  loop_options.checkpoint_period = absl::Seconds(job.experiment.learner.checkpoint.period_seconds);
  loop_options.run = folder.run;
  loop_options.experiment_yaml = job.assignment.experiment_yaml;
  const std::unique_ptr<ModelPublisher> publisher = connections.new_publisher();
  PrimaryLoopPorts ports{connections.hub, connections.metrics, connections.runner,
                         publisher.get(), folder.store.get(),  connections.serve};
  ports.set = [&](const std::string& settings) -> absl::StatusOr<std::string> {
    WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                            WithSettings(job.experiment, settings, *connections.definitions));
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                            PlanExperiment(experiment, *job.assignment.environment, *connections.definitions));
    parameters->SetRates(plan.algorithm.networks[0].optimizer);
    return ToYaml(experiment);
  };
  LogInfo("steps ", job.experiment.algorithm, " on ", job.assignment.environment->name, " from step ", first_step,
          ", epoch ", job.assignment.epoch);
  PrimaryLoop loop(loop_options, ports, parameters.get(), &settled);
  WAGGLE_RETURN_IF_ERROR(loop.Run());
  LogInfo("stepped until step ", loop.step());
  connections.metrics->SetActivity("done");
  connections.hub->run_over().Wait();
  connections.runner->Stop();
  return job.experiment.experiment.name;
}

}  // namespace

absl::Status RunPrimary(const PrimaryProcessOptions& options, const PrimaryConnections& connections) {
  return EndTraining(Step(options, connections), options.output_dir, connections.hub, connections.metrics,
                     connections.new_subscriber);
}

}  // namespace waggle
