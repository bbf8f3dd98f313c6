#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/run_facts.h"
#include "common/metrics/csv_writer.h"
#include "common/metrics/tensorboard_writer.h"

namespace waggle {

// Writes the run's figures over its environment steps: metrics.csv and a TensorBoard event file, both in the output
// folder and with the same names. Not thread-safe.
class MetricsRecorder {
 public:
  static absl::StatusOr<std::unique_ptr<MetricsRecorder>> Create(const std::string& folder);

  // `elapsed` is the time since the run's start, `now` the wall clock's.
  absl::Status Record(const RunFacts& facts, absl::Duration elapsed, absl::Time now);

 private:
  MetricsRecorder() = default;

  absl::Status Write(int64_t step, absl::Duration elapsed, absl::Time at, const std::map<std::string, double>& figures);

  std::unique_ptr<CsvWriter> csv_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
  absl::Duration written_until_;    // Since the run's start.
  int64_t last_evaluation_us_ = 0;  // When the newest one that is written was finished.
};

}  // namespace waggle
