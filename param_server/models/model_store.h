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
#include "common/base/steady_now.h"
#include "common/base/tensor/spare_block.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/model.h"

namespace waggle {

// A published version, shared by all its readers. Immutable.
struct StoredModel {
  ModelSnapshot snapshot;
  uint64_t checksum = 0;  // The checksum of snapshot.data: common/base/tensor/checksum.h.
};

struct ModelStoreOptions {
  // Kept versions and uploads together, without old versions that are still read or stay for `hold_after`, and without
  // the spare block.
  int64_t max_bytes = int64_t{16} << 30;
  int64_t max_models = 1'000;
  int64_t max_holders = 16;  // Another one replaces the holder that pulled the longest ago.
  // The time that a version stays after its holder took another one: an evaluation of it may still arrive.
  absl::Duration hold_after = absl::Seconds(2);
  std::function<absl::Time()> clock = &SteadyNow;

  absl::Status Validate() const;
};

// The newest version of each model, its best one, and each holder's last one. Thread-safe. Readers share one immutable
// copy; an old version's memory is freed after its last reader.
class ModelStore {
 public:
  // The options must be valid.
  explicit ModelStore(const ModelStoreOptions& options);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  // Makes a version the model's newest and tells its watchers. The snapshot's bytes are shared, not copied.
  // INVALID_ARGUMENT for a bad name or tensors that do not fit the bytes; FAILED_PRECONDITION for a version that is not
  // newer than the present one, with reasons::kLaterLearner if that has a later epoch; RESOURCE_EXHAUSTED above the
  // limits. The old version stays after every error.
  absl::Status Publish(ModelSnapshot snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest version; null before the first.
  std::shared_ptr<const StoredModel> Newest(absl::string_view model) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps a version until this holder pulls another one, and `hold_after` longer. A version that an evaluator found
  // good is then still there when the evaluator reports, even if newer ones were published.
  void Hold(const std::string& holder, std::shared_ptr<const StoredModel> model) ABSL_LOCKS_EXCLUDED(mutex_);
  // Releases the versions of holders for which `stays` is false.
  void KeepHolders(const std::function<bool(const std::string& holder)>& stays) ABSL_LOCKS_EXCLUDED(mutex_);
  // A version that is still kept; otherwise null.
  std::shared_ptr<const StoredModel> Find(absl::string_view model, const ModelVersion& version) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a version the model's best. Returns the former best, so that the caller frees its memory.
  std::shared_ptr<const StoredModel> SetBest(std::shared_ptr<const StoredModel> model) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null if there is no best version.
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

  // Calls `listener` after each publication of the model, in the publishing thread and outside every lock. It may still
  // run while the subscription is destroyed, so it must own what it uses. The model need not exist yet. The store
  // outlives the subscription.
  std::unique_ptr<Subscription> Watch(absl::string_view model, std::function<void()> listener)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls the listeners of all models.
  void WakeAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ModelUpload;

  struct Watcher {
    std::string model;
    std::function<void()> listener;
  };

  // Begins an upload: checks that the version would be accepted and that `bytes` more fit. They count against the limit
  // until they are released.
  absl::Status Reserve(const ModelSnapshot& header, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // `reserved` of the bytes were counted by Reserve; they are released in every case.
  absl::Status PublishChecked(std::shared_ptr<StoredModel> model, int64_t reserved) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckLocked(const ModelSnapshot& header, int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The bytes of all kept versions, each once, without `leaving` as the newest of its model.
  int64_t BytesLocked(const StoredModel* leaving) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Held {
    std::shared_ptr<const StoredModel> model;
    absl::Time since;
  };
  using HeldModels = std::deque<Held>;  // One holder's; the last is its last pull.
  // Moves out versions that the holder left longer than `hold_after` ago.
  void DropLeftLocked(absl::Time now, HeldModels* models, std::vector<Held>* dropped) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using ByName = std::map<std::string, std::shared_ptr<const StoredModel>, std::less<>>;

  const ModelStoreOptions options_;
  SpareBlock spare_;  // The memory of a version without readers, for the next upload.
  mutable Mutex mutex_;
  ByName models_ ABSL_GUARDED_BY(mutex_);
  ByName best_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, HeldModels> held_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  int64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Uploads under way.
};

// INVALID_ARGUMENT unless the model's name and its tensors are valid, with different names, and their sizes add up to
// `bytes`.
absl::Status ValidateModel(const ModelSnapshot& header, uint64_t bytes);

// "epoch 2, version 1500", for messages.
std::string DebugString(const ModelVersion& version);

}  // namespace waggle
