#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/mutex.h"
#include "learner/inference/inference_batcher.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Observations of two floats, and an action that counts its slot's actions since its memory began.
inline EnvironmentSpec CountingEnvironment() {
  EnvironmentSpec environment;
  environment.name = "counting";
  environment.observations = {Box("observation", DType::kFloat32, {2})};
  environment.actions = {Discrete("action", 1000)};
  environment.rewards = {ArraySpec{"reward", DType::kFloat32, {}}};
  return environment;
}

// Acts by counting, with a memory for each slot. The column "sum" is the sum of the observation's elements; the private
// value is the version of the weights. Refuses a batch with an observation below 0.
class SlotCountingPolicy : public Policy {
 public:
  explicit SlotCountingPolicy(int64_t slots) : counts_(static_cast<size_t>(slots)) {}

  std::vector<ArraySpec> columns() const override { return {ArraySpec{"sum", DType::kFloat32, {}}}; }
  std::vector<std::string> private_columns() const override { return {"version"}; }

  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override {
    CHECK(mode == ActMode::kExplore);
    {
      MutexLock lock(&mutex_);
      batches_.push_back(input.rows());
    }
    const auto* const values = static_cast<const float*>(input.observations[0]);
    for (int64_t row = 0; row < 2 * input.rows(); ++row) {
      if (values[row] < 0) {
        return absl::InvalidArgumentError("an observation is below 0");
      }
    }
    auto* const actions = static_cast<int64_t*>(output->actions[0]);
    auto* const sums = static_cast<float*>(output->columns[0]);
    for (int64_t row = 0; row < input.rows(); ++row) {
      int64_t& count = counts_.at(static_cast<size_t>(input.slots[static_cast<size_t>(row)]));
      count = input.first[row] != 0 ? 1 : count + 1;
      actions[row] = count;
      sums[row] = values[2 * row] + values[2 * row + 1];
      output->private_values[row] = static_cast<float>(version_);
    }
    return absl::OkStatus();
  }

  absl::Status LoadWeights(const ModelSnapshot& snapshot) override {
    version_ = snapshot.version.version;
    return absl::OkStatus();
  }

  // The number of rows of each batch so far.
  std::vector<int64_t> batches() const {
    MutexLock lock(&mutex_);
    return batches_;
  }

 private:
  std::vector<int64_t> counts_;
  uint64_t version_ = 0;
  mutable Mutex mutex_;
  std::vector<int64_t> batches_ ABSL_GUARDED_BY(mutex_);
};

inline ModelSnapshot Weights(uint64_t version) {
  ModelSnapshot snapshot;
  snapshot.version = {1, version};
  return snapshot;
}

// A batcher for three actors with two lanes each.
struct CountingBatcher {
  explicit CountingBatcher(const InferenceOptions& options = {},
                           std::function<void(Policy* policy)> take_settings = nullptr) {
    auto counting = std::make_unique<SlotCountingPolicy>(6);
    policy = counting.get();
    InferenceBatcher::Parts parts;
    parts.policy = std::move(counting);
    parts.environment = CountingEnvironment();
    parts.actors = 3;
    parts.lanes = 2;
    parts.metrics = &metrics;
    parts.take_settings = std::move(take_settings);
    batcher = std::make_shared<InferenceBatcher>(options, std::move(parts));
  }

  Metrics metrics;
  std::shared_ptr<InferenceBatcher> batcher;
  SlotCountingPolicy* policy = nullptr;  // Owned by the batcher.
};

}  // namespace waggle::testing
