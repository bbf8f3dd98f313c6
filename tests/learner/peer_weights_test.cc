#include "learner/peer_weights.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/learner/answering_subscriber.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Answer = testing::AnsweringSubscriber::Answer;

struct Fixture {
  PeerWeights Peers(uint64_t obeyed = 0) {
    return PeerWeights(
        &hub,
        [this](const std::string& experiment_id) {
          asked.push_back(experiment_id);
          return std::make_unique<testing::AnsweringSubscriber>([this](int) { return answer; });
        },
        &trainee, obeyed);
  }
  static ModelSnapshot Weights(const std::string& model) {
    ModelSnapshot snapshot;
    snapshot.model = model;
    snapshot.version = {4, 700};
    return snapshot;
  }

  testing::FakeHubLink hub;
  testing::CountingTrainee trainee;
  Answer answer = Weights("counting");
  std::vector<std::string> asked;
};

TEST_CASE("each order's weights are loaded once", "[unit]") {
  Fixture fixture;
  PeerWeights peers = fixture.Peers();
  CHECK_FALSE(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  fixture.hub.before.exploit = {"a", 1};
  CHECK(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  CHECK(fixture.trainee.updates == 700);
  CHECK_FALSE(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  fixture.hub.before.exploit = {"b", 3};
  CHECK(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  CHECK(peers.obeyed() == 3);
  CHECK(fixture.asked == std::vector<std::string>{"a", "b"});
}

TEST_CASE("an order that an earlier learner has obeyed is not obeyed again", "[unit]") {
  Fixture fixture;
  fixture.hub.before.exploit = {"a", 2};
  PeerWeights peers = fixture.Peers(/*obeyed=*/2);
  CHECK_FALSE(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  CHECK(fixture.asked.empty());
}

TEST_CASE("an order to take weights that are not there is dropped", "[unit]") {
  Fixture fixture;
  PeerWeights peers = fixture.Peers();
  fixture.hub.before.exploit = {"ended", 1};
  fixture.answer = absl::NotFoundError("it does not run here any more");
  CHECK_FALSE(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  fixture.hub.before.exploit = {"new", 2};
  fixture.answer = std::optional<ModelSnapshot>();
  CHECK_FALSE(testing::ValueOf(peers.TakeIfOrdered(StopToken())));
  CHECK(peers.obeyed() == 2);
  CHECK(fixture.trainee.updates == 0);
}

TEST_CASE("weights of another network and a stop are errors, and the order stays", "[unit]") {
  Fixture fixture;
  PeerWeights peers = fixture.Peers();
  fixture.hub.before.exploit = {"a", 1};
  fixture.answer = Fixture::Weights("other");
  REQUIRE_CODE(peers.TakeIfOrdered(StopToken()).status(), absl::StatusCode::kFailedPrecondition);
  const StopToken stop;
  stop.RequestStop();
  fixture.answer = absl::UnavailableError("away");
  REQUIRE_CODE(peers.TakeIfOrdered(stop).status(), absl::StatusCode::kCancelled);
  CHECK(peers.obeyed() == 0);
}

}  // namespace
}  // namespace waggle
