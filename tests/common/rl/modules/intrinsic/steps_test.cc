#include "common/rl/modules/intrinsic/steps.h"

#include "common/config/table/batch_layout.h"
#include "common/rl/training/steppers.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

// Batches whose observations count rows, and whose actions are the row modulo 2.
TensorBatch Unrolls() {
  TensorBatch batch;
  batch.size = 2;
  batch.fields[kObservation] = torch::arange(8, torch::kFloat32).reshape({2, 4, 1});
  batch.fields[kAction] = torch::arange(8, torch::kInt64).reshape({2, 4}) % 2;
  batch.fields[kReward] = torch::ones({2, 4});
  batch.fields[kStepType] = torch::ones({2, 4}, torch::kInt32);
  batch.fields[kStepType][0][1] = static_cast<int32_t>(StepType::kLast);
  batch.fields[kItemLength] = torch::tensor({4, 3}, torch::kInt64);
  return batch;
}

TEST_CASE("an unroll's steps are those within its episodes", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(1, Discrete("action", 2));
  const Steps steps = StepsOf(environment, Unrolls(), /*with_actions=*/true);
  CHECK(torch::equal(steps.observation[0].flatten(), torch::tensor({0, 0, 2, 4, 5, 0}, torch::kFloat32)));
  CHECK(torch::equal(steps.next_observation[0].flatten(), torch::tensor({1, 0, 3, 5, 6, 0}, torch::kFloat32)));
  CHECK(torch::equal(steps.action, torch::tensor({0, 0, 0, 0, 1, 0}, torch::kInt64)));
  // The second row of the first unroll ends an episode, and the second unroll has three rows.
  CHECK(torch::equal(steps.counts, torch::tensor({1, 0, 1, 1, 1, 0}).to(torch::kBool)));
}

TEST_CASE("a window of one step shows it in its ends, and a longer one in all of its rows", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(1, Discrete("action", 2));
  TensorBatch batch;
  batch.size = 2;
  batch.fields[kObservation] = torch::tensor({{1.F}, {2.F}});
  batch.fields["next_observation"] = torch::tensor({{3.F}, {4.F}});
  batch.fields[kAction] = torch::tensor({0, 1}, torch::kInt64);
  batch.fields[kReward] = torch::zeros({2, 2});
  batch.fields[kItemLength] = torch::tensor({2, 2}, torch::kInt64);
  const Steps one = StepsOf(environment, batch, /*with_actions=*/true);
  CHECK(torch::equal(one.observation[0], batch.at(kObservation)));
  CHECK(torch::equal(one.next_observation[0], batch.at("next_observation")));
  CHECK(torch::equal(one.action, batch.at(kAction)));
  CHECK(one.counts.all().item<bool>());

  batch.fields[kReward] = torch::zeros({2, 3});
  batch.fields[kItemLength] = torch::tensor({3, 2}, torch::kInt64);
  batch.fields[AllRowsName(kObservation)] = torch::tensor({{{1.F}, {9.F}, {3.F}}, {{2.F}, {4.F}, {0.F}}});
  batch.fields[AllRowsName(kAction)] = torch::tensor({{0, 1, 1}, {1, 0, 0}}, torch::kInt64);
  const Steps two = StepsOf(environment, batch, /*with_actions=*/true);
  CHECK(torch::equal(two.observation[0].flatten(), torch::tensor({1, 9, 2, 0}, torch::kFloat32)));
  CHECK(torch::equal(two.next_observation[0].flatten(), torch::tensor({9, 3, 4, 0}, torch::kFloat32)));
  CHECK(torch::equal(two.action, torch::tensor({0, 1, 1, 0}, torch::kInt64)));
  CHECK(torch::equal(two.counts, torch::tensor({1, 1, 1, 0}).to(torch::kBool)));
}

TEST_CASE("rewards are weighed beside the bonus, and padding has none", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(1, Discrete("action", 2));
  IntrinsicOptions options;
  options.weight = 10;
  options.extrinsic_weight = 0.5;
  options.normalize = false;
  RewardMixer mixer("bonus", options, torch::kCPU);
  TensorBatch batch = Unrolls();
  const torch::Tensor before = batch.at(kReward);
  LocalStepper stepper;
  Noise noise(1, torch::kCPU);
  UpdateContext context(&stepper, Progress(), &noise);
  const Steps steps = StepsOf(environment, batch);
  mixer.Mix(environment, steps, torch::tensor({1.F, 100.F, 3.F, 4.F, 5.F, 100.F}), &batch, &context);
  CHECK(torch::equal(before, torch::ones({2, 4})));
  CHECK(torch::equal(batch.at(kReward), torch::tensor({{10.5F, 0.5F, 30.5F, 0.5F}, {40.5F, 50.5F, 0.5F, 0.5F}})));
  CHECK(context.TakeMetrics()[0].second.item<float>() == Approx(3.25F));
}

TEST_CASE("bonuses are divided by their deviation, if they are normalised", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(1, Discrete("action", 2));
  IntrinsicOptions options;
  options.extrinsic_weight = 0;
  RewardMixer mixer("bonus", options, torch::kCPU);
  LocalStepper stepper;
  Noise noise(1, torch::kCPU);
  UpdateContext context(&stepper, Progress(), &noise);
  TensorBatch batch = Unrolls();
  const Steps steps = StepsOf(environment, batch);
  const torch::Tensor bonus = torch::tensor({1000.F, 0.F, 3000.F, 1000.F, 3000.F, 0.F});
  mixer.Mix(environment, steps, bonus, &batch, &context);
  CHECK(batch.at(kReward)[0][0].item<float>() == Approx(1));
  CHECK(batch.at(kReward)[0][2].item<float>() == Approx(3));
  CHECK(batch.at(kReward)[0][1].item<float>() == 0);
}

}  // namespace
}  // namespace waggle
