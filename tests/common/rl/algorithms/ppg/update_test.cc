#include <algorithm>
#include <functional>

#include "tests/support/state_copy.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;
using torch::Tensor;

constexpr char kSmall[] =
    "name: ppg, unroll: 5, epochs: 1, minibatches: 1, auxiliary_epochs: 2, clone_weight: 3, discount: 0.9, lambda: "
    "0.7, "
    "normalize_returns: false, policy_phases: ";

const Net& NetOf(AlgorithmTrainee* trainee) {
  return trainee->model().net("actor_critic");
}

// Keeps the gradients, and moves the values by `move` of the step's number, counted from 1.
class MovingStepper : public Stepper {
 public:
  explicit MovingStepper(std::function<void(int step, Tensor values)> move) : move_(std::move(move)) {}
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress&) override {
    const torch::NoGradGuard no_grad;
    gradients.push_back(group->gradients().clone());
    move_(static_cast<int>(gradients.size()), group->values());
    return true;
  }

  std::vector<Tensor> gradients;

 private:
  const std::function<void(int step, Tensor values)> move_;
};

std::vector<double> Losses(const UpdateResult& result) {
  std::vector<double> losses;
  for (const auto& [name, value] : result.metrics) {
    if (name == "actor_critic_loss") {
      losses.push_back(value.item<double>());
    }
  }
  return losses;
}

// The auxiliary phase's loss over the counted steps of a batch, whose value targets and policy are those of `before`.
double LossOf(const Network& network, const EnvironmentSpec& environment, const TensorBatch& batch,
              const std::vector<ReferenceStep>& before, const Distribution& policy_before) {
  const torch::NoGradGuard no_grad;
  const Unrolls u = UnrollsOf(Batches(&environment, {{"", &batch}}), 0.9);
  const Output out = Forward(network, u.observation);
  const Tensor moved = out.policy().DivergenceFrom(policy_before);
  const auto steps = testing::ReferenceSteps(network, environment, batch, 0.9, 0.7);
  double loss = 0;
  size_t next = 0;
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t t = 0; t < 5; ++t) {
      if (!u.counts[t][row].item<bool>()) {
        continue;
      }
      const double target = before[next].value_target;
      const double value = steps[next].value - target;
      const double auxiliary = out.value("value_auxiliary")[t][row].item<double>() - target;
      loss += 0.5 * value * value + 0.5 * auxiliary * auxiliary + 3 * moved[t][row].item<double>();
      ++next;
    }
  }
  REQUIRE(next == before.size());
  return loss / static_cast<double>(next);
}

TEST_CASE("PPG's auxiliary phase has the losses of a loop over the steps of all policy phases", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const auto trainee = ActorCriticOf(std::string(kSmall) + "2", environment);
    const Network& network = NetOf(trainee.get()).network();
    std::vector<TensorBatch> batches = {RandomUnrolls(environment, 3), RandomUnrolls(environment, 4)};
    // The first policy phase moves the network, and the second step of the auxiliary phase.
    std::vector<std::vector<ReferenceStep>> before;
    std::vector<Distribution> policies;
    std::vector<double> expected;
    const auto expect = [&] {
      std::vector<double> losses;
      for (size_t i = 0; i < batches.size(); ++i) {
        losses.push_back(LossOf(network, environment, batches[i], before[i], policies[i]));
      }
      std::sort(losses.begin(), losses.end());
      expected.insert(expected.end(), losses.begin(), losses.end());
    };
    MovingStepper stepper([&](int step, Tensor values) {
      if (step == 1 || step == 4) {
        values.add_(0.1 * torch::sin(torch::arange(values.numel(), values.options())));
      }
      if (step == 2) {
        for (const TensorBatch& batch : batches) {
          const torch::NoGradGuard no_grad;
          const Unrolls u = UnrollsOf(Batches(&environment, {{"", &batch}}), 0.9);
          policies.push_back(Forward(network, u.observation).policy());
        }
        expect();
      }
      if (step == 4) {
        expect();
      }
    });
    for (const TensorBatch& batch : batches) {
      before.push_back(testing::ReferenceSteps(network, environment, batch, 0.9, 0.7));
      std::vector<double> losses = Losses(Updated(trainee.get(), batch, &stepper));
      if (before.size() == 1) {
        CHECK(losses.size() == 1);
        continue;
      }
      REQUIRE(losses.size() == 5);
      std::sort(losses.begin() + 1, losses.begin() + 3);
      std::sort(losses.begin() + 3, losses.end());
      for (size_t i = 0; i < 4; ++i) {
        CHECK(losses[i + 1] == Approx(expected[i]));
      }
      CHECK(losses[3] != Approx(losses[1]));
    }
    // The count of phases begins at 0 again.
    CHECK(Losses(Updated(trainee.get(), batches[0], &stepper)).size() == 1);
  }
}

TEST_CASE("the gradient of PPG's auxiliary phase is finite differences of its loss", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const auto trainee = ActorCriticOf(std::string(kSmall) + "1", environment);
    const TensorBatch batch = RandomUnrolls(environment, 3);
    testing::StateCopy start;
    trainee->VisitState(start.Saver());
    // The last descent, from a policy that has moved away from the one before the phase.
    const auto last = [&](int64_t element, double change) {
      trainee->VisitState(start.Loader());
      MovingStepper stepper([&](int step, Tensor values) {
        if (step == 2) {
          values.add_(0.1 * torch::sin(torch::arange(values.numel(), values.options())));
          values[element] += change;
        }
      });
      const double loss = Losses(Updated(trainee.get(), batch, &stepper)).back();
      REQUIRE(stepper.gradients.size() == 3);
      return std::make_pair(loss, stepper.gradients.back());
    };
    const Tensor gradient = last(0, 0).second;
    for (int64_t i = 0; i < gradient.numel(); ++i) {
      const double difference = (last(i, 1e-6).first - last(i, -1e-6).first) / 2e-6;
      CHECK(gradient[i].item<double>() == Approx(difference).margin(1e-7).epsilon(1e-5));
    }
  }
}

// Only the auxiliary phase shows the policy's layers the values.
TEST_CASE("PPG's policy phase is PPO's update", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  const std::string same = ", unroll: 5, epochs: 3, minibatches: 2, lambda: 0.7, entropy: {weight: 0.02}";
  const auto ppg = ActorCriticOf("name: ppg" + same, environment);
  const auto ppo = ActorCriticOf("name: ppo" + same, environment);
  // PPO's parameters begin as PPG's of the same names.
  const FlatParameters& from = NetOf(ppg.get()).network().parameters();
  const FlatParameters& to = NetOf(ppo.get()).network().parameters();
  const auto compare = [&](bool copy) {
    size_t shared = 0;
    for (size_t i = 0; i < to.layout().size(); ++i) {
      for (size_t k = 0; k < from.layout().size(); ++k) {
        if (from.layout()[k].name == to.layout()[i].name) {
          Tensor value = to.value_views()[i];
          ++shared;
          if (copy) {
            value.copy_(from.value_views()[k]);
          } else {
            CHECK(torch::allclose(value, from.value_views()[k], 1e-9, 1e-12));
          }
        }
      }
    }
    CHECK(shared == to.layout().size());
  };
  compare(/*copy=*/true);
  LocalStepper stepper;
  Updated(ppg.get(), RandomUnrolls(environment, 3), &stepper);
  Updated(ppo.get(), RandomUnrolls(environment, 3), &stepper);
  compare(/*copy=*/false);
}

}  // namespace
}  // namespace waggle
