#include "learner/async_publisher.h"

#include "tests/learner/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ScriptedPublisher;

ModelSnapshot Version(uint64_t version) {
  ModelSnapshot snapshot;
  snapshot.version = {1, version};
  return snapshot;
}

TEST_CASE("weights are published in their order and the last one always", "[unit]") {
  ScriptedPublisher port;
  AsyncPublisher publisher(&port);
  for (uint64_t version = 1; version <= 20; ++version) {
    REQUIRE_OK(publisher.Publish(Version(version)));
  }
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  const std::vector<ModelVersion> versions = port.versions();
  CHECK(std::is_sorted(versions.begin(), versions.end()));
  CHECK(versions.back() == ModelVersion{1, 20});
}

TEST_CASE("a version that waits is replaced by a newer one", "[unit]") {
  const StopToken released;
  const StopToken arrived;
  ScriptedPublisher port([&](size_t) {
    arrived.RequestStop();
    released.Wait();
    return absl::OkStatus();
  });
  AsyncPublisher publisher(&port);
  REQUIRE_OK(publisher.Publish(Version(1)));
  arrived.Wait();
  REQUIRE_OK(publisher.Publish(Version(2)));
  REQUIRE_OK(publisher.Publish(Version(3)));
  released.RequestStop();
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 3}}));
}

TEST_CASE("while the server is away publishing is tried again", "[unit]") {
  ScriptedPublisher port(
      [](size_t attempt) { return attempt < 2 ? absl::UnavailableError("away") : absl::OkStatus(); });
  AsyncPublisher publisher(&port);
  REQUIRE_OK(publisher.Publish(Version(1)));
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 1}, {1, 1}}));
}

TEST_CASE("a version that arrived although its answer was lost counts as published", "[unit]") {
  ScriptedPublisher port([](size_t attempt) {
    return attempt == 0   ? absl::UnavailableError("away")
           : attempt == 1 ? absl::FailedPreconditionError("not newer")
                          : absl::OkStatus();
  });
  AsyncPublisher publisher(&port);
  REQUIRE_OK(publisher.Publish(Version(1)));
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  REQUIRE_OK(publisher.Publish(Version(2)));
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 1}, {1, 2}}));
}

TEST_CASE("a refusal is final and every later call says so", "[unit]") {
  ScriptedPublisher port([](size_t) { return absl::FailedPreconditionError("a later learner has published"); });
  AsyncPublisher publisher(&port);
  REQUIRE_OK(publisher.Publish(Version(1)));
  REQUIRE_CODE(publisher.Flush(absl::Seconds(60)), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(publisher.Publish(Version(2)), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(publisher.Flush(absl::Seconds(60)), absl::StatusCode::kFailedPrecondition);
  CHECK(port.versions().size() == 1);
}

TEST_CASE("a flush ends after its time and destruction does not wait for an absent server", "[unit]") {
  ScriptedPublisher port([](size_t) { return absl::UnavailableError("away"); });
  AsyncPublisher publisher(&port);
  REQUIRE_OK(publisher.Publish(Version(1)));
  REQUIRE_CODE(publisher.Flush(absl::Milliseconds(1)), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace waggle
