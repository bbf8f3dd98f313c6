// A parameter server that comes back empty, as it does: weights live in its memory only.

#include <memory>
#include <optional>
#include <utility>

#include "common/rl/publishing/async_publisher.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_models.h"

namespace waggle {
namespace {

// One address, and the parameter server that is there now.
class ServerThatRestarts : public ModelPublisher {
 public:
  ServerThatRestarts() : models_(std::make_shared<ModelStore>(ModelStoreOptions())) {}

  void Restart() {
    auto empty = std::make_shared<ModelStore>(ModelStoreOptions());
    MutexLock lock(&mutex_);
    std::swap(models_, empty);
  }
  std::shared_ptr<ModelStore> models() const {
    MutexLock lock(&mutex_);
    return models_;
  }
  // What a heartbeat says.
  std::optional<ModelVersion> KnownVersion() const {
    const std::shared_ptr<const StoredModel> newest = models()->Newest("policy");
    return newest == nullptr ? std::nullopt : std::make_optional(newest->snapshot.version);
  }
  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& stop) override {
    const std::shared_ptr<ModelStore> models_now = models();
    return NewLocalModelPublisher(models_now.get())->Publish(snapshot, stop);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<ModelStore> models_ ABSL_GUARDED_BY(mutex_);
};

ModelSnapshot Weights(uint64_t step) {
  ModelSnapshot snapshot;
  snapshot.model = "policy";
  snapshot.version = {4, step};
  return snapshot;
}

TEST_CASE("an actor gets its weights from a parameter server that was restarted while the learner waits for the actor",
          "[unit]") {
  ServerThatRestarts server;
  AsyncPublisher publisher(&server, {[&server] { return server.KnownVersion(); }, absl::Milliseconds(1)});
  REQUIRE_OK(publisher.Publish(Weights(100)));
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  server.Restart();
  // The learner takes no step from here on.
  const std::shared_ptr<ModelStore> models = server.models();
  const auto actor = NewLocalModelSubscriber(models.get(), "policy");
  REQUIRE_OK(actor->WaitNewer(std::nullopt, StopToken()));
  CHECK(testing::ValueOf(actor->PullNewer(std::nullopt, StopToken()))->version == ModelVersion{4, 100});
  REQUIRE_OK(publisher.Publish(Weights(101)));
  REQUIRE_OK(publisher.Flush(absl::Seconds(60)));
  CHECK(server.KnownVersion() == ModelVersion{4, 101});
}

}  // namespace
}  // namespace waggle
