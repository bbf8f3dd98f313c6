#include "actor/self_play/self_play_environment.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/environments/environment.h"
#include "actor/environments/local_vector_environment.h"
#include "common/base/random.h"
#include "common/base/threads/stop_token.h"
#include "common/config/spec/environment_spec.h"
#include "tests/actor/fakes.h"
#include "tests/actor/scrambled_environment.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using testing::SnapshotOf;
using testing::ValueOf;

constexpr int64_t kChoices = 1000;
constexpr int64_t kLanes = 5;

// Two agents, "a" and "b". Each sees itself (0 or 1), the episode and the step; a leaf of b lies between those of a.
// An agent's reward is 1000 times its own action plus the other's, negative for b. Episodes last 1 to 4 steps, by
// their number; every second one is truncated.
class FakeDuel : public Environment {
 public:
  explicit FakeDuel(int64_t lane) : episode_(lane) {
    spec_.name = "FakeDuel";
    spec_.observations = {Box("a/observation/agent", DType::kFloat32, {}),
                          Box("b/observation/agent", DType::kFloat32, {}),
                          Box("a/observation/time", DType::kInt32, {2}), Box("b/observation/time", DType::kInt32, {2})};
    spec_.actions = {Discrete("a/action", kChoices), Discrete("b/action", kChoices)};
    spec_.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  }

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override {
    ++episode_;
    step_ = 0;
    Show(observations);
    return absl::OkStatus();
  }
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override {
    const int64_t a = *static_cast<const int64_t*>(actions[0]);
    const int64_t b = *static_cast<const int64_t*>(actions[1]);
    rewards[0] = static_cast<float>(1000 * a + b);
    rewards[1] = -static_cast<float>(1000 * b + a);
    ++step_;
    Show(observations);
    const bool over = step_ == 1 + episode_ % 4;
    return StepOutcome{over && episode_ % 2 == 0, over && episode_ % 2 == 1};
  }

 private:
  void Show(absl::Span<void* const> observations) const {
    for (size_t agent = 0; agent < 2; ++agent) {
      *static_cast<float*>(observations[agent]) = static_cast<float>(agent);
      static_cast<int32_t*>(observations[2 + agent])[0] = static_cast<int32_t>(episode_);
      static_cast<int32_t*>(observations[2 + agent])[1] = static_cast<int32_t>(step_);
    }
  }

  EnvironmentSpec spec_;
  int64_t episode_ = 0;
  int64_t step_ = 0;
};

// A row that an agent saw.
struct SeenRow {
  int64_t agent = -1;
  int64_t episode = -1;
  int64_t step = -1;

  friend bool operator==(const SeenRow& a, const SeenRow& b) {
    return a.agent == b.agent && a.episode == b.episode && a.step == b.step;
  }
};

SeenRow RowAt(absl::Span<const void* const> observations, size_t row) {
  const int32_t* const time = static_cast<const int32_t*>(observations[1]) + 2 * row;
  return {static_cast<int64_t>(static_cast<const float*>(observations[0])[row]), time[0], time[1]};
}

// Acts 100 * its number + the slot, and keeps what each slot saw last.
class NotingPolicy : public Policy {
 public:
  explicit NotingPolicy(int64_t number) : seen(kLanes), number_(number) {}

  std::vector<ArraySpec> columns() const override { return {ArraySpec{"trace", DType::kFloat32, {}}}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override {
    REQUIRE(mode == ActMode::kExplore);
    for (size_t row = 0; row < input.slots.size(); ++row) {
      const int64_t slot = input.slots[row];
      seen[static_cast<size_t>(slot)] = RowAt(input.observations, row);
      REQUIRE((input.first[row] == 1) == (seen[static_cast<size_t>(slot)].step == 0));
      static_cast<int64_t*>(output->actions[0])[row] = 100 * number_ + slot;
      static_cast<float*>(output->columns[0])[row] = 1;
    }
    rows += input.rows();
    ++batches;
    return result;
  }
  absl::Status LoadWeights(const ModelSnapshot&) override { return absl::OkStatus(); }

  std::vector<SeenRow> seen;  // By slot.
  int64_t rows = 0;
  int64_t batches = 0;
  absl::Status result;

 private:
  const int64_t number_;
};

std::vector<std::unique_ptr<Environment>> Copies() {
  std::vector<std::unique_ptr<Environment>> copies;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    copies.push_back(std::make_unique<FakeDuel>(10 * lane));
  }
  return copies;
}

struct Fixture {
  explicit Fixture(std::unique_ptr<VectorEnvironment> inner, int64_t kept = 2, uint64_t seed = 1) {
    const SelfPlayOptions options{kept, 1, 0.5};
    std::vector<std::unique_ptr<Policy>> owned;
    for (int64_t i = 0; i < options.policies(); ++i) {
      auto policy = std::make_unique<NotingPolicy>(i);
      policies.push_back(policy.get());
      owned.push_back(std::move(policy));
    }
    environment = ValueOf(
        SelfPlayEnvironment::Create(std::move(inner), std::make_unique<League>(options, std::move(owned)), Rng(seed)));
    for (int64_t i = 0; i < kept; ++i) {
      REQUIRE_OK(environment->league().Take(SnapshotOf(static_cast<uint64_t>(i))));
    }
  }

  std::vector<NotingPolicy*> policies;
  std::unique_ptr<SelfPlayEnvironment> environment;
};

// The learner's match in a lane, as its rows show it.
struct Shown {
  int64_t agent = -1;
  int64_t opponent = -1;
  SeenRow row;
  bool is_last = true;
};

// Counts of whole episodes, by the learner's agent and by its opponent.
struct Counts {
  std::map<int64_t, int64_t> agents, opponents;
};

// Plays, with actions that name the lane, and checks each row that comes out. `at_least`: as of Recv.
Counts CheckRows(Fixture* fixture, int64_t at_least, int64_t receptions) {
  SelfPlayEnvironment& environment = *fixture->environment;
  std::vector<Shown> lanes(kLanes);
  Counts counts;
  int64_t acting_rows = 0;
  REQUIRE_OK(environment.Reset());
  for (int64_t i = 0; i < receptions; ++i) {
    const ReadyLanes ready = ValueOf(environment.Recv(at_least, StopToken()));
    std::vector<int64_t> actions;
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      const int64_t lane = ready.lanes[row];
      Shown& shown = lanes[static_cast<size_t>(lane)];
      const SeenRow seen = RowAt(ready.observations, row);
      const float reward = ready.rewards[0][row];
      REQUIRE((ready.first[row] != 0) == shown.is_last);
      if (ready.first[row] != 0) {
        CHECK(seen.episode == (shown.row.episode == -1 ? 10 * lane : shown.row.episode) + 1);
        CHECK(seen.step == 0);
        CHECK(reward == 0);
        shown = {seen.agent, -1, seen, false};
      } else {
        CHECK(seen == SeenRow{shown.agent, shown.row.episode, shown.row.step + 1});
        // The learner's own action was 500 + its lane, and the opponent's 100 * its number + the lane.
        const int64_t sum = static_cast<int64_t>(shown.agent == 0 ? reward : -reward);
        CHECK(sum / 1000 == 500 + lane);
        CHECK(sum % 100 == lane);
        const int64_t opponent = sum % 1000 / 100;
        CHECK((shown.opponent == -1 || shown.opponent == opponent));
        shown.opponent = opponent;
        shown.row = seen;
        shown.is_last = ready.step_types[row] == static_cast<int32_t>(StepType::kLast);
        CHECK(shown.is_last == (seen.step == 1 + seen.episode % 4));
        CHECK(ready.discounts[row] == (shown.is_last && seen.episode % 2 == 0 ? 0 : 1));
        if (shown.is_last) {
          ++counts.agents[shown.agent];
          ++counts.opponents[shown.opponent];
        }
      }
      if (!shown.is_last) {  // Some opponent has just seen the same, from the other place.
        const SeenRow others{1 - shown.agent, seen.episode, seen.step};
        int64_t saw = 0;
        for (const NotingPolicy* policy : fixture->policies) {
          saw += policy->seen[static_cast<size_t>(lane)] == others ? 1 : 0;
        }
        CHECK(saw == 1);
        ++acting_rows;
      }
      actions.push_back(500 + lane);
    }
    REQUIRE_OK(environment.Send(ready.lanes, {actions.data()}));
  }
  int64_t acted = 0;
  for (const NotingPolicy* policy : fixture->policies) {
    acted += policy->rows;
  }
  CHECK(acted == acting_rows);  // None acts in an episode's last row.
  return counts;
}

TEST_CASE("a learner's rows are those of one agent, and an opponent acts for the other", "[unit]") {
  Fixture fixture(std::make_unique<LocalVectorEnvironment>(Copies()));
  EnvironmentSpec expected;
  expected.name = "FakeDuel";
  expected.observations = {Box("observation/agent", DType::kFloat32, {}), Box("observation/time", DType::kInt32, {2})};
  expected.actions = {Discrete("action", kChoices)};
  CHECK(fixture.environment->spec() == expected);
  const Counts counts = CheckRows(&fixture, kLanes, 2000);
  testing::CheckChiSquare(counts.agents, {{0, 1}, {1, 1}});
  testing::CheckChiSquare(counts.opponents, {{0, 0.5}, {1, 0.25}, {2, 0.25}});
  for (const NotingPolicy* policy : fixture.policies) {
    CHECK(policy->batches <= 2000);  // All lanes of an opponent act at once.
  }
}

TEST_CASE("lanes of self-play need not keep step", "[unit]") {
  auto scrambled = std::make_unique<testing::ScrambledEnvironment>(Copies(), /*slow_lane=*/2, /*spread=*/4, /*seed=*/3);
  const testing::ScrambledEnvironment* const inner = scrambled.get();
  Fixture fixture(std::move(scrambled));
  const Counts counts = CheckRows(&fixture, 1, 3000);
  CHECK(inner->partial_batches() > 100);
  CHECK(counts.agents.size() == 2);
  CHECK(counts.opponents.size() == 3);
}

TEST_CASE("the draws of self-play follow from the seed", "[unit]") {
  const auto agents = [](uint64_t seed) {
    Fixture fixture(std::make_unique<LocalVectorEnvironment>(Copies()), 2, seed);
    std::string drawn;
    REQUIRE_OK(fixture.environment->Reset());
    for (int64_t i = 0; i < 50; ++i) {
      const ReadyLanes ready = ValueOf(fixture.environment->Recv(kLanes, StopToken()));
      for (size_t row = 0; row < ready.lanes.size(); ++row) {
        absl::StrAppend(&drawn, RowAt(ready.observations, row).agent, " ", ready.rewards[0][row], " ");
      }
      const std::vector<int64_t> actions(kLanes, 7);
      REQUIRE_OK(fixture.environment->Send(ready.lanes, {actions.data()}));
    }
    return drawn;
  };
  CHECK(agents(1) == agents(1));
  CHECK(agents(1) != agents(2));
}

TEST_CASE("an opponent's error ends the reception", "[unit]") {
  Fixture fixture(std::make_unique<LocalVectorEnvironment>(Copies()), 0);
  fixture.policies[0]->result = absl::InternalError("no action");
  REQUIRE_OK(fixture.environment->Reset());
  REQUIRE_CODE(fixture.environment->Recv(kLanes, StopToken()), absl::StatusCode::kInternal);
}

TEST_CASE("an environment of one agent is refused", "[unit]") {
  std::vector<std::unique_ptr<Environment>> one;
  one.push_back(std::make_unique<testing::CountingEnvironment>(3, 1));
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<NotingPolicy>(0));
  REQUIRE_CODE(
      SelfPlayEnvironment::Create(std::make_unique<LocalVectorEnvironment>(std::move(one)),
                                  std::make_unique<League>(SelfPlayOptions{0, 1, 1}, std::move(policies)), Rng(1))
          .status(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
