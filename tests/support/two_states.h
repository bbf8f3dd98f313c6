#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "common/base/random.h"
#include "tests/support/algorithm_checks.h"

namespace waggle::testing {

// Lanes of a process of two states with a known optimum. In the first state, choice 0 ends the episode with a reward of
// 1, and choice 1 leads to the second with none. In the second, choice 0 ends it with a reward of 3, and choice 1 with
// none. With a discount of 0.9 the best policy chooses 1, then 0, and the states are worth 2.7 and 3.
class TwoStates {
 public:
  static EnvironmentSpec Environment() { return EnvironmentOf(2, Discrete("action", 2)); }

  // Both states' observations, a row for each.
  static torch::Tensor Observations() { return torch::eye(2, torch::kFloat64); }

  // An unroll of each lane by the trainee's present policy. It begins where the last one ended.
  TensorBatch Play(AlgorithmTrainee* trainee) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor log_probs = trainee->model().net("actor_critic")({Observations()}).policy().LogProbabilities();
    TensorBatch batch;
    batch.size = kLanes;
    batch.fields[kItemLength] = torch::full({kLanes}, kSteps + 1, torch::kInt64);
    batch.fields[kObservation] = torch::zeros({kLanes, kSteps + 1, 2}, torch::kFloat64);
    batch.fields[kStepType] = torch::zeros({kLanes, kSteps + 1}, torch::kInt32);
    batch.fields[kAction] = torch::zeros({kLanes, kSteps + 1}, torch::kInt64);
    for (const char* const name : {kReward, kDiscount, "log_prob"}) {
      batch.fields[name] = torch::zeros({kLanes, kSteps + 1}, torch::kFloat64);
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      Lane& at = lanes_[static_cast<size_t>(lane)];
      for (int64_t t = 0; t <= kSteps; ++t) {
        batch.fields[kStepType][lane][t] = static_cast<int32_t>(at.step_type);
        if (at.step_type != StepType::kLast) {
          batch.fields[kObservation][lane][t][at.state] = 1;
        }
        if (t < kSteps) {
          Step(log_probs, lane, t, &batch);
        }
      }
    }
    return batch;
  }

 private:
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kSteps = 8;

  struct Lane {
    int64_t state = 0;
    StepType step_type = StepType::kFirst;
  };

  void Step(const torch::Tensor& log_probs, int64_t lane, int64_t t, TensorBatch* batch) {
    Lane& at = lanes_[static_cast<size_t>(lane)];
    if (at.step_type == StepType::kLast) {
      at = Lane();
      return;
    }
    const int64_t choice = random_.Uniform() < std::exp(log_probs[at.state][1].item<double>()) ? 1 : 0;
    const bool ends = at.state == 1 || choice == 0;
    batch->fields[kAction][lane][t] = choice;
    batch->fields["log_prob"][lane][t] = log_probs[at.state][choice];
    batch->fields[kReward][lane][t] = choice == 1 ? 0 : at.state == 0 ? 1 : 3;
    batch->fields[kDiscount][lane][t] = ends ? 0 : 1;
    at.step_type = ends ? StepType::kLast : StepType::kMid;
    at.state = 1;
  }

  std::array<Lane, kLanes> lanes_;
  Rng random_{11};
};

// Checks that the trainee finds the optimum in `updates` updates.
inline void CheckSolvesTwoStates(AlgorithmTrainee* trainee, int64_t updates) {
  TwoStates lanes;
  LocalStepper stepper;
  for (int64_t update = 0; update < updates; ++update) {
    Updated(trainee, lanes.Play(trainee), &stepper);
  }
  const Output out = trainee->model().net("actor_critic")({TwoStates::Observations()});
  CHECK(torch::equal(out.policy().Mode(), torch::tensor({1, 0}, torch::kInt64)));
  CHECK(out.value()[0].item<double>() == Approx(2.7).margin(0.2));
  CHECK(out.value()[1].item<double>() == Approx(3).margin(0.2));
}

}  // namespace waggle::testing
