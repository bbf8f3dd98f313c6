#include "param_server/services/overview_convert.h"

#include "absl/time/time.h"
#include "common/base/build_info.h"
#include "common/hub/hub_convert.h"
#include "param_server/metrics/run_figures.h"

namespace waggle {
namespace {

void Fill(const WorkerView& worker, v1::WorkerInfo* out) {
  v1::WorkerInfo& info = *out;
  info.set_worker_id(worker.introduction.worker_id);
  info.set_role(ToProto(worker.introduction.role));
  info.set_index(static_cast<uint32_t>(worker.index));
  info.set_address(worker.introduction.address);
  info.set_process_id(worker.introduction.process_id);
  info.set_host(worker.introduction.host);
  info.set_joined_at_us(absl::ToUnixMicros(worker.joined));
  info.set_silent_ms(absl::ToInt64Milliseconds(worker.silent));
  info.set_activity(worker.figures->activity);
  info.set_last_error(worker.figures->last_error);
  info.mutable_counters()->insert(worker.figures->counters.begin(), worker.figures->counters.end());
  info.mutable_gauges()->insert(worker.figures->gauges.begin(), worker.figures->gauges.end());
  info.mutable_rates()->insert(worker.rates->begin(), worker.rates->end());
  info.set_alive(worker.alive);
  info.set_gone(worker.gone);
  info.set_failure(worker.failure);
}

}  // namespace

void ToProto(const HubOverview& overview, v1::OverviewResponse* response) {
  response->set_run_state(ToProto(overview.run_state));
  response->set_outcome_reason(overview.outcome_reason);
  response->set_experiment_name(overview.experiment_name);
  response->set_experiment_yaml(overview.experiment_yaml);
  for (const WorkerView& worker : overview.workers) {
    Fill(worker, response->add_workers());
  }
  response->set_model(overview.model);
  if (overview.model_version.has_value()) {
    *response->mutable_model_version() = ToProto(*overview.model_version);
  }
  response->set_model_bytes(overview.model_bytes);
  for (const DatedEvaluation& dated : overview.evaluations) {
    v1::Evaluation* const evaluation = response->add_evaluations();
    *evaluation = ToProto(dated.evaluation);
    evaluation->set_finished_at_us(absl::ToUnixMicros(dated.finished));
  }
  response->set_env_steps(overview.env_steps);
  response->set_learner_steps(overview.learner_steps);
  response->set_learner_steps_again(overview.learner_steps_again);
  if (overview.environment.has_value()) {
    *response->mutable_environment() = ToProto(*overview.environment);
  }
  response->set_software_version(kVersion);
  if (overview.result.has_value()) {
    *response->mutable_result() = ToProto(*overview.result);
  }
  response->set_weights_unsaved(overview.weights_unsaved);
  response->set_progress_unsaved(overview.progress_unsaved);
  const Figures figures = RunFigures(overview);
  response->mutable_figures()->insert(figures.begin(), figures.end());
  response->set_figures_unrecorded(overview.figures_unrecorded);
  if (overview.turn.has_value()) {
    *response->mutable_turn() = ToProto(*overview.turn);
  }
  response->set_running_ms(absl::ToInt64Milliseconds(overview.running));
  response->mutable_totals()->insert(overview.totals.all.begin(), overview.totals.all.end());
  response->mutable_totals_unseen()->insert(overview.totals.unseen.begin(), overview.totals.unseen.end());
}

v1::OverviewResponse ToPastProto(HubOverview overview) {
  overview.experiment_yaml.clear();
  for (WorkerView& worker : overview.workers) {
    worker.alive = worker.current = false;
    worker.rates = {};
  }
  v1::OverviewResponse past;
  ToProto(overview, &past);
  return past;
}

}  // namespace waggle
