#include "actor/self_play/league.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using testing::CountingPolicy;
using testing::SnapshotOf;

// A league, and its policies.
struct Fixture {
  explicit Fixture(const SelfPlayOptions& options) {
    std::vector<std::unique_ptr<Policy>> owned;
    for (int64_t i = 0; i < options.policies(); ++i) {
      auto policy = std::make_unique<CountingPolicy>();
      policies.push_back(policy.get());
      owned.push_back(std::move(policy));
    }
    league = std::make_unique<League>(options, std::move(owned));
  }

  void Take(const std::vector<uint64_t>& versions) {
    for (const uint64_t version : versions) {
      REQUIRE_OK(league->Take(SnapshotOf(version)));
    }
  }
  // The version that each policy has, the newest's first; 0 if none.
  std::vector<uint64_t> Versions() const {
    std::vector<uint64_t> versions;
    for (const CountingPolicy* policy : policies) {
      versions.push_back(policy->loaded.empty() ? 0 : policy->loaded.back());
    }
    return versions;
  }
  std::map<int64_t, int64_t> Draws(int64_t draws) const {
    Rng rng(1);
    std::map<int64_t, int64_t> counts;
    for (int64_t i = 0; i < draws; ++i) {
      ++counts[static_cast<int64_t>(league->Draw(&rng))];
    }
    return counts;
  }

  std::vector<CountingPolicy*> policies;
  std::unique_ptr<League> league;
};

TEST_CASE("a league keeps a version each so many learner steps, and the oldest gives way", "[unit]") {
  Fixture fixture({3, 10, 0.5});
  fixture.Take({4});
  CHECK(fixture.Versions() == std::vector<uint64_t>{4, 4, 0, 0});
  fixture.Take({5, 13});
  CHECK(fixture.Versions() == std::vector<uint64_t>{13, 4, 0, 0});
  fixture.Take({14, 23, 25});
  CHECK(fixture.Versions() == std::vector<uint64_t>{25, 4, 14, 25});
  fixture.Take({60});
  CHECK(fixture.Versions() == std::vector<uint64_t>{60, 60, 14, 25});
  fixture.Take({70, 80, 90});
  CHECK(fixture.Versions() == std::vector<uint64_t>{90, 90, 70, 80});
  CHECK(fixture.league->size() == 4);
}

TEST_CASE("a league goes on after a learner that continued from an older checkpoint", "[unit]") {
  Fixture fixture({2, 10, 0.5});
  fixture.Take({50, 45, 47});
  CHECK(fixture.Versions() == std::vector<uint64_t>{47, 50, 0});
  fixture.Take({20, 31});
  CHECK(fixture.Versions() == std::vector<uint64_t>{31, 31, 20});
}

TEST_CASE("opponents are the newest version with its share, and each kept one with the same chance", "[unit]") {
  Fixture fixture({4, 10, 0.4});
  CHECK(fixture.Draws(100) == std::map<int64_t, int64_t>{{0, 100}});  // Nothing is kept yet.
  fixture.Take({0, 10, 20});
  testing::CheckChiSquare(fixture.Draws(6000), {{0, 0.4}, {1, 0.2}, {2, 0.2}, {3, 0.2}});
  fixture.Take({30, 40, 50});
  testing::CheckChiSquare(fixture.Draws(6000), {{0, 0.4}, {1, 0.15}, {2, 0.15}, {3, 0.15}, {4, 0.15}});
}

TEST_CASE("without kept versions the opponent is always the newest", "[unit]") {
  Fixture fixture({0, 1, 0});
  fixture.Take({1, 2, 3});
  CHECK(fixture.Versions() == std::vector<uint64_t>{3});
  CHECK(fixture.Draws(100) == std::map<int64_t, int64_t>{{0, 100}});
}

TEST_CASE("weights that a policy refuses are an error of the league", "[unit]") {
  Fixture fixture({1, 10, 0.5});
  fixture.policies[1]->load_result = absl::FailedPreconditionError("another network");
  REQUIRE_CODE(fixture.league->Take(SnapshotOf(1)), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("all policies of a league take new numbers of the exploration", "[unit]") {
  Fixture fixture({2, 10, 0.5});
  int64_t taken = 0;
  for (CountingPolicy* policy : fixture.policies) {
    policy->on_exploration = [&taken](const ExplorationOptions& options) { taken += options.warm_up_steps; };
  }
  ExplorationOptions exploration;
  exploration.warm_up_steps = 7;
  fixture.league->SetExploration(exploration);
  CHECK(taken == 21);
}

}  // namespace
}  // namespace waggle
