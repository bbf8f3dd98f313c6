#include "actor/acting/weight_refresher.h"

#include <memory>
#include <optional>

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::ScriptedSubscriber;
using testing::SnapshotOf;
using testing::ValueOf;
using Script = ScriptedSubscriber::Script;

std::unique_ptr<WeightRefresher> Start(const std::shared_ptr<Script>& script, const StopToken& stop) {
  return std::make_unique<WeightRefresher>(absl::Milliseconds(1),
                                           Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
                                           std::make_unique<ScriptedSubscriber>(script), stop);
}

TEST_CASE("weights are handed out once, and only newer ones are requested", "[unit]") {
  const auto script = std::make_shared<Script>();
  const auto refresher = Start(script, StopToken());
  REQUIRE_FALSE(ValueOf(refresher->Take()).has_value());
  script->Add(SnapshotOf(3));
  REQUIRE(ValueOf(refresher->WaitAndTake()).version.version == 3);
  REQUIRE_FALSE(ValueOf(refresher->Take()).has_value());
  script->Add(std::optional<ModelSnapshot>());  // The wait ended, but there was nothing newer.
  script->Add(SnapshotOf(9));
  REQUIRE(ValueOf(refresher->WaitAndTake()).version.version == 9);
  const auto asked = script->Asked();
  REQUIRE(asked.size() == 3);
  REQUIRE_FALSE(asked[0].has_value());
  REQUIRE(asked[1]->version == 3);
  REQUIRE(asked[2]->version == 3);
}

TEST_CASE("the refresher retries until the server is back", "[unit]") {
  const auto script = std::make_shared<Script>();
  for (int i = 0; i < 5; ++i) {
    script->Add(absl::UnavailableError("connection refused"));
  }
  script->Add(absl::DeadlineExceededError("no answer"));
  script->Add(SnapshotOf(4));
  const auto refresher = Start(script, StopToken());
  REQUIRE(ValueOf(refresher->WaitAndTake()).version.version == 4);
  REQUIRE(script->Asked().size() == 7);
}

TEST_CASE("any other error is final and is returned by every call", "[unit]") {
  const auto script = std::make_shared<Script>();
  script->Add(absl::FailedPreconditionError("another model"));
  const auto refresher = Start(script, StopToken());
  REQUIRE_CODE(refresher->WaitAndTake(), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(refresher->Take(), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a stop ends the wait for weights", "[unit]") {
  const auto script = std::make_shared<Script>();
  const StopToken stop;
  const auto refresher = Start(script, stop);
  Thread stopper("stopper", [&stop] { stop.RequestStop(); });
  REQUIRE_CODE(refresher->WaitAndTake(), absl::StatusCode::kCancelled);
}

// Announces newer weights, and does not answer a pull.
class MuteSubscriber : public ModelSubscriber {
 public:
  explicit MuteSubscriber(const StopToken& called) : called_(called) {}
  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion>, const StopToken& stop) override {
    called_.RequestStop();
    stop.Wait();
    return absl::CancelledError("stopped");
  }
  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken&) override {
    return absl::UnimplementedError("not asked for");
  }
  absl::Status WaitNewer(std::optional<ModelVersion>, const StopToken&) override { return absl::OkStatus(); }

 private:
  const StopToken called_;
};

TEST_CASE("a stop ends a pull that the server does not answer", "[unit]") {
  const StopToken called;
  const StopToken stop;
  WeightRefresher refresher(absl::Milliseconds(1), Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
                            std::make_unique<MuteSubscriber>(called), stop);
  called.Wait();
  stop.RequestStop();
  REQUIRE_CODE(refresher.WaitAndTake(), absl::StatusCode::kCancelled);
}

TEST_CASE("patience ends a wait without weights, and weights that come in time are taken", "[unit]") {
  const auto script = std::make_shared<Script>();
  const auto refresher = Start(script, StopToken());
  REQUIRE_FALSE(ValueOf(refresher->WaitAndTake(absl::Milliseconds(1))).has_value());
  REQUIRE_FALSE(ValueOf(refresher->WaitAndTake(absl::ZeroDuration())).has_value());
  script->Add(SnapshotOf(3));
  const std::optional<ModelSnapshot> taken = ValueOf(refresher->WaitAndTake(absl::InfiniteDuration()));
  REQUIRE(taken.has_value());
  REQUIRE(taken->version.version == 3);
  script->Add(absl::FailedPreconditionError("another model"));
  REQUIRE_CODE(refresher->WaitAndTake(absl::InfiniteDuration()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("the stats show that a call waits, and for how long", "[unit]") {
  const auto script = std::make_shared<Script>();
  const auto refresher = Start(script, StopToken());
  REQUIRE_FALSE(refresher->stats().waiting);
  REQUIRE(refresher->stats().waited == absl::ZeroDuration());
  absl::StatusOr<ModelSnapshot> taken = absl::UnknownError("has not come");
  Thread waiter("waiter", [&] { taken = refresher->WaitAndTake(); });
  testing::Eventually("a wait", [&] { return refresher->stats().waiting; });
  const absl::Duration under_way = refresher->stats().waited;
  testing::Eventually("a longer wait", [&] { return refresher->stats().waited > under_way; });
  script->Add(SnapshotOf(3));
  waiter.Join();
  REQUIRE_OK(taken);
  REQUIRE_FALSE(refresher->stats().waiting);
  const absl::Duration waited = refresher->stats().waited;
  REQUIRE(waited > under_way);
  REQUIRE_FALSE(ValueOf(refresher->Take()).has_value());
  REQUIRE(refresher->stats().waited == waited);
}

TEST_CASE("a refresher's end stops its thread alone", "[unit]") {
  const auto script = std::make_shared<Script>();
  const StopToken stop;
  Start(script, stop).reset();
  REQUIRE_FALSE(stop.StopRequested());
}

}  // namespace
}  // namespace waggle
