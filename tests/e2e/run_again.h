#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/running_process.h"

namespace waggle::testing {

// Kills `waggle run`, and all its processes with it.
void KillAll(TrainingRun* run);
// The same for another process that has started the run's processes.
void KillAll(const TrainingRun& run, RunningProcess* process);

// `waggle run --resume` on the folder of a run.
class Resumption {
 public:
  explicit Resumption(const TrainingRun& run, const std::vector<std::string>& more = {});

  // The exit status.
  int64_t Wait() { return process_->Wait().ShellStatus(); }
  std::string Log() const { return process_->Log(); }
  RunningProcess* process() { return process_.get(); }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<RunningProcess> process_;
};

// The contents of metrics.csv except times and rates.
std::vector<std::string> TimelessFigures(const std::string& csv);

// The bytes of a run's best weights.
std::string BestWeights(const TrainingRun& run);

}  // namespace waggle::testing
