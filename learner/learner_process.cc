#include "learner/learner_process.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_store.h"
#include "common/experiment/experiment.h"
#include "common/nn/device.h"
#include "learner/learner_checkpoint.h"
#include "learner/train_loop.h"

namespace waggle {
namespace {

// What the hub's word becomes before anything is connected.
struct Job {
  Assignment assignment;
  Experiment experiment;
  TablePlan table;
  torch::Device device = torch::kCPU;
  std::unique_ptr<Algorithm> algorithm;
};

absl::StatusOr<std::unique_ptr<Job>> Prepare(const LearnerConnections& connections) {
  auto job = std::make_unique<Job>();
  connections.metrics->SetActivity("waiting for the others");
  WAGGLE_ASSIGN_OR_RETURN(job->assignment, connections.hub->WaitUntil(
                                               [](const Assignment& assignment) {
                                                 return !assignment.experiment_yaml.empty() &&
                                                        assignment.environment.has_value() &&
                                                        !assignment.replay_servers.empty();
                                               },
                                               connections.hub->run_over()));
  const EnvironmentSpec& environment = *job->assignment.environment;
  WAGGLE_ASSIGN_OR_RETURN(job->experiment, ParseExperiment(job->assignment.experiment_yaml, "the hub's experiment", {},
                                                           *connections.definitions));
  const Experiment& experiment = job->experiment;
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, environment, *connections.definitions));
  WAGGLE_ASSIGN_OR_RETURN(job->device, ParseDevice(experiment.learner.device));
  ConfigureTorch(experiment.learner.threads);

  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* definition, connections.definitions->Find(experiment.algorithm));
  WAGGLE_ASSIGN_OR_RETURN(
      std::vector<TablePlan> tables,
      definition->plan_tables(*experiment.algorithm_options, environment, experiment.replay, experiment.learner));
  if (tables.size() != 1) {
    return absl::FailedPreconditionError(absl::StrCat("algorithm ", experiment.algorithm, " wants ", tables.size(),
                                                      " tables; this learner samples from exactly 1"));
  }
  job->table = std::move(tables[0]);
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmImplementation* implementation,
                          connections.algorithms->Find(experiment.algorithm));
  WAGGLE_ASSIGN_OR_RETURN(job->algorithm, implementation->new_algorithm({&experiment, environment, job->device}));
  return job;
}

// The step to go on with.
absl::StatusOr<int64_t> Restore(const std::string& folder, Job* job) {
  if (folder.empty()) {
    return 0;
  }
  if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointStore> store,
                          CheckpointStore::Open(folder, static_cast<int>(job->experiment.learner.checkpoint.keep)));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<CheckpointContents> contents, store->LoadLatest());
  if (!contents.has_value()) {
    return absl::NotFoundError(absl::StrCat("no checkpoint in ", folder));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(RestoreLearner(*contents, job->experiment.algorithm, job->algorithm.get()), folder));
  LogInfo("goes on from step ", contents->step, " of the checkpoints in ", folder);
  return contents->step;
}

absl::Status Learn(const LearnerProcessOptions& options, const LearnerConnections& connections) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Prepare(connections));
  const LearnerOptions& learner = job->experiment.learner;
  const StopToken& stop = connections.hub->run_over();
  TrainLoopOptions loop_options;
  loop_options.algorithm = job->experiment.algorithm;
  loop_options.learner = learner;
  loop_options.max_learner_steps = job->experiment.stop.max_learner_steps;
  loop_options.epoch = job->assignment.epoch;
  loop_options.device = job->device;
  const absl::StatusOr<int64_t> first_step = Restore(options.restore_dir, job.get());
  WAGGLE_RETURN_IF_ERROR(Annotate(first_step.status(), "restoring the learner"));
  loop_options.first_step = *first_step;
  std::unique_ptr<CheckpointStore> checkpoints;
  if (!options.output_dir.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(checkpoints, CheckpointStore::Open(absl::StrCat(options.output_dir, "/checkpoints"),
                                                               static_cast<int>(learner.checkpoint.keep)));
  }

  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayConnection> replay,
                          connections.connect_replay(job->assignment.replay_servers));
  WAGGLE_RETURN_IF_ERROR(replay->CreateTable(job->table.table, stop));
  ReplaySamplerOptions sampler_options;
  sampler_options.table = job->table.table;
  sampler_options.batch_size = learner.batch_size;
  sampler_options.prefetch = learner.prefetch_batches;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplaySampler> sampler, replay->NewSampler(sampler_options));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<PriorityUpdater> priorities,
                          replay->NewPriorityUpdater(job->table.table.name));
  const std::unique_ptr<ModelPublisher> publisher = connections.new_publisher();
  const TrainLoopPorts ports = {sampler.get(), priorities.get(), publisher.get(), connections.metrics,
                                checkpoints.get()};
  LogInfo("learns ", loop_options.algorithm, " on ", job->assignment.environment->name, " from step ",
          loop_options.first_step, ", epoch ", loop_options.epoch);
  TrainLoop loop(loop_options, ports, job->algorithm.get());
  WAGGLE_RETURN_IF_ERROR(loop.Run(stop));
  LogInfo("learned until step ", loop.step());
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLearner(const LearnerProcessOptions& options, const LearnerConnections& connections) {
  const absl::Status status = Learn(options, connections);
  if (absl::IsCancelled(status) && connections.hub->run_over().StopRequested()) {
    return absl::OkStatus();
  }
  if (!status.ok()) {
    connections.hub->ReportFailure(status);
    return status;
  }
  // At its limit of steps the learner is done before the run is: the hub learns of it by the next heartbeat.
  connections.metrics->SetActivity("done");
  connections.hub->run_over().Wait();
  return absl::OkStatus();
}

}  // namespace waggle
