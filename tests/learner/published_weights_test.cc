#include "learner/published_weights.h"

#include "tests/learner/answering_subscriber.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::AnsweringSubscriber;

ModelSnapshot Snapshot(const std::string& model, ModelVersion version) {
  ModelSnapshot snapshot;
  snapshot.model = model;
  snapshot.version = version;
  return snapshot;
}

TEST_CASE("the newest weights are loaded once the server is there, with their step", "[unit]") {
  testing::CountingTrainee algorithm;
  AnsweringSubscriber subscriber([](int pull) -> AnsweringSubscriber::Answer {
    if (pull == 0) {
      return absl::UnavailableError("away");
    }
    return Snapshot("counting", {4, 700});
  });
  CHECK(testing::ValueOf(LoadPublishedWeights(&subscriber, StopToken(), &algorithm)) == 700);
  CHECK(algorithm.updates == 700);
  AnsweringSubscriber none([](int) { return std::optional<ModelSnapshot>(); });
  CHECK(testing::ValueOf(LoadPublishedWeights(&none, StopToken(), &algorithm)) == std::nullopt);
}

TEST_CASE("weights that cannot be loaded are an error, and a stop ends the wait", "[unit]") {
  testing::CountingTrainee algorithm;
  AnsweringSubscriber other([](int) { return Snapshot("other", {4, 700}); });
  REQUIRE_CODE(LoadPublishedWeights(&other, StopToken(), &algorithm), absl::StatusCode::kFailedPrecondition);
  AnsweringSubscriber far([](int) { return Snapshot("counting", {4, ~uint64_t{0}}); });
  REQUIRE_CODE(LoadPublishedWeights(&far, StopToken(), &algorithm), absl::StatusCode::kDataLoss);
  const StopToken stop;
  AnsweringSubscriber away([stop](int) -> AnsweringSubscriber::Answer {
    stop.RequestStop();
    return absl::UnavailableError("away");
  });
  REQUIRE_CODE(LoadPublishedWeights(&away, stop, &algorithm), absl::StatusCode::kCancelled);
  CHECK(algorithm.updates == 0);
}

}  // namespace
}  // namespace waggle
