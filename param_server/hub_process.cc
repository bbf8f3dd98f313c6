// No test of its own: tests/e2e/by_hand_test.cc starts it as a user does.
#include "param_server/hub_process.h"

#include <limits.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rpc/server.h"
#include "param_server/metrics/metrics_recorder.h"
#include "param_server/metrics/recording.h"
#include "param_server/model_service.h"
#include "param_server/store_service.h"
#include "param_server/worker_service.h"

namespace waggle {
namespace {

constexpr absl::Duration kHeartbeatInterval = absl::Seconds(1);
// As often as figures come.
constexpr absl::Duration kRecordingPeriod = kHeartbeatInterval;
constexpr absl::Duration kShutdownGrace = absl::Seconds(1);

// The experiment that this server runs, with all it needs of it; nothing where there is none.
absl::StatusOr<std::optional<RunPlan>> FindExperiment(const std::string& file, HubState* state) {
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  std::string given;
  if (!file.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment, LoadExperiment(file, {}, algorithms));
    given = ToYaml(experiment);
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::string yaml, AdoptExperiment(given, SteadyNow(), state));
  if (yaml.empty()) {
    return std::optional<RunPlan>();
  }
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment, ParseExperiment(yaml, "the stored experiment", {}, algorithms));
  RunPlan plan{
      experiment.experiment.name,   yaml, experiment.stop, experiment.evaluation.episodes, experiment.replay.servers,
      experiment.evaluation.enabled};
  plan.learners = experiment.learner.processes;
  if (experiment.experiment.deterministic) {
    plan.lock_step = LockStepOptions{experiment.learner.report_period_steps,
                                     plan.evaluates ? experiment.evaluation.period_steps : 0};
  }
  return std::optional<RunPlan>(std::move(plan));
}

// Without its address, which is known only once it serves.
WorkerIntroduction Self() {
  char host[HOST_NAME_MAX + 1] = {};
  WorkerIntroduction self;
  self.worker_id = absl::StrCat(RoleName(Role::kParamServer), "-", getpid());
  self.role = Role::kParamServer;
  self.process_id = getpid();
  self.host = gethostname(host, sizeof(host) - 1) == 0 ? host : "unknown";
  return self;
}

// Until `stop`, with weights that come from there and are kept there.
absl::Status Serve(const HubProcessOptions& options, WeightsFolder* newest, WeightsFolder* best, HubState* state,
                   const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(std::optional<RunPlan> plan, FindExperiment(options.experiment_file, state));
  const std::string address_file = absl::StrCat(options.data_folder, "/address");
  std::filesystem::remove(address_file);  // That of an earlier process would be taken for this one's.
  const std::string experiment = plan.has_value() ? plan->name : "";
  Metrics metrics;
  metrics.SetActivity("serving");
  ModelStore models((ModelStoreOptions()));
  HubOptions hub_options;
  hub_options.self = Self();
  hub_options.metrics = &metrics;
  hub_options.newest_weights = newest;
  hub_options.best_weights = best;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Hub> hub, Hub::Create(hub_options, std::move(plan), state, &models));
  const std::string& metrics_folder = options.metrics_folder.empty() ? options.data_folder : options.metrics_folder;
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<MetricsRecorder> recorder,
                          MetricsRecorder::Create(metrics_folder, hub->Overview()));
  const auto run = std::make_shared<RunServices>();
  run->hub = hub.get();
  run->groups = hub->group_store();
  run->models = &models;
  run->metrics = &metrics;
  run->last_epoch = [state] { return state->last_epoch(); };
  const FindRun find = [run](const std::string& /*experiment_id*/) { return run; };
  ModelService model_service(find);
  WorkerService worker_service(find, kHeartbeatInterval);
  StoreService store_service(find);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server,
                          RpcServer::Start(options.listen, {&model_service, &worker_service, &store_service}));
  hub->SetOwnAddress(server->address());
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(address_file, server->address() + "\n"));
  LogInfo("serving at ", server->address(), experiment.empty() ? ", without an experiment" : ", experiment ",
          experiment);
  const Recording recording(hub.get(), std::move(recorder), kRecordingPeriod);
  stop.Wait();
  std::filesystem::remove(address_file);
  server->Shutdown(kShutdownGrace);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<WeightsFolder>> OpenWeights(const HubProcessOptions& options, const char* name) {
  WeightsFolderOptions folder;
  folder.folder = absl::StrCat(options.data_folder, "/", name);
  return WeightsFolder::Open(folder);
}

}  // namespace

absl::Status RunHub(const HubProcessOptions& options, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubState> state, HubState::Open(options.data_folder));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<WeightsFolder> newest, OpenWeights(options, kNewestModelFolder));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<WeightsFolder> best, OpenWeights(options, kBestModelFolder));
  WAGGLE_RETURN_IF_ERROR(Serve(options, newest.get(), best.get(), state.get(), stop));
  for (WeightsFolder* folder : {newest.get(), best.get()}) {
    WAGGLE_RETURN_IF_ERROR(Annotate(folder->Finish(), "the run's weights are not kept"));
  }
  return absl::OkStatus();
}

}  // namespace waggle
