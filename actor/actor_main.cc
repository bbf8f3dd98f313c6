// waggle-actor: steps environments and writes rows to replay, or evaluates the weights of a run or saved weights.

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "actor/actor_figures.h"
#include "actor/actor_process.h"
#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "actor/evaluation/saved_evaluation.h"
#include "actor/evaluation/saved_evaluation_report.h"
#include "actor/gradients/trainee_worker.h"
#include "actor/importing/dataset.h"
#include "common/base/process/evaluation_flags.h"
#include "common/base/process/flags.h"
#include "common/base/process/pool_monitor.h"
#include "common/base/process/pool_process.h"
#include "common/base/process/process.h"
#include "common/base/process/security_flags.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/hub/gradients/gradient_address.h"
#include "common/hub/gradients/gradient_link.h"
#include "common/hub/gradients/gradient_sink.h"
#include "common/hub/hub_client.h"
#include "common/hub/inference/remote_policy.h"
#include "common/hub/model_client.h"
#include "common/hub/pool_client.h"
#include "common/net/security/security.h"
#include "common/net/server.h"
#include "common/nn/device.h"
#include "common/replay/replay_client.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/checkpoint/saved_weights.h"
#include "common/rl/training/learner_checkpoint.h"
#include "common/rl/training/trainee.h"

namespace waggle {
namespace {

// An evaluator evaluates for several experiments at once, each in a thread of its own.
constexpr int64_t kEvaluatorOrders = 8;

absl::StatusOr<std::unique_ptr<Policy>> NewPolicy(const AlgorithmDefinitions& definitions,
                                                  const AlgorithmImplementations& implementations,
                                                  const PolicyRequest& request) {
  const ActorOptions& actor = request.experiment->actor;
  ConfigureTorch(actor.threads);
  PolicyContext context;
  WAGGLE_ASSIGN_OR_RETURN(context.device, ParseDevice(actor.device));
  context.experiment = request.experiment;
  context.definitions = &definitions;
  context.implementations = &implementations;
  context.environment = request.environment;
  context.lanes = request.lanes;
  context.first_lane = request.first_lane;
  context.all_lanes = request.all_lanes;
  context.seed = request.seed;
  context.first_step = request.first_step;
  return NetworkPolicy::Create(context);
}

// A worker with its own way to the gradient server.
class LinkedWorker final : public GradientWorker {
 public:
  // Each needs those before it.
  std::unique_ptr<GradientTaker> link;
  std::unique_ptr<GradientSink> sink;
  std::unique_ptr<GradientWorker> worker;

  absl::StatusOr<ModelSnapshot> FirstWeights() override { return worker->FirstWeights(); }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override { return worker->LoadWeights(snapshot); }
  absl::Status Set(const std::string& settings) override { return worker->Set(settings); }
  absl::Status Append(InsertBlock block, const StopToken& stop) override {
    return worker->Append(std::move(block), stop);
  }
  absl::Status Flush(absl::Duration timeout) override { return worker->Flush(timeout); }
  Stats stats() const override { return worker->stats(); }
};

absl::StatusOr<std::unique_ptr<GradientWorker>> NewGradientWorker(const AlgorithmDefinitions& definitions,
                                                                  const Experiment& experiment,
                                                                  const EnvironmentSpec& environment,
                                                                  const std::string& experiment_id, HubLink* hub,
                                                                  Metrics* metrics) {
  const GradientServerOptions& server = experiment.learner.gradient_server;
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, environment, definitions));
  const NetworkPlan& network = *plan.acting()[0];  // Pushed gradients are of one network.
  auto linked = std::make_unique<LinkedWorker>();
  linked->link = NewGradientLink(experiment_id, [hub, reducers = server.reducers](int64_t failed) {
    return GradientAddress(hub->assignment(), reducers, failed);
  });
  GradientSinkOptions options;
  options.model = {network.hash, {{network.name, network.num_learned}}};
  options.worker_id = hub->assignment().worker_id;
  options.life = hub->assignment().life;
  options.max_unacknowledged = server.max_unacknowledged;
  linked->sink = NewGradientSink(options, linked->link.get(), metrics);
  WAGGLE_ASSIGN_OR_RETURN(const torch::Device device, ParseDevice(experiment.actor.device));
  WAGGLE_ASSIGN_OR_RETURN(linked->worker, NewTraineeWorker(experiment, environment, definitions, BuiltinAlgorithms(),
                                                           device, linked->sink.get(), metrics));
  return linked;
}

struct ActorFlags {
  std::string hub_address;
  std::string listen;  // Empty: does not listen.
  bool evaluate = false;
  std::optional<int64_t> index;
  std::string metrics_listen;
  SecurityOptions security;
};

// The work of an actor or an evaluator of the pool.
class ActorWork final : public PoolWork {
 public:
  ActorWork(std::string hub_address, OrderFigures* figures) : hub_address_(std::move(hub_address)), figures_(figures) {}

  const EnvironmentDefinitions& environments() const { return environments_; }

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    const bool evaluate = order.role == Role::kEvaluator;
    Metrics metrics;
    const auto exported = figures_->Attach(&metrics);
    HubClientOptions options = HubOptionsOf(hub_address_, order, run_worker_id);
    options.metrics = &metrics;
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(options, stop));
    const RunAddress run(hub_address_, order.experiment_id);
    ActorPorts ports;
    ports.hub = hub.get();
    ports.metrics = &metrics;
    ports.environments = &environments_;
    ports.algorithms = &definitions_;
    ports.connect_replay = [hub = hub.get(), &order](const std::vector<std::string>& addresses) {
      return NewGrpcReplayConnection(
          addresses, [hub] { return hub->assignment().replay_servers; }, order.experiment_id);
    };
    // The server keeps an evaluator's weights until the evaluator has reported on them.
    const std::string holder = evaluate ? run_worker_id : "";
    ports.new_subscriber = [&run, &holder](const std::string& model) {
      return absl::StatusOr<std::unique_ptr<ModelSubscriber>>(NewGrpcModelSubscriber(run, model, holder));
    };
    ports.new_policy = [this](const PolicyRequest& request) {
      return NewPolicy(definitions_, implementations_, request);
    };
    ports.new_remote_policy = &NewRemotePolicy;
    ports.open_episodes = [](const std::string& name, const std::string& python, const StopToken& until) {
      return OpenEpisodes({name, python}, until);
    };
    ports.new_gradient_worker = [&](const Experiment& experiment, const EnvironmentSpec& environment) {
      return NewGradientWorker(definitions_, experiment, environment, order.experiment_id, hub.get(), &metrics);
    };
    ports.new_publisher = [&run] { return NewGrpcModelPublisher(run); };
    // A replay server remembers writers by name, so this one is unique.
    ports.process_id = run_worker_id;
    return evaluate ? RunEvaluator(ports) : RunActor(ports);
  }

 private:
  const std::string hub_address_;
  OrderFigures* const figures_;
  const EnvironmentDefinitions environments_ = BuiltinEnvironments();
  const AlgorithmDefinitions definitions_ = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations implementations_ = BuiltinAlgorithms();
};

absl::Status Run(const ActorFlags& flags, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(SetProcessSecurity(flags.security));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<PoolMonitor> monitor,
                          PoolMonitor::Start(flags.metrics_listen, flags.evaluate ? "evaluator" : "actor",
                                             flags.evaluate ? EvaluatorFigures() : ActorFigures()));
  std::unique_ptr<RpcServer> health;
  if (!flags.listen.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(health, RpcServer::Start(flags.listen, {}, kServerKeepalive, monitor->rpcs()));
  }
  ActorWork work(flags.hub_address, monitor->orders());
  PoolClientOptions options;
  options.attended = monitor->attended();
  options.hub_address = flags.hub_address;
  options.kind = flags.evaluate ? WorkerKind::kEvaluator : WorkerKind::kActor;
  options.wanted_index = flags.index;
  options.capacity = flags.evaluate ? kEvaluatorOrders : 1;
  options.resources = MachineResources();
  options.resources.devices = CudaDevices();
  options.resources.environments = OfferedEnvironments(work.environments());
  return WorkForPool(options, &work, stop);
}

// The acting weights in a learner's whole state: the algorithm restores the state and publishes them.
absl::StatusOr<ModelSnapshot> LearnerWeights(const AlgorithmDefinitions& definitions,
                                             const AlgorithmImplementations& algorithms,
                                             const CheckpointContents& learner, const PolicyRequest& request) {
  WAGGLE_ASSIGN_OR_RETURN(const torch::Device device, ParseDevice(request.experiment->actor.device));
  WAGGLE_ASSIGN_OR_RETURN(
      const std::unique_ptr<AlgorithmTrainee> trainee,
      AlgorithmTrainee::Create(*request.experiment, request.environment, definitions, algorithms, device));
  WAGGLE_RETURN_IF_ERROR(RestoreLearner(learner, request.experiment->algorithm, trainee.get()));
  return trainee->Publish();
}

absl::StatusOr<SavedEvaluation> Evaluate(const EvaluationFlags& flags, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const SavedWeights weights, LoadSavedWeights(flags.path, flags.newest));
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  SavedEvaluationPorts ports;
  ports.environments = &environments;
  ports.algorithms = &definitions;
  ports.new_policy = [&](const PolicyRequest& request) { return NewPolicy(definitions, algorithms, request); };
  ports.learner_weights = [&](const CheckpointContents& learner, const PolicyRequest& request) {
    return LearnerWeights(definitions, algorithms, learner, request);
  };
  SavedEvaluationOptions options;
  options.episodes = flags.episodes;
  options.seed = flags.seed.value_or(static_cast<int64_t>(std::random_device()()));
  options.device = flags.device;
  options.scripted = flags.scripted;
  if (!flags.video.empty()) {
    options.video = VideoOptions{flags.video, flags.video_episodes};
  }
  if (!flags.record.empty()) {
    options.record = flags.record;
    options.explore = flags.explore;
  }
  return EvaluateSaved(weights, options, ports, stop);
}

// Returns 0, 1 if it failed, 2 if there is nothing to evaluate, 130 if interrupted.
int RunEvaluation(const EvaluationFlags& flags, const LogOptions& log) {
  const char* const verb = flags.record.empty() ? "waggle evaluate: " : "waggle record: ";
  absl::StatusOr<SavedEvaluation> evaluation = absl::UnknownError("the evaluation has not run");
  const int status = RunProcess("evaluate", log, [&](const StopToken& stop) {
    evaluation = Evaluate(flags, stop);
    return absl::OkStatus();
  });
  if (status != 0) {
    return status;
  }
  if (absl::IsCancelled(evaluation.status())) {
    return 130;
  }
  if (!evaluation.ok()) {
    std::cerr << verb << evaluation.status().message() << std::endl;
    return absl::IsInternal(evaluation.status()) || absl::IsUnknown(evaluation.status()) ? 1 : 2;
  }
  std::cout << (flags.json ? SavedEvaluationJson(*evaluation) : SavedEvaluationText(*evaluation)) << std::flush;
  if (!std::cout) {
    std::cerr << verb << "the result could not be written" << std::endl;
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace waggle

int ActorMain(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Steps environments with the newest weights and writes the rows to replay, or evaluates greedily, for one "
      "experiment after the other, as the parameter server says. With --evaluate it joins no experiment: it evaluates "
      "saved weights, as waggle evaluate does.",
      "waggle-actor");
  waggle::LogOptions log;
  waggle::ActorFlags flags;
  waggle::EvaluationFlags saved;
  waggle::AddCommonFlags(app.get(), &log);
  CLI::Option* const hub = waggle::AddParamServerFlag(app.get(), &flags.hub_address);
  waggle::SetRequired(waggle::AddListenFlag(app.get(), &flags.listen), false);  // For health checks.
  waggle::AddSwitch(app.get(), "--evaluator", &flags.evaluate,
                    "Runs greedy episodes and reports their returns instead of training, for several experiments at "
                    "once");
  waggle::AddIntegerFlag(app.get(), "--index", &flags.index, 0, 9999,
                         "Preferred index among an experiment's actors, or evaluators, used if it is free: the random "
                         "numbers and the share of the exploration follow from it");
  waggle::AddServerSecurityFlags(app.get(), &flags.security);
  CLI::Option* const metrics = waggle::AddMetricsFlag(app.get(), &flags.metrics_listen);
  CLI::Option* const evaluate_saved =
      waggle::AddPathFlag(app.get(), "--evaluate", &saved.path, "PATH", "Evaluates the saved weights that PATH holds");
  waggle::SetReplaces(evaluate_saved, hub);
  waggle::SetExcludes(metrics, evaluate_saved);
  for (CLI::Option* const option : waggle::AddEvaluationFlags(app.get(), &saved)) {
    waggle::SetNeeds(option, evaluate_saved);
  }
  waggle::SetNeeds(waggle::AddRecordFlags(app.get(), "--record", &saved).front(), evaluate_saved);
  if (const std::optional<int> status = waggle::ParseCommandLine(app.get(), argc, argv)) {
    return *status;
  }
  if (!saved.path.empty()) {
    return waggle::RunEvaluation(saved, log);
  }
  return waggle::RunProcess(flags.evaluate ? "evaluator" : "actor", log,
                            [&](const waggle::StopToken& stop) { return waggle::Run(flags, stop); });
}
