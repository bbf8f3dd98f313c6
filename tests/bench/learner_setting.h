#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/kit/batches.h"
#include "common/rl/training/trainee.h"
#include "learner/batch_stager.h"
#include "tests/support/local/local_replay.h"

namespace waggle::bench {

// Gives the same few batches in turn.
class PreparedSampler : public ReplaySampler {
 public:
  PreparedSampler(ReplaySampler* source, int64_t count);
  absl::StatusOr<SampledBatch> Next(const StopToken&) override { return batches_[next_++ % batches_.size()]; }
  Stats stats() const override { return Stats(); }
  const std::vector<SampledBatch>& batches() const { return batches_; }

 private:
  std::vector<SampledBatch> batches_;
  size_t next_ = 0;
};

// A network and its batches, shared by the learners that are compared.
struct Setting {
  explicit Setting(torch::Device on) : device(on) {}

  torch::Device device;
  Experiment experiment;
  EnvironmentSpec environment;
  ExperimentPlan plan;
  std::unique_ptr<LocalReplayConnection> replay;
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> updater;
  std::unique_ptr<PreparedSampler> prepared;
  std::vector<StagedBatch> staged;  // The prepared batches, on the device.

  // The algorithm's options.
  template <class Options>
  const Options& options() const {
    return dynamic_cast<const Options&>(*experiment.algorithm_options);
  }
};

// `yaml` has the algorithm, its networks and the batch size. The table is filled with `items` items of random numbers,
// of which `batches` batches are drawn. They are several, because a processor would learn the branches of a single one.
struct SettingOptions {
  std::string yaml;
  EnvironmentSpec environment;
  int64_t items = 0;
  int64_t batches = 16;
};
std::unique_ptr<Setting> NewSetting(const SettingOptions& options, torch::Device device);

// One update from one batch.
using Learner = std::function<void(const TensorBatch&)>;

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Setting& setting);
// Only the algorithm's update.
Learner WaggleLearner(const Setting& setting);

// Makes an update from each of the prepared batches; returns once the device has finished them.
void LearnFromEach(const Setting& setting, const Learner& learner);

}  // namespace waggle::bench
