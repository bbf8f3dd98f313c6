#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"
#include "common/tensor/spare_block.h"

namespace waggle {

// A published version, as it is handed to every reader. Immutable.
struct StoredModel {
  ModelSnapshot snapshot;
  uint64_t checksum = 0;  // Of snapshot.data; see common/tensor/checksum.h.
};

struct ModelStoreOptions {
  // Of all versions that are kept and of what is being uploaded, together; not of old versions that are still read or
  // stay for `hold_after`, nor of one that is kept for the next upload to fill.
  int64_t max_bytes = int64_t{16} << 30;
  int64_t max_models = 1'000;
  int64_t max_holders = 16;  // One more, and the one that pulled the longest ago holds nothing any more.
  // How long a version stays that a holder has left for another: what it has to say of it may be on its way.
  absl::Duration hold_after = absl::Seconds(2);
  std::function<absl::Time()> clock = &SteadyNow;

  absl::Status Validate() const;
};

// The newest version of each model, by name, its best one, and what holders have pulled last. Thread-safe. Readers
// share one immutable copy, so an old version's memory goes when its last reader is done with it.
class ModelStore {
 public:
  // The options must be valid.
  explicit ModelStore(const ModelStoreOptions& options);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  // Makes a version the model's newest and tells its watchers. The snapshot's bytes are shared, not copied.
  // INVALID_ARGUMENT for a bad name or tensors that do not fit the bytes; FAILED_PRECONDITION for a version that is not
  // newer than the one there is, with reasons::kLaterLearner where that is of a later epoch; RESOURCE_EXHAUSTED above
  // the limits. The old version stays after every error.
  absl::Status Publish(ModelSnapshot snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest version; null before the first.
  std::shared_ptr<const StoredModel> Newest(absl::string_view model) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Has a version kept until this holder pulls another one, and `hold_after` longer: so that what an evaluator found
  // good is still there when it says so, though newer versions were published.
  void Hold(const std::string& holder, std::shared_ptr<const StoredModel> model) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets go what holders hold that do not stay.
  void KeepHolders(const std::function<bool(const std::string& holder)>& stays) ABSL_LOCKS_EXCLUDED(mutex_);
  // A version that is still kept, for whatever reason; null otherwise.
  std::shared_ptr<const StoredModel> Find(absl::string_view model, const ModelVersion& version) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a version the model's best. Returns what was that before, so that its memory goes where the caller lets it.
  std::shared_ptr<const StoredModel> SetBest(std::shared_ptr<const StoredModel> model) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null where none is known.
  std::shared_ptr<const StoredModel> Best(absl::string_view model) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps a listener registered until it is destroyed.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class ModelStore;
    Subscription(ModelStore* store, int64_t id) : store_(store), id_(id) {}
    ModelStore* const store_;
    const int64_t id_;
  };

  // Calls `listener` after each publication of the model, in the publishing thread and outside every lock; it reads
  // Newest() for itself. It may still run while the subscription is destroyed, so it should own what it touches. The
  // model need not exist yet. The store outlives the subscription.
  std::unique_ptr<Subscription> Watch(absl::string_view model, std::function<void()> listener)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls the listeners of all models, though nothing was published.
  void WakeAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ModelUpload;

  struct Watcher {
    std::string model;
    std::function<void()> listener;
  };

  // What an upload needs to be begun: that the version would be accepted and `bytes` more fit. They count against the
  // limit until they are released.
  absl::Status Reserve(const ModelSnapshot& header, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // `reserved` of the bytes have been counted by Reserve and are released whatever happens.
  absl::Status PublishChecked(std::shared_ptr<StoredModel> model, int64_t reserved) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckLocked(const ModelSnapshot& header, int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Of all versions that are kept, each once, but for `leaving` as the newest of its model.
  int64_t BytesLocked(const StoredModel* leaving) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Held {
    std::shared_ptr<const StoredModel> model;
    absl::Time since;
  };
  using HeldModels = std::deque<Held>;  // Of one holder; the last is what it has pulled last.
  // Moves out what the holder left long enough ago.
  void DropLeftLocked(absl::Time now, HeldModels* models, std::vector<Held>* dropped) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using ByName = std::map<std::string, std::shared_ptr<const StoredModel>, std::less<>>;

  const ModelStoreOptions options_;
  SpareBlock spare_;  // The last version that nobody reads any more, for the next upload.
  mutable Mutex mutex_;
  ByName models_ ABSL_GUARDED_BY(mutex_);
  ByName best_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, HeldModels> held_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  int64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Of uploads under way.
};

// INVALID_ARGUMENT unless the model's name and its tensors are valid, with names of their own, and their sizes add up
// to `bytes`.
absl::Status ValidateModel(const ModelSnapshot& header, uint64_t bytes);

// "epoch 2, version 1500", for messages.
std::string DebugString(const ModelVersion& version);

}  // namespace waggle
