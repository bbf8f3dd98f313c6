#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/api/replay.h"
#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"
#include "common/rl/trainee.h"
#include "learner/batch_stager.h"
#include "replay_server/store/local_replay.h"

namespace waggle::bench {

// Gives out the same few batches in turn.
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

// What is learned, and from what: all that learners which are compared have in common.
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

// What a setting is made of: `yaml` has the algorithm, its networks and the batch size. Its table is filled with so
// many items of random numbers, of which `batches` batches are drawn: several, for a processor learns the branches that
// one batch takes.
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
// The algorithm's update, and nothing around it.
Learner WaggleLearner(const Setting& setting);

// An update from each of the prepared batches; returns once the device has done them.
void LearnFromEach(const Setting& setting, const Learner& learner);

}  // namespace waggle::bench
