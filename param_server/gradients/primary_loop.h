#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/publishing/async_publisher.h"
#include "common/rl/publishing/async_saver.h"
#include "common/rl/publishing/checkpoint_schedule.h"
#include "param_server/gradients/gradient_primary.h"
#include "param_server/gradients/gradient_runner.h"

namespace waggle {

struct PrimaryLoopOptions {
  GradientPrimaryOptions primary;
  int64_t publish_period_steps = 1;
  absl::Duration checkpoint_period = absl::Minutes(1);
  std::string run;              // The run's name, for checkpoints.
  std::string experiment_yaml;  // For checkpoints.
};

struct PrimaryLoopPorts {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  GradientRunner* runner = nullptr;
  ModelPublisher* publisher = nullptr;
  CheckpointStore* checkpoints = nullptr;    // Null: none are written.
  std::function<void(GradientModel)> serve;  // Called with the gradients' model once gradients are taken.
  // Steps by these settings of the experiment from now on, and returns its text with them. Null: they never change.
  std::function<absl::StatusOr<std::string>(const std::string& settings)> set = nullptr;
};

// A primary's counterpart of TrainLoop: steps weights from gradients until training is over, publishes them and writes
// checkpoints. Reports the counter learner_steps and the gauge gradient_norm.
class PrimaryLoop {
 public:
  // The ports, `parameters` and `settled` outlive it.
  PrimaryLoop(const PrimaryLoopOptions& options, const PrimaryLoopPorts& ports, SteppedParameters* parameters,
              SettledGradients* settled);
  // Stops the runner.
  ~PrimaryLoop() { ports_.runner->Stop(); }

  // Returns when training is over, the last weights are published and the last checkpoint is written. Gradients are
  // refused from then on. FAILED_PRECONDITION if a later learner has published.
  absl::Status Run();

  // Called after Run.
  int64_t step() const { return primary_.step(); }

 private:
  // Called in the runner's thread after each task.
  void AfterWork();
  absl::Status TakeSettings();
  absl::Status Publish();
  void SaveIfDue(absl::Time now);
  CheckpointContents Checkpoint() const;
  absl::Status SaveLastCheckpoint();
  absl::Status Finish();
  // Runs a function in the runner's thread and waits for it.
  void InRunner(const std::function<void()>& function);

  const PrimaryLoopOptions options_;
  const PrimaryLoopPorts ports_;
  SteppedParameters* const parameters_;
  SettledGradients* const settled_;
  const StopToken done_;  // Training is over, or has failed.
  // Used by the runner's thread alone while it runs.
  GradientPrimary primary_;
  AsyncPublisher publisher_;
  std::unique_ptr<AsyncSaver> saver_;  // Null: no checkpoints are written.
  CheckpointSchedule checkpoints_;
  std::string settings_;         // The last ones that were given to PrimaryLoopPorts::set.
  std::string experiment_yaml_;  // With these settings.
  int64_t seen_step_;
  int64_t published_step_ = -1;
  absl::Status failure_;
};

// Restores a primary's parameters and settled gradients from its checkpoint. FAILED_PRECONDITION or DATA_LOSS for the
// checkpoint of something else.
absl::Status RestorePrimary(const CheckpointContents& contents, SteppedParameters* parameters,
                            SettledGradients* settled);

}  // namespace waggle
