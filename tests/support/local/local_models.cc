#include "tests/support/local/local_models.h"

#include <utility>

#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

class LocalModelPublisher final : public ModelPublisher {
 public:
  explicit LocalModelPublisher(ModelStore* store) : store_(store) {}

  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& /*stop*/) override {
    return store_->Publish(snapshot);
  }

 private:
  ModelStore* const store_;
};

class LocalModelSubscriber final : public ModelSubscriber {
 public:
  LocalModelSubscriber(ModelStore* store, std::string model)
      : store_(store),
        model_(std::move(model)),
        signal_(std::make_shared<Signal>()),
        subscription_(store->Watch(model_, [signal = signal_] { signal->Notify(); })) {}

  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion> version,
                                                         const StopToken& /*stop*/) override {
    const std::shared_ptr<const StoredModel> newest = store_->Newest(model_);
    if (newest == nullptr || (version.has_value() && !(*version < newest->snapshot.version))) {
      return std::optional<ModelSnapshot>();
    }
    return std::optional<ModelSnapshot>(newest->snapshot);
  }

  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken& /*stop*/) override {
    const std::shared_ptr<const StoredModel> best = store_->Best(model_);
    return best == nullptr ? std::nullopt : std::optional<ModelSnapshot>(best->snapshot);
  }

  absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) override {
    const StopToken::Callback on_stop(stop, [signal = signal_] { signal->Notify(); });
    while (true) {
      const int64_t seen = signal_->Count();  // Read before the check, so that no publication in between is missed.
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped while waiting for newer weights");
      }
      const std::shared_ptr<const StoredModel> newest = store_->Newest(model_);
      if (newest != nullptr && (!version.has_value() || *version < newest->snapshot.version)) {
        return absl::OkStatus();
      }
      signal_->WaitPast(seen);
    }
  }

 private:
  // Shared with callbacks, which may outlive the subscriber.
  class Signal {
   public:
    void Notify() ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      ++count_;
      condition_.SignalAll();
    }
    int64_t Count() ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      return count_;
    }
    void WaitPast(int64_t seen) ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      while (count_ == seen) {
        condition_.Wait(&mutex_);
      }
    }

   private:
    Mutex mutex_;
    CondVar condition_;
    int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  };

  ModelStore* const store_;
  const std::string model_;
  const std::shared_ptr<Signal> signal_;
  const std::unique_ptr<ModelStore::Subscription> subscription_;
};

}  // namespace

std::unique_ptr<ModelPublisher> NewLocalModelPublisher(ModelStore* store) {
  return std::make_unique<LocalModelPublisher>(store);
}

std::unique_ptr<ModelSubscriber> NewLocalModelSubscriber(ModelStore* store, const std::string& model) {
  return std::make_unique<LocalModelSubscriber>(store, model);
}

}  // namespace waggle
