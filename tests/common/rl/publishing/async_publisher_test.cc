#include "common/rl/publishing/async_publisher.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/reason.h"
#include "tests/learner/scripted_publisher.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ScriptedPublisher;

ModelSnapshot Version(uint64_t version) {
  ModelSnapshot snapshot;
  snapshot.version = {1, version};
  return snapshot;
}

// Publishes a version, and returns once it is there.
absl::Status PublishAndFlush(AsyncPublisher* publisher, uint64_t version) {
  REQUIRE_OK(publisher->Publish(Version(version)));
  return publisher->Flush(absl::Seconds(60));
}

TEST_CASE("weights are published in their order and the last one always", "[unit]") {
  ScriptedPublisher port;
  AsyncPublisher publisher(&port, {});
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
  AsyncPublisher publisher(&port, {});
  REQUIRE_OK(publisher.Publish(Version(1)));
  arrived.Wait();
  REQUIRE_OK(publisher.Publish(Version(2)));
  REQUIRE_OK(publisher.Publish(Version(3)));
  released.RequestStop();
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 3}}));
}

TEST_CASE("publishing is retried while the server is away", "[unit]") {
  ScriptedPublisher port(
      [](size_t attempt) { return attempt < 2 ? absl::UnavailableError("away") : absl::OkStatus(); });
  AsyncPublisher publisher(&port, {});
  REQUIRE_OK(PublishAndFlush(&publisher, 1));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 1}, {1, 1}}));
}

TEST_CASE("a version that arrived although its answer was lost counts as published", "[unit]") {
  ScriptedPublisher port([](size_t attempt) {
    return attempt == 0   ? absl::UnavailableError("away")
           : attempt == 1 ? absl::FailedPreconditionError("not newer")
                          : absl::OkStatus();
  });
  AsyncPublisher publisher(&port, {});
  REQUIRE_OK(PublishAndFlush(&publisher, 1));
  REQUIRE_OK(PublishAndFlush(&publisher, 2));
  CHECK((port.versions() == std::vector<ModelVersion>{{1, 1}, {1, 1}, {1, 2}}));
}

TEST_CASE("the last version of a learner that was fenced off while the server was away does not count as published",
          "[unit]") {
  ScriptedPublisher port([](size_t attempt) {
    return attempt == 0 ? absl::UnavailableError("away")
                        : WithReason(reasons::kLaterLearner, absl::FailedPreconditionError("epoch 2 has published"));
  });
  AsyncPublisher publisher(&port, {});
  REQUIRE_CODE(PublishAndFlush(&publisher, 1), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a refusal is final, and every later call returns it", "[unit]") {
  ScriptedPublisher port([](size_t) { return absl::FailedPreconditionError("a later learner has published"); });
  AsyncPublisher publisher(&port, {});
  REQUIRE_CODE(PublishAndFlush(&publisher, 1), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(publisher.Publish(Version(2)), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(publisher.Flush(absl::Seconds(60)), absl::StatusCode::kFailedPrecondition);
  CHECK(port.versions().size() == 1);
}

TEST_CASE("a flush ends after its time and destruction does not wait for an absent server", "[unit]") {
  ScriptedPublisher port([](size_t) { return absl::UnavailableError("away"); });
  AsyncPublisher publisher(&port, {});
  REQUIRE_OK(publisher.Publish(Version(1)));
  REQUIRE_CODE(publisher.Flush(absl::Milliseconds(1)), absl::StatusCode::kDeadlineExceeded);
}

// A server that never answers.
class MutePublisher : public ModelPublisher {
 public:
  absl::Status Publish(const ModelSnapshot&, const StopToken& stop) override {
    called.RequestStop();
    stop.Wait();
    return absl::CancelledError("stopped");
  }
  const StopToken called;
};

TEST_CASE("the publisher's end does not wait for a server that does not answer", "[unit]") {
  MutePublisher port;
  {
    AsyncPublisher publisher(&port, {});
    REQUIRE_OK(publisher.Publish(Version(1)));
    port.called.Wait();
  }
  SUCCEED("it has ended");
}

// A server that has versions alone. It refuses a version that is not newer, and can lose its own.
class ForgetfulServer : public ModelPublisher {
 public:
  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& /*stop*/) override {
    MutexLock lock(&mutex_);
    taken_.push_back(snapshot.version);
    changed_.SignalAll();
    if (newest_.has_value() && !(*newest_ < snapshot.version)) {
      return absl::FailedPreconditionError("not newer");
    }
    newest_ = snapshot.version;
    return absl::OkStatus();
  }
  std::optional<ModelVersion> Newest() const {
    MutexLock lock(&mutex_);
    return newest_;
  }
  void Become(std::optional<ModelVersion> newest) {
    MutexLock lock(&mutex_);
    newest_ = newest;
  }
  // Attempts so far; waits for at least `count`.
  std::vector<ModelVersion> WaitForAttempts(size_t count) {
    const Deadline deadline(absl::Seconds(60));
    MutexLock lock(&mutex_);
    while (taken_.size() < count && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
    return taken_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<ModelVersion> newest_ ABSL_GUARDED_BY(mutex_);
  std::vector<ModelVersion> taken_ ABSL_GUARDED_BY(mutex_);
};

TEST_CASE("weights that a restarted server has lost are published again without a further step", "[unit]") {
  ForgetfulServer server;
  AsyncPublisher publisher(&server, {[&server] { return server.Newest(); }, absl::Milliseconds(1)});
  REQUIRE_OK(PublishAndFlush(&publisher, 7));
  const bool empty = GENERATE(true, false);
  server.Become(empty ? std::nullopt : std::make_optional(ModelVersion{1, 3}));
  const std::vector<ModelVersion> attempts = server.WaitForAttempts(2);
  REQUIRE(attempts.size() >= 2);
  CHECK(attempts[1] == ModelVersion{1, 7});
  REQUIRE_OK(PublishAndFlush(&publisher, 8));
  CHECK(server.Newest() == ModelVersion{1, 8});
}

TEST_CASE("weights are not published again if the server has them or a later learner's", "[unit]") {
  const ModelVersion newest = GENERATE(ModelVersion{1, 7}, ModelVersion{2, 0});
  ForgetfulServer server;
  const StopToken asked_often;
  std::atomic<int> asked{0};
  AsyncPublisher publisher(&server, {[&] {
                                       if (++asked == 3) {
                                         asked_often.RequestStop();
                                       }
                                       return std::make_optional(newest);
                                     },
                                     absl::Milliseconds(1)});
  REQUIRE_OK(PublishAndFlush(&publisher, 7));
  REQUIRE(asked_often.WaitFor(absl::Seconds(60)));
  CHECK(server.WaitForAttempts(1).size() == 1);
}

TEST_CASE("a server that reports its version late is not a failure, and a later learner is still noticed", "[unit]") {
  ForgetfulServer server;
  AsyncPublisher publisher(&server, {[] { return std::nullopt; }, absl::Milliseconds(1)});
  REQUIRE_OK(publisher.Publish(Version(7)));
  REQUIRE(server.WaitForAttempts(3).size() >= 3);
  CHECK(server.Newest() == ModelVersion{1, 7});
  server.Become(ModelVersion{2, 0});
  REQUIRE_CODE(PublishAndFlush(&publisher, 8), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle
