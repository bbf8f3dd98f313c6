#include "common/rl/acting/explorer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/rl/kit/noise.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

ExplorationOptions Options(const std::string& type) {
  ExplorationOptions options;
  options.type = type;
  return options;
}

JointAction Joint(std::vector<SpaceLeaf> actions) {
  EnvironmentSpec environment;
  environment.actions = std::move(actions);
  return JointActionOf(environment);
}

Explorer Choosing(const ExplorationOptions& options, int64_t lanes = 1) {
  return Explorer(options, Joint({Discrete("action", 3)}), {lanes, 0, lanes, 0}, 7);
}

// The share of each of three choices.
std::map<int64_t, double> Shares(Explorer* explorer, const std::vector<float>& values, int64_t best,
                                 const bool* legal = nullptr, int64_t slot = 0) {
  std::map<int64_t, double> shares;
  const int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    shares[explorer->Choose(slot, values.data(), 3, best, legal)] += 1.0 / draws;
  }
  return shares;
}

TEST_CASE("a lane strays as often as its epsilon says, to legal choices alone", "[unit]") {
  ExplorationOptions options = Options("epsilon_greedy");
  options.epsilon = 0.6;
  options.ladder_exponent = 1;
  Explorer explorer = Choosing(options, /*lanes=*/2);
  CHECK(Shares(&explorer, {1, 2, 3}, 2, nullptr, 0)[0] == Approx(0.2).margin(0.02));
  CHECK(Shares(&explorer, {1, 2, 3}, 2, nullptr, 1)[0] == Approx(0.36 / 3).margin(0.02));
  const bool legal[3] = {true, false, true};
  std::map<int64_t, double> shares = Shares(&explorer, {1, 2, 3}, 2, legal, 0);
  CHECK(shares[0] == Approx(0.3).margin(0.02));
  CHECK(shares.count(1) == 0);
}

TEST_CASE("the ladder does not depend on the order in which actors join", "[unit]") {
  ExplorationOptions options = Options("epsilon_greedy");
  options.epsilon = 0.5;
  options.ladder_exponent = 2;
  // The first of two actors, with one lane each, joined alone: it knew one lane.
  Explorer first(options, Joint({Discrete("action", 3)}), {1, 0, 1, 0}, 7);
  Explorer second(options, Joint({Discrete("action", 3)}), {1, 1, 2, 0}, 7);
  Explorer third(options, Joint({Discrete("action", 3)}), {1, 2, 3, 0}, 7);
  for (Explorer* const explorer : {&first, &second, &third}) {
    Shares(explorer, {1, 2, 3}, 2);
    explorer->SetAllLanes(3);
  }
  CHECK(Shares(&first, {1, 2, 3}, 2, nullptr, 0)[0] == Approx(0.5 / 3).margin(0.02));
  CHECK(Shares(&second, {1, 2, 3}, 2, nullptr, 0)[0] == Approx(0.25 / 3).margin(0.02));
  CHECK(Shares(&third, {1, 2, 3}, 2, nullptr, 0)[0] == Approx(0.125 / 3).margin(0.02));
}

TEST_CASE("every lane's epsilon moves with its schedule", "[unit]") {
  ExplorationOptions options = Options("epsilon_greedy");
  options.epsilon = Schedule::Linear(0.9, 0.3);
  options.ladder_exponent = 1;
  Explorer explorer = Choosing(options, /*lanes=*/2);
  CHECK(Shares(&explorer, {1, 2, 3}, 2, nullptr, 1)[0] == Approx(0.81 / 3).margin(0.02));
  explorer.SetProgress({1, 0, 0});
  CHECK(Shares(&explorer, {1, 2, 3}, 2, nullptr, 1)[0] == Approx(0.09 / 3).margin(0.02));
  CHECK(Shares(&explorer, {1, 2, 3}, 2, nullptr, 0)[0] == Approx(0.3 / 3).margin(0.02));
}

TEST_CASE("an explorer takes other numbers of its type", "[unit]") {
  ExplorationOptions options = Options("epsilon_greedy");
  options.epsilon = 0;
  Explorer explorer = Choosing(options);
  CHECK(Shares(&explorer, {1, 2, 3}, 2)[2] == Approx(1));
  options.epsilon = 0.6;
  explorer.SetOptions(options);
  CHECK(Shares(&explorer, {1, 2, 3}, 2)[0] == Approx(0.2).margin(0.02));
}

TEST_CASE("boltzmann draws in proportion to the values' exponentials", "[unit]") {
  ExplorationOptions options = Options("boltzmann");
  options.temperature = 2;
  Explorer explorer = Choosing(options);
  std::map<int64_t, double> shares = Shares(&explorer, {0, 2, 4}, 2);
  const double sum = 1 + std::exp(1) + std::exp(2);
  CHECK(shares[0] == Approx(1 / sum).margin(0.02));
  CHECK(shares[1] == Approx(std::exp(1) / sum).margin(0.02));
  const bool legal[3] = {true, true, false};
  CHECK(Shares(&explorer, {0, 2, 4}, 1, legal).count(2) == 0);
}

TEST_CASE("a warm-up is uniform, until the run's lanes together have taken its steps", "[unit]") {
  ExplorationOptions options = Options("none");
  options.warm_up_steps = 40;
  // Four of the run's eight lanes are here: after five steps of each, the run has had forty. The first row of an
  // episode is no step.
  Explorer explorer(options, Joint({Discrete("action", 3)}), {4, 0, 8, 0}, 7);
  for (int step = 0; step < 5; ++step) {
    CHECK(explorer.progress().env_steps == 8 * step);
    CHECK(Shares(&explorer, {1, 2, 3}, 2)[0] == Approx(1.0 / 3).margin(0.02));
    explorer.Advance(std::vector<uint8_t>(4, 1));
    CHECK(explorer.progress().env_steps == 8 * step);
    explorer.Advance(std::vector<uint8_t>(4, 0));
  }
  CHECK(explorer.progress().env_steps == 40);
  CHECK(Shares(&explorer, {1, 2, 3}, 2).count(0) == 0);
  // A restarted explorer continues. Weights may know of more steps than its own.
  Explorer again(options, Joint({Discrete("action", 3)}), {4, 0, 8, 5}, 7);
  CHECK(Shares(&again, {1, 2, 3}, 2).count(0) == 0);
  Explorer told(options, Joint({Discrete("action", 3)}), {4, 0, 8, 0}, 7);
  told.SetProgress({0.5, 10, 1'000});
  CHECK(told.progress().env_steps == 1'000);
  CHECK(Shares(&told, {1, 2, 3}, 2).count(0) == 0);
}

TEST_CASE("noise on real actions has its deviation", "[unit]") {
  const JointAction action = Joint({Box("action", DType::kFloat32, {2}, -1, 1)});
  const torch::Tensor slots = torch::arange(4);
  const torch::Tensor first = torch::zeros({4}, torch::kBool);
  ExplorationOptions options = Options("gaussian");
  options.sigma = 0.1;
  Explorer gaussian(options, action, {4, 0, 4, 0}, 3);
  std::vector<torch::Tensor> drawn;
  for (int i = 0; i < 1'000; ++i) {
    drawn.push_back(gaussian.Explore(torch::full({4, 2}, 0.2F), slots, first));
  }
  CHECK(torch::stack(drawn).std().item<double>() == Approx(0.1).margin(0.005));
  CHECK(torch::stack(drawn).mean().item<double>() == Approx(0.2).margin(0.005));

  options = Options("ornstein_uhlenbeck");
  options.sigma = 1;
  options.theta = 0.5;
  options.time_step = 0.1;
  Explorer drift(options, action, {4, 0, 4, 0}, 3);
  const torch::Tensor one = drift.Explore(torch::zeros({4, 2}), slots, first);
  const torch::Tensor two = drift.Explore(torch::zeros({4, 2}), slots, first);
  // A step adds a deviation of sigma * sqrt(time_step) to the earlier noise.
  CHECK((two - one * 0.95).abs().max().item<double>() < 5 * std::sqrt(0.1));
  CHECK_FALSE(torch::equal(one, two));
}

TEST_CASE("a type's noise is its numbers, and rows beyond the action's range are cut to it", "[unit]") {
  const JointAction action = Joint({Box("action", DType::kFloat32, {2}, -1, 1)});
  ExplorationOptions options;
  options.mean = 0.2;
  options.sigma = 0.4;
  options.low = -0.1;
  options.high = 0.5;
  options.theta = 0.5;
  options.time_step = 0.25;
  options.initial = -0.3;
  const torch::Tensor slots = torch::arange(3);
  const torch::Tensor first = torch::ones({3}, torch::kBool);
  const torch::Tensor actions = torch::tensor({{0.0F, 0.1F}, {-0.2F, 0.3F}, {0.9F, -0.9F}});
  const auto explore = [&](const std::string& type) {
    options.type = type;
    return Explorer(options, action, {3, 0, 3, 0}, 3).Explore(actions, slots, first);
  };
  const torch::Tensor gaussian = explore("gaussian");
  const torch::Tensor clipped = explore("clipped_gaussian");
  const torch::Tensor average = explore("moving_average");
  const torch::Tensor drift = explore("ornstein_uhlenbeck");
  const torch::Tensor uniform = explore("uniform");
  // The same draws, from the explorer's own stream.
  Noise draws(Rng::Split(3, "exploration", 0).Next(), torch::kCPU);
  const torch::Tensor normal = draws.NormalLike(actions);
  Noise others(Rng::Split(3, "exploration", 0).Next(), torch::kCPU);
  const torch::Tensor share = others.UniformLike(actions);
  bool cut = false;
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < 2; ++i) {
      const double own = actions[row][i].item<double>();
      const double noise = 0.2 + 0.4 * normal[row][i].item<double>();
      cut = cut || noise < -0.1 || noise > 0.5;
      const auto wanted = [&](double added) { return Approx(std::clamp(own + added, -1.0, 1.0)).margin(1e-6); };
      CHECK(gaussian[row][i].item<double>() == wanted(noise));
      CHECK(average[row][i].item<double>() == wanted(noise));  // The first step of an episode.
      CHECK(clipped[row][i].item<double>() == wanted(std::clamp(noise, -0.1, 0.5)));
      CHECK(uniform[row][i].item<double>() == wanted(-0.1 + 0.6 * share[row][i].item<double>()));
      CHECK(drift[row][i].item<double>() ==
            wanted(-0.3 + 0.5 * (0.2 + 0.3) * 0.25 + 0.4 * 0.5 * normal[row][i].item<double>()));
    }
  }
  CHECK(cut);
}

TEST_CASE("each lane's noise has the deviation of its rung", "[unit]") {
  const JointAction action = Joint({Box("action", DType::kFloat32, {2}, -1, 1)});
  const torch::Tensor slots = torch::tensor({1, 0}, torch::kInt64);
  const torch::Tensor first = torch::zeros({2}, torch::kBool);
  for (const char* const type : {"gaussian", "clipped_gaussian", "ornstein_uhlenbeck"}) {
    INFO(type);
    ExplorationOptions options = Options(type);
    options.sigma = 0.5;
    options.ladder_exponent = 2;
    options.low = -1;
    options.high = 1;
    options.theta = 1;
    options.time_step = 1;  // Forgets the step before.
    // The first two of three lanes.
    Explorer explorer(options, action, {2, 0, 3, 0}, 3);
    std::vector<torch::Tensor> drawn;
    for (int i = 0; i < 2'000; ++i) {
      drawn.push_back(explorer.Explore(torch::zeros({2, 2}), slots, first));
    }
    const torch::Tensor deviation = torch::stack(drawn).square().mean(c10::IntArrayRef{0, 2}).sqrt();
    CHECK(deviation[0].item<double>() == Approx(0.25).margin(0.02));
    CHECK(deviation[1].item<double>() == Approx(0.47).margin(0.04));  // 0.5, cut at 1.
  }
}

TEST_CASE("a share of actions is uniformly random in place of noise", "[unit]") {
  ExplorationOptions options = Options("gaussian");
  options.sigma = 0;
  options.random_share = 0.3;
  Explorer explorer(options, Joint({Box("action", DType::kFloat32, {2}, -1, 1)}), {4, 0, 4, 0}, 3);
  std::vector<torch::Tensor> drawn;
  for (int i = 0; i < 2'000; ++i) {
    drawn.push_back(explorer.Explore(torch::full({4, 2}, 0.5), torch::arange(4), torch::zeros({4}, torch::kBool)));
  }
  const torch::Tensor all = torch::cat(drawn);
  const torch::Tensor strays = (all != 0.5).all(1);
  CHECK(torch::equal(strays, (all != 0.5).any(1)));  // Whole actions.
  CHECK(strays.to(torch::kFloat64).mean().item<double>() == Approx(0.3).margin(0.02));
  const torch::Tensor random = all.index({strays});
  CHECK(random.mean().item<double>() == Approx(0).margin(0.04));
  CHECK(random.square().mean().item<double>() == Approx(1.0 / 3).margin(0.02));
}

TEST_CASE("a warm-up chooses among the legal choices of each element", "[unit]") {
  ExplorationOptions options;
  options.warm_up_steps = 1'000'000;
  Explorer explorer(options, Joint({MultiDiscrete("action", {3, 2})}), ExplorerLanes{2, 0, 2, 0}, 1);
  const torch::Tensor actions = torch::zeros({2, 2}, torch::kInt64);
  const torch::Tensor slots = torch::arange(2);
  const torch::Tensor first = torch::zeros({2}, torch::kBool);
  // The second row's first element has no legal choice, so all count.
  const torch::Tensor mask =
      torch::tensor({{0, 1, 1, 1, 0}, {0, 0, 0, 0, 1}}, torch::kInt64).to(torch::kBool).contiguous();
  std::set<int64_t> chosen[4];
  for (int round = 0; round < 100; ++round) {
    const torch::Tensor random = explorer.Explore(actions, slots, first, mask);
    for (int64_t i = 0; i < 4; ++i) {
      chosen[i].insert(random.view({-1})[i].item<int64_t>());
    }
  }
  CHECK(chosen[0] == std::set<int64_t>{1, 2});
  CHECK(chosen[1] == std::set<int64_t>{0});
  CHECK(chosen[2] == std::set<int64_t>{0, 1, 2});
  CHECK(chosen[3] == std::set<int64_t>{1});
}

TEST_CASE("a warm-up draws both choices and real numbers, without noise", "[unit]") {
  ExplorationOptions options;
  options.warm_up_steps = 1'000'000;
  const JointAction action =
      Joint({Box("action/a", DType::kFloat32, {2}), Discrete("action/b", 3), MultiBinary("action/c", {1})});
  Explorer explorer(options, action, ExplorerLanes{2, 0, 2, 0}, 1);
  const torch::Tensor actions = torch::zeros({2, 4});
  const torch::Tensor slots = torch::arange(2);
  const torch::Tensor first = torch::zeros({2}, torch::kBool);
  const torch::Tensor mask = torch::tensor({{0, 1, 1, 1, 1}, {1, 0, 0, 1, 0}}).to(torch::kBool).contiguous();
  std::set<float> chosen[4];
  double least = 1;
  double most = -1;
  for (int round = 0; round < 100; ++round) {
    const torch::Tensor random = explorer.Explore(actions, slots, first, mask);
    REQUIRE(random.sizes() == at::IntArrayRef{2, 4});
    REQUIRE(random.scalar_type() == torch::kFloat32);
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < 2; ++i) {
        chosen[2 * row + i].insert(random[row][i].item<float>());
      }
    }
    least = std::min(least, random.narrow(1, 2, 2).min().item<double>());
    most = std::max(most, random.narrow(1, 2, 2).max().item<double>());
  }
  CHECK(chosen[0] == std::set<float>{1, 2});
  CHECK(chosen[1] == std::set<float>{0, 1});
  CHECK(chosen[2] == std::set<float>{0});
  CHECK(chosen[3] == std::set<float>{0});
  CHECK((least >= -1 && least < -0.9));
  CHECK((most <= 1 && most > 0.9));
  for (const char* const type : {"none", "gaussian"}) {
    ExplorationOptions noisy;
    noisy.type = type;
    Explorer other(noisy, action, ExplorerLanes{2, 0, 2, 0}, 1);
    CHECK(torch::equal(other.Explore(actions, slots, first, mask), actions));
  }
}

TEST_CASE("real actions stay in [-1, 1], in a warm-up and with noise", "[unit]") {
  for (const char* const type : {"none", "gaussian", "ornstein_uhlenbeck"}) {
    for (const int64_t warm_up : {int64_t{0}, int64_t{1'000'000}}) {
      INFO(type << ", " << warm_up);
      ExplorationOptions options;
      options.type = type;
      options.sigma = 2;
      options.warm_up_steps = warm_up;
      Explorer explorer(options, Joint({Box("action", DType::kFloat32, {2}, -1, 1)}), ExplorerLanes{4, 0, 4, 0}, 1);
      double furthest = 0;
      for (int round = 0; round < 200; ++round) {
        explorer.Advance(std::vector<uint8_t>(4, 0));
        const torch::Tensor explored =
            explorer.Explore(torch::zeros({4, 2}), torch::arange(4), torch::zeros({4}, torch::kBool));
        REQUIRE(explored.sizes() == at::IntArrayRef{4, 2});
        furthest = std::max(furthest, explored.abs().max().item<double>());
      }
      CHECK(furthest <= 1);
      const bool is_moved = warm_up > 0 || options.type != "none";
      CHECK((furthest > 0.5) == is_moved);
    }
  }
}

}  // namespace
}  // namespace waggle
