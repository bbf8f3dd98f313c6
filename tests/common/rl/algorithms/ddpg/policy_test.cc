#include "common/rl/algorithms/ddpg/policy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::EnvironmentOf;
using testing::TraineeOf;
using torch::Tensor;

TEST_CASE("the scale of probabilities leaves a certain choice the best probability", "[unit]") {
  for (const auto& [choices, scale] : {std::pair<int64_t, double>(2, 2.944439), {4, 4.043051}, {10, 5.141664}}) {
    CHECK(ScaleOf(0.95, choices) == Approx(scale));
    Tensor certain = torch::zeros({choices}, torch::kFloat64);
    certain[0] = 1;
    CHECK((ScaleOf(0.95, choices) * certain).softmax(0)[0].item<double>() == Approx(0.95));
  }
  const Tensor drawn = (ScaleOf(0.95, 4) * torch::tensor({0.7, 0.1, 0.1, 0.1}, torch::kFloat64)).softmax(0);
  CHECK(torch::allclose(drawn, torch::tensor({0.790380, 0.069873, 0.069873, 0.069873}, torch::kFloat64), 0, 1e-6));
  CHECK(ScaleOf(0.95, 1) == 0);
}

// A policy of the trainee's networks, and observations.
struct Fixture {
  Fixture(const std::string& algorithm, const EnvironmentSpec& spec)
      : environment(spec), trainee(TraineeOf(algorithm, environment, torch::kFloat32)) {
    for (const NetworkNeed& need : trainee->plan().algorithm.networks) {
      if (need.acts) {
        nets.emplace(need.name, NetView(&trainee->model().net(need.name).network()));
      }
    }
  }

  DdpgPolicy Make(const DdpgOptions& options) const {
    return DdpgPolicy(options, {environment, torch::kCPU, 4'000, nets});
  }

  const EnvironmentSpec environment;
  const std::unique_ptr<AlgorithmTrainee> trainee;
  std::map<std::string, NetView> nets;
  const Observations observation = {torch::tensor({{2.0F, -1.0F, 0.5F}}).expand({4'000, 3}).contiguous()};
  Noise noise{3, torch::kCPU};
  ActingRows rows{observation, torch::arange(4'000), torch::zeros({4'000}, torch::kBool), false, &noise};
};

TEST_CASE("DDPG draws choices in proportion to the exponentials of scaled probabilities", "[unit]") {
  Fixture fixture("name: ddpg", EnvironmentOf(3, Discrete("action", 3)));
  DdpgOptions options;
  options.best_probability = 0.7;
  DdpgPolicy policy = fixture.Make(options);
  const torch::NoGradGuard no_grad;
  const Tensor own = fixture.nets.at("actor")(fixture.observation).policy().LogProbabilities().exp()[0];
  const Tensor wanted = (std::log(2 * 0.7 / 0.3) * own).softmax(0);
  const Tensor drawn = policy.Act(fixture.rows).action;
  for (int64_t choice = 0; choice < 3; ++choice) {
    CHECK((drawn == choice).to(torch::kFloat64).mean().item<double>() ==
          Approx(wanted[choice].item<double>()).margin(0.04));
  }
  fixture.rows.greedy = true;
  CHECK((policy.Act(fixture.rows).action == own.argmax()).all().item<bool>());
}

TEST_CASE("an item's first priority is the error of the critics that act", "[unit]") {
  for (const SpaceLeaf& action : {Discrete("action", 3), Box("action", DType::kFloat32, {2}, -1, 1)}) {
    Fixture fixture("name: ddpg, critics: 2, discount: 0.5, initial_priority: td_error", EnvironmentOf(3, action));
    const AlgorithmPlan& plan = fixture.trainee->plan().algorithm;
    REQUIRE(plan.private_columns == std::vector<std::string>{"q_taken", "q_max"});
    DdpgPolicy policy = fixture.Make(DdpgOptions());
    const torch::NoGradGuard no_grad;
    Acted acted = policy.Act(fixture.rows);
    const bool is_choice = action.kind == SpaceKind::kDiscrete;
    const Tensor taken = is_choice ? torch::ones({4'000}, torch::kInt64) : torch::full({4'000, 2}, 0.5F);
    policy.AddColumns(fixture.rows, taken, &acted);
    const NetView& critic = fixture.nets.at("critic");
    const Output actor = fixture.nets.at("actor")(fixture.observation);
    Tensor q_taken;
    Tensor q_own;
    if (is_choice) {
      const Tensor q = critic(fixture.observation).vector("value");  // [critics, rows, choices].
      q_taken = q.select(-1, 1);
      q_own = (q * actor.policy().LogProbabilities().exp()).sum(-1);
    } else {
      q_taken = critic(fixture.observation, taken).value();
      q_own = critic(fixture.observation, actor.action()).value();
    }
    const auto least = [](const Tensor& q) { return std::min(q[0][0].item<float>(), q[1][0].item<float>()); };
    CHECK(acted.columns.at("q_taken")[0].item<float>() == Approx(least(q_taken)));
    CHECK(acted.columns.at("q_max")[0].item<float>() == Approx(least(q_own)));
    const float numbers[] = {1, 7, 5, 3};
    const std::vector<WindowRow> window = {{2, 1, numbers, true}, {0, 1, numbers + 2, false}};
    CHECK(plan.tables[0].initial_priority(window.data(), 2) == Approx(2 + 0.5 * 3 - 1));
  }
}

}  // namespace
}  // namespace waggle
