#include "actor/evaluation/evaluator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "actor/acting/scripted_policy.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/environments/threaded_environments.h"
#include "tests/actor/fakes.h"
#include "tests/actor/scrambled_environment.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::ResetOneLeaf;
using testing::StepOneLeaf;
using testing::ValueOf;

constexpr int64_t kMaxSteps = 9;

std::unique_ptr<VectorEnvironment> Local(const EnvironmentDefinition& definition, int64_t lanes) {
  return ValueOf(MakeLocalEnvironment(definition, EnvironmentOptions(), lanes, Rng(5)));
}

// The episodes of these environments one after the other, by the greedy mode's actions.
EpisodeOutcomes GreedyEpisodes(const std::vector<std::unique_ptr<Environment>>& environments, size_t episodes) {
  EpisodeOutcomes outcomes;
  for (size_t episode = 0; episode < episodes; ++episode) {
    Environment* const environment = environments[episode % environments.size()].get();
    float observation[3];
    const int64_t action = 0;
    REQUIRE_OK(ResetOneLeaf(environment, observation));
    outcomes.returns.push_back(0);
    outcomes.lengths.push_back(0);
    for (bool over = false; !over;) {
      const auto outcome = ValueOf(StepOneLeaf(environment, &action, observation));
      outcomes.returns.back() += outcome.reward;
      outcomes.lengths.back() += 1;
      over = outcome.terminated || outcome.truncated;
    }
  }
  return outcomes;
}

TEST_CASE("an evaluation is one greedy episode in each lane, long or short", "[unit]") {
  constexpr int64_t kEpisodes = 12;
  CountingPolicy policy;
  const auto definition = CountingEnvironment::Definition(kMaxSteps);
  Evaluator evaluator(Local(definition, kEpisodes), &policy);
  const auto alone = ValueOf(MakeEnvironments(definition, EnvironmentOptions(), kEpisodes, Rng(5)));
  std::set<double> means;
  for (int round = 0; round < 4; ++round) {
    const EpisodeOutcomes wanted = GreedyEpisodes(alone, kEpisodes);
    const std::vector<double>& returns = wanted.returns;
    const std::vector<double>& lengths = wanted.lengths;
    const double sum = std::accumulate(returns.begin(), returns.end(), 0.0);
    const double squares = std::inner_product(returns.begin(), returns.end(), returns.begin(), 0.0);
    const Evaluation evaluation = ValueOf(evaluator.Evaluate(kEpisodes, StopToken()));
    REQUIRE(evaluation.episodes == kEpisodes);
    REQUIRE(evaluation.mean_return == Approx(sum / kEpisodes));
    REQUIRE(evaluation.min_return == *std::min_element(returns.begin(), returns.end()));
    REQUIRE(evaluation.max_return == *std::max_element(returns.begin(), returns.end()));
    REQUIRE(evaluation.standard_deviation == Approx(std::sqrt((squares - sum * sum / kEpisodes) / (kEpisodes - 1))));
    REQUIRE(evaluation.mean_length == Approx(std::accumulate(lengths.begin(), lengths.end(), 0.0) / kEpisodes));
    means.insert(evaluation.mean_return);
  }
  REQUIRE(means.size() > 1);  // The episodes of one evaluation are not those of the next.
}

TEST_CASE("more episodes than lanes run in rounds, and every episode that began is counted", "[unit]") {
  constexpr int64_t kLanes = 4;
  constexpr int64_t kEpisodes = 10;
  CountingPolicy policy;
  const auto definition = CountingEnvironment::Definition(kMaxSteps);
  Evaluator evaluator(Local(definition, kLanes), &policy);
  const EpisodeOutcomes outcomes = ValueOf(evaluator.RunEpisodes(kEpisodes, StopToken()));
  const EpisodeOutcomes expected =
      GreedyEpisodes(ValueOf(MakeEnvironments(definition, EnvironmentOptions(), kLanes, Rng(5))), kEpisodes);
  CHECK(outcomes.returns == expected.returns);
  CHECK(outcomes.lengths == expected.lengths);
}

TEST_CASE("only lanes whose episode continues are computed, each by its slot", "[unit]") {
  constexpr int64_t kEpisodes = 8;
  // Records the slots of its calls.
  class SlotPolicy : public CountingPolicy {
   public:
    absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override {
      const auto* const observations = static_cast<const float*>(input.observations[0]);
      for (int64_t row = 0; row < input.rows(); ++row) {
        const int64_t slot = input.slots[static_cast<size_t>(row)];
        ++steps[slot];
        seeds[slot].insert(observations[3 * row]);
        REQUIRE((input.first[row] == 1) == (observations[3 * row + 2] == 0));
      }
      return CountingPolicy::Act(input, mode, output);
    }
    std::map<int64_t, double> steps;
    std::map<int64_t, std::set<float>> seeds;
  };
  SlotPolicy policy;
  Evaluator evaluator(Local(CountingEnvironment::Definition(kMaxSteps), kEpisodes), &policy);
  const EpisodeOutcomes outcomes = ValueOf(evaluator.RunEpisodes(kEpisodes, StopToken()));
  std::set<double> lengths(outcomes.lengths.begin(), outcomes.lengths.end());
  REQUIRE(lengths.size() > 2);
  for (int64_t lane = 0; lane < kEpisodes; ++lane) {
    CHECK(policy.steps[lane] == outcomes.lengths[static_cast<size_t>(lane)]);
    CHECK(policy.seeds[lane].size() == 1);  // The observations of one environment alone.
  }
}

TEST_CASE("an evaluation ends with a stop or an error, which names its lane", "[unit]") {
  CountingPolicy policy;
  auto definition = CountingEnvironment::Definition(kMaxSteps);
  Evaluator evaluator(Local(definition, 2), &policy);
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(evaluator.Evaluate(2, stop), absl::StatusCode::kCancelled);
  Evaluator one(Local(definition, 1), &policy);
  REQUIRE(ValueOf(one.Evaluate(1, StopToken())).standard_deviation == 0);
  policy.act_result = absl::InternalError("broken");
  REQUIRE_CODE(evaluator.Evaluate(2, StopToken()), absl::StatusCode::kInternal);
}

// Acts legally on many leaves: always the second last choice of each, or the last one if the mask requires it.
class LegalPolicy : public Policy {
 public:
  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode, PolicyOutput* output) override {
    const auto* const mask = static_cast<const bool*>(input.observations[2]);
    for (int64_t lane = 0; lane < input.rows(); ++lane) {
      auto* const move = static_cast<int64_t*>(output->actions[0]) + 2 * lane;
      move[0] = mask[7 * lane + 1] ? 1 : 2;
      move[1] = mask[7 * lane + 5] ? 2 : 3;
      static_cast<float*>(output->actions[1])[lane] = 0.5F;
    }
    return absl::OkStatus();
  }
  absl::Status LoadWeights(const ModelSnapshot&) override { return absl::OkStatus(); }
};

TEST_CASE("a return is the sum over the reward's dimensions, of actions within the environment's bounds", "[unit]") {
  constexpr int64_t kEpisodes = 6;
  LegalPolicy policy;
  Evaluator evaluator(Local(testing::ManyLeaves::Definition(), 3), &policy);
  const EpisodeOutcomes outcomes = ValueOf(evaluator.RunEpisodes(kEpisodes, StopToken()));
  std::set<double> lengths;
  for (size_t episode = 0; episode < kEpisodes; ++episode) {
    double expected = 0;
    for (int64_t t = 0; t < static_cast<int64_t>(outcomes.lengths[episode]); ++t) {
      const double move = (t % 7 == 1 ? 2 : 1) + 100 * (t % 7 == 5 ? 3 : 2);
      expected += 10 * static_cast<double>(t) + move + 4;  // 0.5 is 4 in [-2, 6].
    }
    CHECK(outcomes.returns[episode] == expected);
    lengths.insert(outcomes.lengths[episode]);
  }
  CHECK(lengths.size() > 1);
}

TEST_CASE("an evaluation has the mean of each dimension of a vector reward", "[unit]") {
  EnvironmentOptions options;
  options.options = R"({"vector_reward": true})";
  constexpr int64_t kEpisodes = 5;
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  const EnvironmentDefinition& pendulum = *ValueOf(definitions.Find("Pendulum-v1"));
  std::unique_ptr<VectorEnvironment> environments = ValueOf(MakeLocalEnvironment(pendulum, options, 2, Rng(3)));
  ScriptedPolicy policy(environments->spec(), pendulum.script);
  const Evaluation evaluation = ValueOf(Evaluator(std::move(environments), &policy).Evaluate(kEpisodes, StopToken()));
  REQUIRE(evaluation.mean_rewards.size() == 2);
  CHECK(evaluation.mean_rewards[1] < 0);
  CHECK(evaluation.mean_return ==
        Approx((evaluation.mean_rewards[0] + evaluation.mean_rewards[1]) * evaluation.mean_length));
}

TEST_CASE("lanes that answer in any order have the evaluation of lanes in order", "[unit]") {
  constexpr int64_t kLanes = 5;
  constexpr int64_t kEpisodes = 13;
  CountingPolicy policy;
  const auto definition = CountingEnvironment::Definition(kMaxSteps);
  Evaluator in_order(Local(definition, kLanes), &policy);
  Evaluator scrambled(std::make_unique<testing::ScrambledEnvironment>(
                          ValueOf(MakeEnvironments(definition, EnvironmentOptions(), kLanes, Rng(5))),
                          /*slow_lane=*/2, /*spread=*/4, /*seed=*/1),
                      &policy);
  const EpisodeOutcomes expected = ValueOf(in_order.RunEpisodes(kEpisodes, StopToken()));
  const EpisodeOutcomes outcomes = ValueOf(scrambled.RunEpisodes(kEpisodes, StopToken()));
  CHECK(outcomes.returns == expected.returns);
  CHECK(outcomes.lengths == expected.lengths);
}

// Lanes that step together; one breaks off an episode in the second round.
class TogetherEnvironment : public VectorEnvironment {
 public:
  explicit TogetherEnvironment(int64_t lanes)
      : lanes_(ValueOf(
            MakeLocalEnvironment(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), lanes, Rng(5)))) {}
  const EnvironmentSpec& spec() const override { return lanes_->spec(); }
  int64_t lanes() const override { return lanes_->lanes(); }
  bool lanes_step_together() const override { return true; }
  absl::Status Start(absl::Span<const int64_t> lanes) override {
    broken_ += ++starts_ == 2 ? 1 : 0;
    REQUIRE(static_cast<int64_t>(lanes.size()) == this->lanes());
    return lanes_->Start(lanes);
  }
  absl::Status Reset() override { return lanes_->Reset(); }
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override {
    REQUIRE(static_cast<int64_t>(lanes.size()) == this->lanes());
    return lanes_->Send(lanes, actions);
  }
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override {
    return lanes_->Recv(at_least, stop);
  }
  EnvironmentHealth health() const override {
    EnvironmentHealth health;
    health.broken_episodes = broken_;
    return health;
  }

 private:
  const std::unique_ptr<VectorEnvironment> lanes_;
  int64_t starts_ = 0;
  int64_t broken_ = 0;
};

TEST_CASE("lanes that step together all act until the last episode of a round is over", "[unit]") {
  CountingPolicy policy;
  Evaluator evaluator(std::make_unique<TogetherEnvironment>(4), &policy);
  const EpisodeOutcomes outcomes = ValueOf(evaluator.RunEpisodes(3, StopToken()));
  CHECK(outcomes.returns.size() == 3);
  Evaluator apart(Local(CountingEnvironment::Definition(kMaxSteps), 4), &policy);
  CHECK(ValueOf(apart.RunEpisodes(3, StopToken())).returns == outcomes.returns);
}

TEST_CASE("a round in which an episode is broken off is run again", "[unit]") {
  CountingPolicy policy;
  Evaluator evaluator(std::make_unique<TogetherEnvironment>(4), &policy);
  const EpisodeOutcomes outcomes = ValueOf(evaluator.RunEpisodes(8, StopToken()));
  CHECK(outcomes.returns.size() == 8);
  for (const double length : outcomes.lengths) {
    CHECK(length >= 1);
  }
}

}  // namespace
}  // namespace waggle
