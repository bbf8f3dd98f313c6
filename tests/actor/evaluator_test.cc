#include "actor/evaluator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/actor/fakes.h"
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

TEST_CASE("an evaluation is one greedy episode in each lane, long or short", "[unit]") {
  constexpr int64_t kEpisodes = 12;
  CountingPolicy policy;
  const auto definition = CountingEnvironment::Definition(kMaxSteps);
  const auto evaluator = ValueOf(Evaluator::Create(definition, EnvironmentOptions(), kEpisodes, Rng(5), &policy));
  const auto alone = ValueOf(MakeEnvironments(definition, EnvironmentOptions(), kEpisodes, Rng(5)));
  std::set<double> means;
  for (int round = 0; round < 4; ++round) {
    double sum = 0;
    double least = 1e9;
    double most = -1e9;
    double squares = 0;
    int64_t steps = 0;
    for (const auto& copy : alone) {
      Environment* const environment = copy.get();
      float observation[3];
      const int64_t action = 0;  // What the greedy mode chooses.
      REQUIRE_OK(ResetOneLeaf(environment, observation));
      double total = 0;
      for (bool over = false; !over;) {
        const auto outcome = ValueOf(StepOneLeaf(environment, &action, observation));
        total += outcome.reward;
        ++steps;
        over = outcome.terminated || outcome.truncated;
      }
      sum += total;
      squares += total * total;
      least = std::min(least, total);
      most = std::max(most, total);
    }
    const Evaluation evaluation = ValueOf(evaluator->Evaluate(kEpisodes, StopToken()));
    REQUIRE(evaluation.episodes == kEpisodes);
    REQUIRE(evaluation.mean_return == Approx(sum / kEpisodes));
    REQUIRE(evaluation.min_return == least);
    REQUIRE(evaluation.max_return == most);
    REQUIRE(evaluation.standard_deviation == Approx(std::sqrt((squares - sum * sum / kEpisodes) / (kEpisodes - 1))));
    REQUIRE(evaluation.mean_length == Approx(static_cast<double>(steps) / kEpisodes));
    means.insert(evaluation.mean_return);
  }
  REQUIRE(means.size() > 1);  // The episodes of one evaluation are not those of the next.
}

TEST_CASE("more episodes than lanes run in rounds, and every one that began is counted", "[unit]") {
  constexpr int64_t kLanes = 4;
  constexpr int64_t kEpisodes = 10;
  CountingPolicy policy;
  const auto definition = CountingEnvironment::Definition(kMaxSteps);
  const auto evaluator = ValueOf(Evaluator::Create(definition, EnvironmentOptions(), kLanes, Rng(5), &policy));
  const EpisodeOutcomes outcomes = ValueOf(evaluator->RunEpisodes(kEpisodes, StopToken()));
  const auto alone = ValueOf(MakeEnvironments(definition, EnvironmentOptions(), kLanes, Rng(5)));
  std::vector<double> returns;
  std::vector<double> lengths;
  for (int64_t episode = 0; episode < kEpisodes; ++episode) {
    Environment* const environment = alone[static_cast<size_t>(episode % kLanes)].get();
    float observation[3];
    const int64_t action = 0;
    REQUIRE_OK(ResetOneLeaf(environment, observation));
    returns.push_back(0);
    lengths.push_back(0);
    for (bool over = false; !over;) {
      const auto outcome = ValueOf(StepOneLeaf(environment, &action, observation));
      returns.back() += outcome.reward;
      lengths.back() += 1;
      over = outcome.terminated || outcome.truncated;
    }
  }
  CHECK(outcomes.returns == returns);
  CHECK(outcomes.lengths == lengths);
}

TEST_CASE("only lanes whose episode goes on are computed, each by its slot", "[unit]") {
  constexpr int64_t kEpisodes = 8;
  // Notes which slots it is asked about.
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
  const auto evaluator = ValueOf(
      Evaluator::Create(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kEpisodes, Rng(5), &policy));
  const EpisodeOutcomes outcomes = ValueOf(evaluator->RunEpisodes(kEpisodes, StopToken()));
  std::set<double> lengths(outcomes.lengths.begin(), outcomes.lengths.end());
  REQUIRE(lengths.size() > 2);
  for (int64_t lane = 0; lane < kEpisodes; ++lane) {
    CHECK(policy.steps[lane] == outcomes.lengths[static_cast<size_t>(lane)]);
    CHECK(policy.seeds[lane].size() == 1);  // One environment's observations, and no other's.
  }
}

TEST_CASE("an evaluation stops when it is told to, and hands on errors with their lane", "[unit]") {
  CountingPolicy policy;
  auto definition = CountingEnvironment::Definition(kMaxSteps);
  auto evaluator = ValueOf(Evaluator::Create(definition, EnvironmentOptions(), 2, Rng(5), &policy));
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(evaluator->Evaluate(2, stop), absl::StatusCode::kCancelled);
  const auto one = ValueOf(Evaluator::Create(definition, EnvironmentOptions(), 1, Rng(5), &policy));
  REQUIRE(ValueOf(one->Evaluate(1, StopToken())).standard_deviation == 0);
  policy.act_result = absl::InternalError("broken");
  REQUIRE_CODE(evaluator->Evaluate(2, StopToken()), absl::StatusCode::kInternal);
  REQUIRE_CODE(Evaluator::Create(definition, EnvironmentOptions(), 0, Rng(5), &policy),
               absl::StatusCode::kInvalidArgument);
}

// Acts on many leaves, legally: always the last choices but one of each, or the last ones where the mask wants it.
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
  const auto evaluator =
      ValueOf(Evaluator::Create(testing::ManyLeaves::Definition(), EnvironmentOptions(), 3, Rng(5), &policy));
  const EpisodeOutcomes outcomes = ValueOf(evaluator->RunEpisodes(kEpisodes, StopToken()));
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

}  // namespace
}  // namespace waggle
