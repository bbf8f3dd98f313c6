#include <algorithm>
#include <set>

#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActedBy;
using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;

// One pass over all steps at once, without clips.
constexpr char kOnePass[] = "name: ppo, unroll: 5, epochs: 1, minibatches: 1, discount: 0.9, lambda: 0.7";

EnvironmentSpec Choices() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

const Net& NetOf(AlgorithmTrainee* trainee) {
  return trainee->model().net("actor_critic");
}

// Keeps each gradient of the network, and moves its parameters by a tenth after the first.
class MovingStepper : public Stepper {
 public:
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress&) override {
    gradients.push_back(group->gradients().clone());
    if (gradients.size() == 1) {
      torch::Tensor values = group->values();
      values.add_(0.1);
    }
    return true;
  }

  std::vector<torch::Tensor> gradients;
};

// The loss by definition, with a clip of 0.3, value_weight 0.3 and an entropy weight of 0.02. `before` has the values
// before the first pass, and the advantages in their final form. Each value has several estimates.
double LossOf(const std::vector<ReferenceStep>& steps, const std::vector<ReferenceStep>& before, double value_clip) {
  double loss = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double ratio = std::exp(steps[i].log_prob - steps[i].acted_log_prob);
    const double advantage = before[i].advantage;
    const double clipped = ratio < 0.7 ? 0.7 : ratio > 1.3 ? 1.3 : ratio;
    for (size_t k = 0; k < steps[i].estimates.size(); ++k) {
      const double estimate = steps[i].estimates[k];
      const double moved = std::clamp(estimate - before[i].estimates[k], -value_clip, value_clip);
      const double error = estimate - before[i].value_target;
      const double clipped_error = before[i].estimates[k] + moved - before[i].value_target;
      loss +=
          0.3 * std::max(error * error, clipped_error * clipped_error) / static_cast<double>(steps[i].estimates.size());
    }
    loss -= std::min(ratio * advantage, clipped * advantage) + 0.02 * steps[i].entropy;
  }
  return loss / static_cast<double>(steps.size());
}

TEST_CASE("PPO's losses of two passes are those of a loop over the steps that count", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    for (const bool normalize : {false, true}) {
      for (const std::string value_clip : {"", "0.05"}) {
        const auto trainee = ActorCriticOf(
            "name: ppo, unroll: 5, epochs: 2, minibatches: 1, discount: 0.9, lambda: 0.7, value_weight: 0.3, clip: "
            "0.3, entropy: {weight: 0.02}, normalize_returns: false, normalize_advantages: " +
                std::string(normalize ? "true, advantage_clip: 0.4, value_replicas: 3" : "false") +
                (value_clip.empty() ? "" : ", value_clip: " + value_clip),
            environment);
        const TensorBatch batch = RandomUnrolls(environment, 3);
        const auto steps = [&] {
          return testing::ReferenceSteps(NetOf(trainee.get()).network(), environment, batch, 0.9, 0.7);
        };
        std::vector<ReferenceStep> before = steps();
        REQUIRE(before.size() == 4 * 5 - 3);
        if (normalize) {
          testing::Standardize(&before);
          for (ReferenceStep& step : before) {
            step.advantage = std::clamp(step.advantage, -0.4, 0.4);
          }
        }
        const double clip = value_clip.empty() ? 1e9 : std::stod(value_clip);
        const double first = LossOf(before, before, clip);
        MovingStepper stepper;
        const UpdateResult result = Updated(trainee.get(), batch, &stepper);
        const double second = LossOf(steps(), before, clip);
        std::vector<double> losses;
        for (const auto& [name, value] : result.metrics) {
          if (name == "actor_critic_loss") {
            losses.push_back(value.item<double>());
          }
        }
        REQUIRE(losses.size() == 2);
        CHECK(losses[0] == Approx(first));
        CHECK(losses[1] == Approx(second));
        if (!value_clip.empty()) {
          CHECK(second != Approx(LossOf(steps(), before, 1e9)));  // The clip made a difference.
        }
      }
    }
  }
}

TEST_CASE("one pass of PPO over its policy's newest actions has A2C's gradient", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const std::string same = ", value_weight: 0.3, normalize_advantages: true, entropy: {weight: 0.02}";
    const auto ppo = ActorCriticOf(kOnePass + same, environment);
    const auto a2c = ActorCriticOf("name: a2c, unroll: 5, discount: 0.9, lambda: 0.7" + same, environment);
    REQUIRE(torch::equal(NetOf(ppo.get()).group()->values(), NetOf(a2c.get()).group()->values()));
    const TensorBatch batch = ActedBy(ppo->model(), RandomUnrolls(environment, 4), 0);
    CaptureStepper by_ppo, by_a2c;
    const UpdateResult result = Updated(ppo.get(), batch, &by_ppo);
    Updated(a2c.get(), batch, &by_a2c);
    CHECK(torch::allclose(by_ppo.gradients().at("actor_critic"), by_a2c.gradients().at("actor_critic"), 1e-9, 1e-12));
    CHECK(Metric(result, "divergence") == Approx(0).margin(1e-12));
    CHECK(Metric(result, "clip_fraction") == 0);
  }
}

TEST_CASE("PPO gains nothing by moving past the clip, and may come back from there", "[unit]") {
  const auto trainee = ActorCriticOf(
      std::string(kOnePass) + ", clip: 0.2, value_weight: 0, normalize_advantages: false, entropy: {weight: 0}",
      Choices());
  const TensorBatch batch = RandomUnrolls(Choices(), 4);
  const auto steps = testing::ReferenceSteps(NetOf(trainee.get()).network(), Choices(), batch, 0.9, 0.7);
  torch::Tensor signs = torch::zeros({4, 6}, torch::kFloat64);
  const torch::Tensor counts = batch.at(kStepType).narrow(1, 0, 5) != 2;
  size_t next = 0;
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t t = 0; t < 5; ++t) {
      if (counts[row][t].item<bool>()) {
        signs[row][t] = steps[next++].advantage > 0 ? 1 : -1;
      }
    }
  }
  // The ratio is e where the advantage is positive, and 1 / e where it is negative; and the other way round.
  CaptureStepper past, back;
  const UpdateResult result = Updated(trainee.get(), ActedBy(trainee->model(), batch, -signs), &past);
  CHECK(past.gradients().at("actor_critic").abs().max().item<double>() == 0);
  CHECK(Metric(result, "clip_fraction") == 1);
  Updated(trainee.get(), ActedBy(trainee->model(), batch, signs), &back);
  CHECK(back.gradients().at("actor_critic").abs().max().item<double>() > 1e-3);
}

TEST_CASE("PPO's passes end once the policy is too far from the one that acted", "[unit]") {
  const auto steps = [](const std::string& max_divergence, const TensorBatch& batch) {
    const auto trainee = ActorCriticOf("name: ppo, unroll: 5, epochs: 3, minibatches: 2" + max_divergence, Choices());
    MovingStepper stepper;
    Updated(trainee.get(), batch, &stepper);
    return stepper.gradients.size();
  };
  const TensorBatch far = RandomUnrolls(Choices(), 4);
  CHECK(steps("", far) == 6);
  CHECK(steps(", max_divergence: 100", far) == 6);
  CHECK(steps(", max_divergence: 0.001", far) == 0);
  // The policy begins as the one that acted, and moves away in the first step.
  const auto same = ActorCriticOf(kOnePass, Choices());
  CHECK(steps(", max_divergence: 1e-6", ActedBy(same->model(), far, 0)) == 1);
}

// Makes each step of an unroll a number, on a network that is linear in it: the value's gradient tells the steps of a
// minibatch.
TEST_CASE("PPO's minibatches have every step once a pass, in a new order each time", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(24, Discrete("action", 4));
  const auto trainee =
      testing::TraineeOn("{actor_critic: {torso: [], heads: {value: {shares: nothing}}}}",
                         "name: ppo, unroll: 5, epochs: 3, minibatches: 3, optimizer: {gradient_clip_norm: 0}",
                         environment, torch::kFloat64, 1);
  TensorBatch batch = RandomUnrolls(environment, 4);
  batch.fields[kObservation] = torch::eye(24, torch::kFloat64).view({4, 6, 24});
  MovingStepper stepper;
  Updated(trainee.get(), batch, &stepper);
  REQUIRE(stepper.gradients.size() == 9);
  std::set<int64_t> counting;
  for (int64_t step = 0; step < 24; ++step) {
    if (step % 6 < 5 && batch.at(kStepType).flatten()[step].item<int32_t>() != 2) {
      counting.insert(step);
    }
  }
  ParameterGroup* const group = NetOf(trainee.get()).group();
  std::vector<std::set<int64_t>> minibatches;
  for (const torch::Tensor& gradient : stepper.gradients) {
    minibatches.emplace_back();
    int64_t step = 0;
    for (int64_t i = 0; i < gradient.numel(); ++i) {
      if (testing::IsValues(*group, i) && step < 24 && gradient[i].item<double>() != 0) {
        minibatches.back().insert(step);
      }
      step += testing::IsValues(*group, i) ? 1 : 0;
    }
  }
  for (size_t pass = 0; pass < 3; ++pass) {
    std::multiset<int64_t> seen;
    for (size_t i = 3 * pass; i < 3 * pass + 3; ++i) {
      seen.insert(minibatches[i].begin(), minibatches[i].end());
      CHECK(minibatches[i].size() <= 7);
    }
    CHECK(seen == std::multiset<int64_t>(counting.begin(), counting.end()));
  }
  CHECK(minibatches[0] != minibatches[3]);
  CHECK(minibatches[3] != minibatches[6]);
}

// If the states of a core did not follow their unrolls, the policy would differ from the one that acted.
TEST_CASE("PPO's minibatches of a network with a core are whole unrolls, each with its first state", "[unit]") {
  for (const std::string minibatches : {"1", "2"}) {
    const auto trainee = testing::TraineeOn("{actor_critic: {core: {type: lstm, units: 5}}}",
                                            "name: ppo, unroll: 5, epochs: 3, minibatches: " + minibatches, Choices(),
                                            torch::kFloat64, 1);
    TensorBatch batch = RandomUnrolls(Choices(), 4);
    batch.fields[kCoreState] = torch::randn({4, trainee->plan().acting()[0]->state_size}, torch::kFloat64);
    const Output acted = NetOf(trainee.get())
                             .Unroll({batch.at(kObservation).transpose(0, 1)},
                                     (batch.at(kStepType) == 0).transpose(0, 1), batch.at(kCoreState));
    batch.fields["log_prob"] = acted.policy().LogProb(batch.at(kAction).transpose(0, 1)).transpose(0, 1).detach();
    CaptureStepper stepper;
    int divergences = 0;
    for (const auto& [name, value] : Updated(trainee.get(), batch, &stepper).metrics) {
      if (name == "divergence") {
        ++divergences;
        CHECK(value.item<double>() == Approx(0).margin(1e-12));
      }
    }
    CHECK(divergences == 3 * std::stoi(minibatches));
  }
}

}  // namespace
}  // namespace waggle
