#include "learner/learner_process.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/learner_checks.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/experiment/lock_step.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/hub/ports/await_hub.h"
#include "common/nn/device.h"
#include "common/rl/publishing/best_keeper.h"
#include "common/rl/publishing/checkpoint_folder.h"
#include "common/rl/publishing/initial_weights.h"
#include "common/rl/training/learner_checkpoint.h"
#include "common/rl/training/steppers.h"
#include "common/rl/training/trainee.h"
#include "learner/group/all_reduce_stepper.h"
#include "learner/group/group_member.h"
#include "learner/group/push_stepper.h"
#include "learner/inference/learner_inference.h"
#include "learner/peer_weights.h"
#include "learner/published_weights.h"
#include "learner/train_loop.h"

namespace waggle {
namespace {

// The hub's assignment, ready to connect.
struct Job {
  Assignment assignment;
  Experiment experiment;  // As it was submitted: the loop takes its settings.
  int64_t max_learner_steps = 0;
  torch::Device device = torch::kCPU;
  std::unique_ptr<AlgorithmTrainee> trainee;
};

absl::StatusOr<std::unique_ptr<Job>> Prepare(const LearnerProcessOptions& options,
                                             const LearnerConnections& connections) {
  auto job = std::make_unique<Job>();
  connections.metrics->SetActivity("waiting for the others");
  WAGGLE_RETURN_IF_ERROR(
      AwaitHub(connections.hub, "an experiment", connections.hub->training_over(), [](const Assignment& assignment) {
        return !assignment.experiment_yaml.empty();
      }).status());
  WAGGLE_ASSIGN_OR_RETURN(
      job->assignment,
      AwaitHub(connections.hub, "the first actor, which says what the environment is", connections.hub->training_over(),
               [](const Assignment& assignment) { return assignment.environment.has_value(); }));
  const EnvironmentSpec& environment = *job->assignment.environment;
  WAGGLE_ASSIGN_OR_RETURN(job->experiment, ParseStoredExperiment(job->assignment.experiment_yaml,
                                                                 "the hub's experiment", {}, *connections.definitions));
  const Experiment& experiment = job->experiment;
  // A run that was resumed may have a later limit.
  WAGGLE_ASSIGN_OR_RETURN(const Experiment with_settings,
                          WithSettings(experiment, job->assignment.settings, *connections.definitions));
  job->max_learner_steps = with_settings.stop.max_learner_steps;
  const int64_t servers = experiment.replay.servers;
  WAGGLE_ASSIGN_OR_RETURN(job->assignment.replay_servers,
                          AwaitReplayServers(connections.hub, servers, connections.hub->training_over(),
                                             ReplayServersPatience(experiment.experiment.deterministic)));
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, environment, *connections.definitions));
  WAGGLE_RETURN_IF_ERROR(
      CheckOwnMemory(Role::kLearner, experiment, environment, *connections.definitions, options.memory_bytes));
  WAGGLE_ASSIGN_OR_RETURN(job->device, ParseDevice(experiment.learner.device));
  ConfigureTorch(experiment.learner.threads);

  WAGGLE_ASSIGN_OR_RETURN(job->trainee, AlgorithmTrainee::Create(experiment, environment, *connections.definitions,
                                                                 *connections.algorithms, job->device));
  return job;
}

// The store of checkpoints, and the state that was restored from it.
struct Checkpoints {
  std::unique_ptr<CheckpointStore> store;  // Null: no checkpoints are written.
  std::string run;
  int64_t first_step = 0;
  bool restored = false;   // The algorithm's state is from a checkpoint.
  bool continues = false;  // From a checkpoint or from published weights.
  // The last order of a population that the restored state follows from. Without a checkpoint all earlier orders count
  // as obeyed: the published weights follow from them, but for an order that came just before the learner was lost.
  uint64_t obeyed = 0;
  // In lock-step, from a checkpoint of a cut: see TrainLoopOptions.
  std::optional<TrainLoopOptions::Counted> counted;
};

// In lock-step: the place in the run at which the learner begins anew from a cut.
struct Place {
  uint64_t since_cut = 0;
  uint64_t turn = 0;  // The last one.
  int64_t steps = 0;  // In the metrics.
};

// Takes "ITEMS STEPS".
absl::Status TakeCounted(const CheckpointContents& contents, std::optional<TrainLoopOptions::Counted>* counted) {
  const auto text = contents.texts.find(kCheckpointCounted);
  if (text == contents.texts.end()) {
    return absl::OkStatus();
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(text->second, absl::MaxSplits(' ', 1));
  counted->emplace();
  if (!absl::SimpleAtoi(parts.first, &(*counted)->items) || !absl::SimpleAtoi(parts.second, &(*counted)->steps)) {
    return absl::DataLossError(
        absl::StrCat(kCheckpointCounted, ": got \"", absl::CHexEscape(text->second), "\"; wanted two numbers"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoints> PrepareCheckpoints(const LearnerProcessOptions& options, Job* job) {
  CheckpointFolderOptions wanted;
  wanted.output_dir = options.output_dir;
  wanted.experiment = job->experiment.experiment.name;
  wanted.keep = static_cast<int>(job->experiment.learner.checkpoint.keep);
  WAGGLE_ASSIGN_OR_RETURN(CheckpointFolder folder, OpenCheckpointFolder(wanted));
  Checkpoints checkpoints;
  checkpoints.store = std::move(folder.store);
  checkpoints.run = std::move(folder.run);
  checkpoints.obeyed = job->assignment.exploit.serial;
  if (folder.contents.has_value()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(
        Annotate(RestoreLearner(*folder.contents, job->experiment.algorithm, job->trainee.get()), folder.source),
        "restoring the learner"));
    checkpoints.first_step = folder.contents->step;
    checkpoints.restored = checkpoints.continues = true;
    const auto obeyed = folder.contents->texts.find(kCheckpointExploit);
    checkpoints.obeyed = 0;
    if (obeyed != folder.contents->texts.end() && !absl::SimpleAtoi(obeyed->second, &checkpoints.obeyed)) {
      return absl::DataLossError(absl::StrCat(folder.source, ": ", kCheckpointExploit, ": got \"",
                                              absl::CHexEscape(obeyed->second), "\"; wanted a number"));
    }
    WAGGLE_RETURN_IF_ERROR(Annotate(TakeCounted(*folder.contents, &checkpoints.counted), folder.source));
    LogInfo("goes on from step ", checkpoints.first_step, " of run ", checkpoints.run, " in ", folder.source);
  }
  return checkpoints;
}

// A learner that comes back without a checkpoint continues from the hub's newest weights. A checkpoint is better even
// if it is older: it has the whole state.
absl::Status MeetPublished(const LearnerConnections& connections, Job* job, Checkpoints* checkpoints) {
  const std::optional<ModelVersion>& published = job->assignment.model_version;
  if (!published.has_value()) {
    return absl::OkStatus();
  }
  if (checkpoints->restored) {
    const int64_t behind = static_cast<int64_t>(published->version) - checkpoints->first_step;
    if (behind > 0) {
      LogInfo("the parameter server's newest weights are of step ", published->version, ": ", behind,
              " learner steps since the checkpoint are done again");
    }
    return absl::OkStatus();
  }
  const std::unique_ptr<ModelSubscriber> subscriber = connections.new_subscriber(job->experiment.experiment.name);
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> step,
                          LoadPublishedWeights(subscriber.get(), connections.hub->training_over(), job->trainee.get()));
  if (step.has_value()) {
    checkpoints->first_step = *step;
    checkpoints->continues = true;
    LogWarning("there is no checkpoint: goes on from the parameter server's newest weights, of step ", *step,
               ", which are those of the network that acts. These begin as in a new run: ",
               NotPublished(job->trainee->plan().algorithm));
  }
  return absl::OkStatus();
}

// A run's first learner begins with weights of another run if it is asked to.
absl::Status BeginAsAsked(const LearnerConnections& connections, const Checkpoints& checkpoints, Job* job) {
  const InitOptions& init = job->experiment.learner.init;
  if (!init.is_given() || checkpoints.continues) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(
      const InitialWeights weights,
      FindInitialWeights(init, job->trainee->plan(), *job->assignment.environment, *connections.definitions));
  WAGGLE_RETURN_IF_ERROR(job->trainee->BeginWith(weights));
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("nothing") : absl::StrJoin(names, ", ");
  };
  LogInfo("begins with ", weights.parameters.size(), " parameters of ", weights.folder,
          ". As in a new run: ", list(weights.anew), ". Not used: ", list(weights.left));
  return absl::OkStatus();
}

// A learner's connections to one table.
struct TableLinks {
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> priorities;
};

// The links of all tables of the plan. Missing tables are created.
absl::StatusOr<std::vector<TableLinks>> LinkTables(const Job& job, const StopToken& stop, ReplayConnection* replay) {
  const LearnerOptions& learner = job.experiment.learner;
  std::vector<TableLinks> links;
  for (const TablePlan& plan : job.trainee->plan().algorithm.tables) {
    WAGGLE_RETURN_IF_ERROR(
        Annotate(replay->CreateTable(plan.table, stop), absl::StrCat("creating table ", plan.table.name)));
    ReplaySamplerOptions options;
    options.table = plan.table;
    options.batch_size = plan.batch_size / plan.parts;
    // A learner that asked ahead would take the unrolls of the step for which the group waits.
    const bool shares = learner.processes > 1 && job.trainee->plan().algorithm.rows_per_version.has_value();
    options.prefetch = job.experiment.experiment.deterministic || shares ? 0 : learner.prefetch_batches;
    const int64_t index = job.assignment.index;
    options.sampler_id = index == 0 ? "learner" : absl::StrCat("learner-", index);
    options.compression = learner.batch_compression;
    options.awaits_all_shards = job.experiment.experiment.deterministic;
    TableLinks link;
    WAGGLE_ASSIGN_OR_RETURN(link.sampler, replay->NewSampler(options));
    WAGGLE_ASSIGN_OR_RETURN(link.priorities, replay->NewPriorityUpdater(plan.table.name));
    links.push_back(std::move(link));
  }
  return links;
}

// Returns the model's name once the run is over. ABORTED, in lock-step, if the learner must begin anew at this place.
absl::StatusOr<std::string> Learn(const LearnerProcessOptions& options, const LearnerConnections& connections,
                                  Place* place) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Prepare(options, connections));
  const LearnerOptions& learner = job->experiment.learner;
  const StopToken& stop = connections.hub->training_over();
  TrainLoopOptions loop_options;
  loop_options.algorithm = job->experiment.algorithm;
  loop_options.learner = learner;
  loop_options.max_learner_steps = job->max_learner_steps;
  loop_options.epoch = job->assignment.epoch;
  loop_options.device = job->device;
  WAGGLE_ASSIGN_OR_RETURN(Checkpoints checkpoints, PrepareCheckpoints(options, job.get()));
  WAGGLE_RETURN_IF_ERROR(MeetPublished(connections, job.get(), &checkpoints));
  WAGGLE_RETURN_IF_ERROR(BeginAsAsked(connections, checkpoints, job.get()));
  loop_options.run = checkpoints.run;
  loop_options.experiment_yaml = job->assignment.experiment_yaml;
  loop_options.first_step = checkpoints.first_step;

  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayConnection> replay,
                          connections.connect_replay(job->assignment.replay_servers));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<TableLinks> tables, LinkTables(*job, stop, replay.get()));
  LearnerInference inference(connections.serve_inference);
  if (job->experiment.actor.asks_learner()) {
    WAGGLE_RETURN_IF_ERROR(inference.Begin(job->experiment, *job->assignment.environment, *connections.definitions,
                                           *connections.algorithms, job->device, connections.hub, connections.metrics));
  }
  const std::unique_ptr<ModelPublisher> publisher = inference.Publisher(connections.new_publisher());
  TrainLoopPorts ports;
  for (size_t i = 0; i < tables.size(); ++i) {
    ports.tables.push_back({tables[i].sampler.get(), tables[i].priorities.get(),
                            job->trainee->plan().algorithm.tables[i].every,
                            job->trainee->plan().algorithm.tables[i].parts});
  }
  ports.publisher = publisher.get();
  ports.metrics = connections.metrics;
  ports.checkpoints = checkpoints.store.get();
  ports.progress = [&connections] { return connections.hub->assignment().progress; };
  if (job->trainee->plan().algorithm.reads_evaluations) {
    ports.evaluated_rewards = [&connections] { return connections.hub->assignment().evaluated_rewards; };
  }
  ports.settings = [&connections] { return connections.hub->assignment().settings; };
  ports.known_version = [&connections] { return connections.hub->assignment().model_version; };
  ports.trained = [&connections](const ModelVersion& version) { connections.hub->ReportFinalVersion(version); };
  ports.run_over = &connections.hub->run_over();
  std::optional<PeerWeights> peers;
  if (const ExperimentOptions& itself = job->experiment.experiment; itself.population.is_given()) {
    const auto subscribe = [&connections, model = itself.name](const std::string& experiment_id) {
      return connections.new_peer_subscriber(experiment_id, model);
    };
    peers.emplace(connections.hub, subscribe, job->trainee.get(), checkpoints.obeyed);
    ports.peers = &*peers;
  }
  LogInfo("learns ", loop_options.algorithm, " on ", job->assignment.environment->name, " from step ",
          loop_options.first_step, ", epoch ", loop_options.epoch);
  std::optional<TurnTaker> turns;
  if (job->experiment.experiment.deterministic) {
    const uint64_t since_cut = std::max(place->since_cut, job->assignment.turn->since_cut);
    turns.emplace(connections.hub, Role::kLearner, since_cut, place->turn);
    ports.turns = &*turns;
    if (since_cut > 0) {  // Items that a lost learner has not learned from do not count in a run without cuts.
      loop_options.counted = checkpoints.counted;
    }
    loop_options.reported_steps = place->steps;
    loop_options.quota = QuotaInLockStep(job->experiment.replay, job->trainee->plan().algorithm.tables[0]);
  }
  LocalStepper local;
  std::optional<GroupMember> group;
  std::unique_ptr<Stepper> together;
  if (learner.processes > 1) {
    GroupMemberOptions member;
    member.hub = connections.hub;
    member.new_store = connections.new_key_store;
    WAGGLE_ASSIGN_OR_RETURN(member.host, connections.group_host());
    member.metrics = connections.metrics;
    if (learner.learners_push()) {
      member.pushes = learner.gradient_server;
    }
    group.emplace(member);
    ports.group = &*group;
    if (learner.learners_push()) {
      together = std::make_unique<PushStepper>(&*group, &local);
    } else {
      together = std::make_unique<AllReduceStepper>(
          [&group](const torch::Tensor& tensor) { return group->Average(tensor); }, &local);
    }
  }
  std::optional<CutMaker> cuts;
  if (CheckCuts(job->experiment).ok()) {
    cuts.emplace(CutMaker::Options{replay.get(), connections.hub, options.output_dir});
    ports.cuts = &*cuts;
  }
  TrainLoop loop(loop_options, ports, job->trainee.get(), together != nullptr ? together.get() : &local);
  const absl::Status learned = loop.Run(stop);
  if (absl::IsAborted(learned) && turns.has_value()) {
    *place = {loop.made_cut(), turns->done(), loop.step()};
  }
  WAGGLE_RETURN_IF_ERROR(learned);
  LogInfo("learned until step ", loop.step());
  // A learner finishes before its run does: its last weights may have to be evaluated, even if the hub restarts and
  // loses them.
  connections.metrics->SetActivity("done");
  connections.hub->run_over().Wait();
  return job->experiment.experiment.name;
}

// Learns until the run is over. In lock-step the learner begins anew after each cut.
absl::StatusOr<std::string> LearnThroughCuts(const LearnerProcessOptions& options,
                                             const LearnerConnections& connections) {
  Place place;
  absl::StatusOr<std::string> learned = Learn(options, connections, &place);
  while (absl::IsAborted(learned.status()) && connections.hub->assignment().turn.has_value()) {
    LogInfo(learned.status().message());
    connections.metrics->ForgetGauges();
    learned = Learn(options, connections, &place);
  }
  return learned;
}

}  // namespace

absl::Status RunLearner(const LearnerProcessOptions& options, const LearnerConnections& connections) {
  return EndTraining(LearnThroughCuts(options, connections), options.output_dir, connections.hub, connections.metrics,
                     connections.new_subscriber);
}

}  // namespace waggle
