#include "cli/metrics_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

std::map<std::string, double> FiguresOf(const RunFacts& facts) {
  std::map<std::string, double> figures = {
      {"actor/env_steps_per_s", facts.env_steps_per_s},
      {"actor/episodes", facts.episodes},
      {"actor/waiting_fraction", facts.actor_waiting},
      {"learner/steps", facts.learner_steps},
      {"learner/steps_per_s", facts.learner_steps_per_s},
      {"learner/waiting_fraction", facts.learner_waiting},
      {"replay/bytes", facts.table_bytes},
      {"replay/items", facts.table_items},
      {"replay/items_inserted_per_s", facts.items_inserted_per_s},
      {"replay/items_sampled_per_s", facts.items_sampled_per_s},
  };
  const std::pair<const char*, std::optional<double>> optional[] = {
      {"actor/return_mean", facts.training_return},
      {"learner/loss", facts.loss},
      {"learner/policy_lag_mean", facts.policy_lag_mean},
      {"learner/policy_lag_max", facts.policy_lag_max},
  };
  for (const auto& [name, value] : optional) {
    if (value.has_value()) {
      figures[name] = *value;
    }
  }
  return figures;
}

std::map<std::string, double> FiguresOf(const v1::Evaluation& evaluation) {
  return {{"evaluation/mean_return", evaluation.mean_return()},
          {"evaluation/min_return", evaluation.min_return()},
          {"evaluation/max_return", evaluation.max_return()}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsRecorder>> MetricsRecorder::Create(const std::string& folder) {
  std::unique_ptr<MetricsRecorder> recorder(new MetricsRecorder());
  WAGGLE_ASSIGN_OR_RETURN(recorder->csv_, CsvWriter::Create(absl::StrCat(folder, "/metrics.csv")));
  WAGGLE_ASSIGN_OR_RETURN(recorder->tensorboard_, TensorBoardWriter::Create(folder));
  return recorder;
}

absl::Status MetricsRecorder::Record(const RunFacts& facts, absl::Duration elapsed, absl::Time now) {
  const int64_t step = static_cast<int64_t>(facts.env_steps);
  // Several may have finished since the last time. Before the other figures: times do not go back.
  for (const v1::Evaluation& evaluation : facts.evaluations) {
    if (evaluation.finished_at_us() <= last_evaluation_us_) {
      continue;
    }
    last_evaluation_us_ = evaluation.finished_at_us();
    const absl::Time finished = std::min(now, absl::FromUnixMicros(evaluation.finished_at_us()));
    const absl::Duration at = std::max(written_until_, elapsed - (now - finished));
    WAGGLE_RETURN_IF_ERROR(Write(step, at, finished, FiguresOf(evaluation)));
  }
  WAGGLE_RETURN_IF_ERROR(Write(step, elapsed, now, FiguresOf(facts)));
  return tensorboard_->Flush();
}

absl::Status MetricsRecorder::Write(int64_t step, absl::Duration elapsed, absl::Time at,
                                    const std::map<std::string, double>& figures) {
  written_until_ = std::max(written_until_, elapsed);
  WAGGLE_RETURN_IF_ERROR(csv_->Append(step, absl::ToDoubleSeconds(elapsed), figures));
  for (const auto& [name, value] : figures) {
    WAGGLE_RETURN_IF_ERROR(tensorboard_->Scalar(name, step, absl::ToDoubleSeconds(at - absl::UnixEpoch()), value));
  }
  return absl::OkStatus();
}

}  // namespace waggle
