#include "param_server/experiments/open_run.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/learner_checks.h"
#include "param_server/experiments/output_files.h"
#include "param_server/metrics/metrics_recorder.h"

namespace waggle {
namespace {

// The interval of heartbeats, which bring the figures.
constexpr absl::Duration kRecordingPeriod = absl::Seconds(1);

absl::StatusOr<std::unique_ptr<WeightsFolder>> OpenWeights(const std::string& folder, const char* name) {
  WeightsFolderOptions options;
  options.folder = absl::StrCat(folder, "/", name);
  return WeightsFolder::Open(options);
}

// Goes back to a cut if a return was requested, and sets the hub's options for cuts. Returns true if the run has gone
// back.
absl::StatusOr<bool> PrepareCuts(CutFolder* folder, HubOptions* hub) {
  WAGGLE_ASSIGN_OR_RETURN(const bool returned, folder->ReturnIfRequested());
  WAGGLE_ASSIGN_OR_RETURN(hub->restoration, folder->restoration());
  if (returned) {
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<TurnState> turns, folder->Turns(hub->restoration->cut));
    hub->turns = turns.value_or(TurnState());
    WAGGLE_ASSIGN_OR_RETURN(hub->earlier_counters, folder->Counters(hub->restoration->cut));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, folder->List());
  for (const CutFacts& cut : cuts) {
    hub->cuts.push_back(cut.number);
  }
  hub->cut_folder = folder;
  return returned;
}

}  // namespace

RunPlan PlanRun(const Experiment& experiment, const std::string& yaml) {
  RunPlan plan{
      experiment.experiment.name,   yaml, experiment.stop, experiment.evaluation.episodes, experiment.replay.servers,
      experiment.evaluation.enabled};
  plan.learners = experiment.learner.processes;
  plan.keeps_items = experiment.replay.table.durability != Durability::kNone;
  plan.cuts.why_none = std::string(CheckCuts(experiment).message());
  plan.cuts.keep = experiment.experiment.checkpoint.keep;
  if (experiment.experiment.deterministic) {
    plan.lock_step = LockStepOptions{experiment.learner.report_period_steps, experiment.evaluation.StepsInLockStep(),
                                     experiment.experiment.checkpoint.period, experiment.replay.servers};
  } else {
    plan.cuts.period = absl::Seconds(experiment.experiment.checkpoint.period);
  }
  return plan;
}

absl::StatusOr<std::shared_ptr<OpenRun>> OpenRun::Open(OpenRunOptions options) {
  auto run = std::shared_ptr<OpenRun>(new OpenRun());
  run->folder_ = options.folder;
  run->output_folder_ = options.output_folder;
  run->draw_curves_ = std::move(options.draw_curves);
  run->cuts_ =
      std::make_unique<CutFolder>(CutFolder::Options{options.folder, options.output_folder, options.plan.cuts.keep});
  HubOptions hub;
  WAGGLE_ASSIGN_OR_RETURN(run->returned_, PrepareCuts(run->cuts_.get(), &hub));
  WAGGLE_ASSIGN_OR_RETURN(run->state_, HubState::Open(options.folder));
  WAGGLE_RETURN_IF_ERROR(run->state_->Adopt(options.plan.yaml));
  if (options.resume) {
    WAGGLE_RETURN_IF_ERROR(run->state_->Update([&stop = options.plan.stop](HubRecord* record) {
      record->progress = Continued(std::move(record->progress), stop);
    }));
  }
  WAGGLE_ASSIGN_OR_RETURN(run->newest_, OpenWeights(options.folder, kNewestModelFolder));
  WAGGLE_ASSIGN_OR_RETURN(run->best_, OpenWeights(options.folder, kBestModelFolder));
  run->metrics_.SetActivity("serving");
  if (options.figures != nullptr) {
    run->exported_ = options.figures->Attach(&run->metrics_);
  }
  run->models_ = std::make_unique<ModelStore>(ModelStoreOptions());
  hub.self = std::move(options.self);
  hub.metrics = &run->metrics_;
  hub.newest_weights = run->newest_.get();
  hub.best_weights = run->best_.get();
  hub.note = std::move(options.note);
  hub.resumed = options.resume;
  WAGGLE_ASSIGN_OR_RETURN(run->hub_, Hub::Create(hub, std::move(options.plan), run->state_.get(), run->models_.get()));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<MetricsRecorder> recorder,
                          MetricsRecorder::Create(options.output_folder, run->hub_->Overview()));
  WAGGLE_RETURN_IF_ERROR(WriteBeginning(options.output_folder, run->hub_->present_yaml()));
  run->recording_ = std::make_unique<Recording>(run->hub_.get(), std::move(recorder), kRecordingPeriod);
  run->services_.experiment_id = options.experiment_id;
  run->services_.hub = run->hub_.get();
  run->services_.groups = run->hub_->group_store();
  run->services_.models = run->models_.get();
  run->services_.metrics = &run->metrics_;
  run->services_.last_epoch = [state = run->state_.get()] { return state->last_epoch(); };
  run->services_.fenced_epoch = [hub = run->hub_.get()] { return hub->fenced_epoch(); };
  run->services_.env_steps = [hub = run->hub_.get()](const ModelVersion& version) { return hub->EnvStepsAt(version); };
  return run;
}

OpenRun::~OpenRun() {
  recording_.reset();
  const bool has_steps = hub_ != nullptr && hub_->env_steps() > 0;
  hub_.reset();
  for (WeightsFolder* const folder : {newest_.get(), best_.get()}) {
    if (folder != nullptr) {
      if (const absl::Status kept = folder->Finish(); !kept.ok()) {
        LogError("the run's weights are not kept: ", kept.message());
      }
    }
  }
  if (over_ && has_steps && draw_curves_ != nullptr) {
    draw_curves_(output_folder_, absl::StrCat(folder_, "/curves.log"));
  }
}

void OpenRun::Close(bool over) {
  over_ = over;
  services_.closed = true;
  hub_->WakeAll();
  models_->WakeAll();
}

}  // namespace waggle
