#include "actor/evaluation/evaluation_loop.h"

#include <memory>
#include <optional>

#include "actor/environments/threaded_environments.h"
#include "common/base/threads/thread.h"
#include "tests/actor/fakes.h"
#include "tests/common/hub/ports/turn_hub.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::FakeHub;
using testing::ScriptedSubscriber;
using testing::SnapshotOf;
using testing::ValueOf;

EvaluationLoopOptions FourEpisodes() {
  EvaluationLoopOptions options;
  options.episodes = 4;
  options.confirm_episodes = 6;
  return options;
}

class Fixture {
 public:
  Fixture()
      : evaluator_(ValueOf(MakeLocalEnvironment(CountingEnvironment::Definition(5), EnvironmentOptions(), 4, Rng(2))),
                   &policy),
        subscriber_(script) {}

  // Runs until `evaluations` were reported.
  absl::Status Run(size_t evaluations, const EvaluationLoopOptions& options = FourEpisodes()) {
    hub.on_evaluation = [this, evaluations](const Evaluation&) {
      if (hub.evaluations().size() == evaluations) {
        stop.RequestStop();
      }
    };
    EvaluationLoop loop(options, Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
                        {&evaluator_, &policy, &subscriber_, &hub, &metrics, turns});
    return loop.Run(stop);
  }

  CountingPolicy policy;
  const std::shared_ptr<ScriptedSubscriber::Script> script = std::make_shared<ScriptedSubscriber::Script>();
  FakeHub hub;
  TurnTaker* turns = nullptr;
  Metrics metrics;
  const StopToken stop;

 private:
  Evaluator evaluator_;
  ScriptedSubscriber subscriber_;
};

TEST_CASE("each version of the weights is evaluated once and reported", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(3));
  fixture.script->Add(std::optional<ModelSnapshot>());
  ModelSnapshot later = SnapshotOf(8);
  later.progress.env_steps = 500;
  fixture.script->Add(later);
  REQUIRE_OK(fixture.Run(2));
  const std::vector<Evaluation> evaluations = fixture.hub.evaluations();
  REQUIRE(evaluations.size() == 2);
  REQUIRE(evaluations[0].version == ModelVersion{1, 3});
  REQUIRE(evaluations[1].version == ModelVersion{1, 8});
  REQUIRE(evaluations[1].env_steps == 500);
  REQUIRE(evaluations[1].episodes == 4);
  REQUIRE(fixture.policy.loaded == std::vector<uint64_t>{3, 8});
  const auto asked = fixture.script->Asked();
  REQUIRE_FALSE(asked.at(0).has_value());
  REQUIRE(asked.at(1) == ModelVersion{1, 3});
  REQUIRE(asked.at(2) == ModelVersion{1, 3});
  REQUIRE(fixture.metrics.TakeSnapshot().counters["evaluations"] == 2);
}

TEST_CASE("weights that reach the target are evaluated a second time, in confirm_episodes other episodes", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(3));
  fixture.script->Add(SnapshotOf(8));
  EvaluationLoopOptions options = FourEpisodes();
  options.target_return = -1;  // All weights reach it.
  REQUIRE_OK(fixture.Run(4, options));
  const std::vector<Evaluation> evaluations = fixture.hub.evaluations();
  REQUIRE(evaluations[0].version == ModelVersion{1, 3});
  REQUIRE(evaluations[1].version == ModelVersion{1, 3});
  REQUIRE(evaluations[2].version == ModelVersion{1, 8});
  REQUIRE(evaluations[3].version == ModelVersion{1, 8});
  REQUIRE(evaluations[0].mean_return != evaluations[1].mean_return);
  REQUIRE(evaluations[0].episodes == 4);
  REQUIRE(evaluations[1].episodes == 6);

  Fixture unreached;
  unreached.script->Add(SnapshotOf(3));
  unreached.script->Add(SnapshotOf(8));
  options.target_return = 1e9;
  REQUIRE_OK(unreached.Run(2, options));
  REQUIRE(unreached.hub.evaluations()[1].version == ModelVersion{1, 8});
}

TEST_CASE("once training is over the last weights are evaluated without a pause", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(3));
  fixture.script->Add(SnapshotOf(8));
  fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kFinishing; });
  EvaluationLoopOptions options = FourEpisodes();
  options.period = absl::Hours(10);
  REQUIRE_OK(fixture.Run(2, options));
}

TEST_CASE("an evaluation waits for weights of the next multiple of period_steps, or newer ones", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(3));
  ModelSnapshot repeated = SnapshotOf(5);  // A learner that has come back to an earlier step.
  repeated.version.epoch = 2;
  fixture.script->Add(repeated);
  ModelSnapshot later = SnapshotOf(20);
  later.version.epoch = 2;
  fixture.script->Add(later);
  later.version.version = 34;
  fixture.script->Add(later);
  EvaluationLoopOptions options = FourEpisodes();
  options.period_steps = 10;
  REQUIRE_OK(fixture.Run(3, options));
  CHECK(fixture.policy.loaded == std::vector<uint64_t>{3, 20, 34});
  CHECK(fixture.script->Awaited() == std::vector<std::optional<ModelVersion>>{std::nullopt, ModelVersion{1, 9},
                                                                              ModelVersion{2, 9}, ModelVersion{2, 29}});
}

TEST_CASE("once training is over the last weights are evaluated, whatever their step", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(3));
  EvaluationLoopOptions options = FourEpisodes();
  options.period_steps = 10;
  size_t waits_in_training = 2;
  SECTION("they come while the loop waits for later ones") {}
  SECTION("they came before, and were not due") {
    fixture.script->Add(SnapshotOf(5));
    waits_in_training = 3;
  }
  fixture.script->on_wait = [&](size_t waits) {
    if (waits == waits_in_training) {
      fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kFinishing; });
    } else if (waits > waits_in_training) {
      fixture.script->Add(SnapshotOf(5));
    }
  };
  REQUIRE_OK(fixture.Run(2, options));
  CHECK(fixture.script->Asked().back() == ModelVersion{1, 3});
  CHECK(fixture.policy.loaded == std::vector<uint64_t>{3, 5});
}

TEST_CASE("the loop retries while the server is away", "[unit]") {
  Fixture fixture;
  fixture.script->Add(absl::UnavailableError("connection refused"));
  fixture.script->Add(absl::UnavailableError("connection refused"));
  fixture.script->Add(SnapshotOf(3));
  REQUIRE_OK(fixture.Run(1));
}

TEST_CASE("a stop while waiting for weights ends the loop without an error", "[unit]") {
  Fixture fixture;
  Thread stopper("stopper", [&fixture] { fixture.stop.RequestStop(); });
  REQUIRE_OK(fixture.Run(1));
}

TEST_CASE("any other error ends the loop", "[unit]") {
  Fixture fixture;
  SECTION("of the model's server") {
    fixture.script->Add(absl::NotFoundError("no such model"));
    REQUIRE_CODE(fixture.Run(1), absl::StatusCode::kNotFound);
  }
  SECTION("weights of another network") {
    fixture.script->Add(SnapshotOf(3));
    fixture.policy.load_result = absl::FailedPreconditionError("another network");
    REQUIRE_CODE(fixture.Run(1), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.hub.evaluations().empty());
  }
}

TEST_CASE("in lock-step each turn has one evaluation, and the last weights are evaluated when training is over",
          "[unit]") {
  Fixture fixture;
  testing::TurnHub hub(Role::kEvaluator, 2);
  hub.over = fixture.hub.training_over();
  std::vector<size_t> evaluated;
  hub.on_turn = [&](int64_t turn, Assignment*) {
    evaluated.push_back(fixture.hub.evaluations().size());
    fixture.script->Add(SnapshotOf(10 * static_cast<uint64_t>(evaluated.size()) + static_cast<uint64_t>(turn)));
  };
  TurnTaker turns(&hub, Role::kEvaluator);
  fixture.turns = &turns;
  REQUIRE_OK(fixture.Run(3));
  CHECK(evaluated == std::vector<size_t>{0, 1, 2});
  CHECK(hub.turn_done == 6);
  CHECK(fixture.policy.loaded == std::vector<uint64_t>{11, 22, 32});
}

}  // namespace
}  // namespace waggle
