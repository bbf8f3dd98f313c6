#include "param_server/metrics/metrics_recorder.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {

namespace {

absl::StatusOr<std::unique_ptr<CsvWriter>> OpenCsv(const std::string& folder) {
  WAGGLE_RETURN_IF_ERROR(CreateFolders(folder));
  return CsvWriter::Create(absl::StrCat(folder, "/metrics.csv"));
}

// Removes figures that do not follow from the experiment: the hub's own, and what replay servers still know of writers
// of before a cut.
void KeepReproducible(Figures* figures) {
  for (auto figure = figures->begin(); figure != figures->end();) {
    const std::string& name = figure->first;
    const bool removed = absl::StartsWith(name, "hub/") || name == "replay/writers" || name == "replay/writer_bytes";
    figure = removed ? figures->erase(figure) : std::next(figure);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsRecorder>> MetricsRecorder::Create(const std::string& folder,
                                                                         const HubOverview& known) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<CsvWriter> csv, OpenCsv(folder));
  return std::unique_ptr<MetricsRecorder>(new MetricsRecorder(folder, std::move(csv), known.evaluation_count));
}

absl::Status MetricsRecorder::Record(const HubOverview& overview, absl::Time wall, const Call& call) {
  absl::Status status;
  if (overview.run_state == RunState::kNoExperiment || IsAtRest(overview)) {
    return status;
  }
  WAGGLE_RETURN_IF_ERROR(ReopenRemoved());
  if (tensorboard_ == nullptr) {
    tensorboard_ = std::make_unique<TensorBoardWriter>(folder_);
  }
  last_.step = std::max(last_.step, static_cast<int64_t>(overview.env_steps));
  const double seconds = absl::ToDoubleSeconds(overview.running);
  const size_t fresh = std::min<size_t>(overview.evaluations.size(), overview.evaluation_count - evaluations_);
  evaluations_ = overview.evaluation_count - fresh;
  // Evaluations come first, as they are older.
  for (auto dated = overview.evaluations.end() - static_cast<int64_t>(fresh); dated != overview.evaluations.end();
       ++dated) {
    const absl::Time finished = std::min(wall, dated->finished);
    // Two evaluators' clocks may differ.
    evaluation_seconds_ = std::max(evaluation_seconds_, seconds - absl::ToDoubleSeconds(wall - finished));
    const CsvWriter::Position position = {static_cast<int64_t>(dated->evaluation.env_steps), evaluation_seconds_};
    if (!Write(position, finished, EvaluationFigures(dated->evaluation), &status)) {
      break;
    }
    ++evaluations_;
  }
  last_.seconds = std::max(last_.seconds, seconds);
  if (!call.last || !call.in_lock_step) {
    Figures figures = RunFigures(overview, call.in_lock_step ? std::set<Role>() : TakeUnheard(overview));
    if (call.in_lock_step) {
      KeepReproducible(&figures);
    }
    Write(last_, wall, figures, &status);
  }
  status.Update(tensorboard_->Flush());
  at_rest_ = at_rest_ && status.ok();
  return status;
}

absl::Status MetricsRecorder::ReopenRemoved() {
  if (!csv_->IsRemoved()) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(csv_, OpenCsv(folder_));
  tensorboard_ = nullptr;
  LogWarning(folder_, "/metrics.csv was removed, and begins anew");
  return absl::OkStatus();
}

std::set<Role> MetricsRecorder::TakeUnheard(const HubOverview& overview) {
  std::map<Role, std::map<std::string, absl::Duration>> heard;
  for (const WorkerView& worker : overview.workers) {
    if (worker.current) {
      heard[worker.introduction.role][worker.introduction.worker_id] = worker.figures->taken_at;
    }
  }
  std::set<Role> unheard;
  for (const auto& [role, taken_at] : heard) {
    if (const auto before = heard_.find(role); before != heard_.end() && before->second == taken_at) {
      unheard.insert(role);
    }
  }
  heard_ = std::move(heard);
  return unheard;
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

bool MetricsRecorder::Write(const CsvWriter::Position& position, absl::Time wall, const Figures& figures,
                            absl::Status* status) {
  absl::Status room = csv_->MakeRoom();
  room.Update(tensorboard_->MakeRoom());
  if (!room.ok()) {
    status->Update(room);
    return false;
  }
  status->Update(csv_->Append(position.step, position.seconds, figures));
  status->Update(tensorboard_->Append(position.step, absl::ToDoubleSeconds(wall - absl::UnixEpoch()), figures));
  return true;
}

}  // namespace waggle
