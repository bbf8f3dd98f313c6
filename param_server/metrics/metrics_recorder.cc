#include "param_server/metrics/metrics_recorder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<MetricsRecorder>> MetricsRecorder::Create(const std::string& folder,
                                                                         const HubOverview& known) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create ", folder));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<CsvWriter> csv, CsvWriter::Create(absl::StrCat(folder, "/metrics.csv")));
  return std::unique_ptr<MetricsRecorder>(new MetricsRecorder(folder, std::move(csv), known.evaluation_count));
}

absl::Status MetricsRecorder::Record(const HubOverview& overview, absl::Time now, absl::Time wall) {
  absl::Status status;
  if (!overview.started.has_value() || IsAtRest(overview)) {
    return status;
  }
  if (tensorboard_ == nullptr) {
    absl::StatusOr<std::unique_ptr<TensorBoardWriter>> created = TensorBoardWriter::Create(folder_);
    status = created.status();
    tensorboard_ = created.ok() ? *std::move(created) : nullptr;
  }
  last_.step = std::max(last_.step, static_cast<int64_t>(overview.env_steps));
  const double seconds = absl::ToDoubleSeconds(now - *overview.started);
  const size_t fresh = std::min<size_t>(overview.evaluations.size(), overview.evaluation_count - evaluations_);
  // Before the other figures, as they are older.
  for (auto dated = overview.evaluations.end() - static_cast<int64_t>(fresh); dated != overview.evaluations.end();
       ++dated) {
    const absl::Time finished = std::min(wall, dated->finished);
    Write(seconds - absl::ToDoubleSeconds(wall - finished), finished, EvaluationFigures(dated->evaluation), &status);
  }
  evaluations_ = overview.evaluation_count;
  Write(seconds, wall, RunFigures(overview), &status);
  if (tensorboard_ != nullptr) {
    status.Update(tensorboard_->Flush());
  }
  return status;
}

bool MetricsRecorder::IsAtRest(const HubOverview& overview) {
  const bool was_at_rest = at_rest_;
  at_rest_ = IsOver(overview.run_state) && overview.evaluation_count == evaluations_ &&
             std::none_of(overview.workers.begin(), overview.workers.end(), [](const WorkerView& worker) {
               const Role role = worker.introduction.role;
               return worker.alive && (role == Role::kActor || role == Role::kLearner || role == Role::kEvaluator);
             });
  return was_at_rest && at_rest_;
}

void MetricsRecorder::Write(double seconds, absl::Time wall, const Figures& figures, absl::Status* status) {
  last_.seconds = std::max(last_.seconds, seconds);
  status->Update(csv_->Append(last_.step, last_.seconds, figures));
  for (auto figure = figures.begin(); tensorboard_ != nullptr && figure != figures.end(); ++figure) {
    status->Update(tensorboard_->Scalar(figure->first, last_.step, absl::ToDoubleSeconds(wall - absl::UnixEpoch()),
                                        figure->second));
  }
}

}  // namespace waggle
