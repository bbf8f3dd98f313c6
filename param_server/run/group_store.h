#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"

namespace waggle {

struct GroupStoreOptions {
  size_t max_keys = 4'096;
  size_t max_key_bytes = 512;
  size_t max_value_bytes = size_t{64} << 10;
  size_t max_bytes = size_t{16} << 20;  // All keys and values.
  size_t max_asked = 1'024;             // Keys of one Get.
  size_t max_waiting = 4'096;           // Calls of Get that wait for their keys.
};

// The map by which the learners of one group find each other. Errors as KeyStore. Thread-safe; no call blocks.
class GroupStore {
 public:
  using Reply = std::function<void(absl::StatusOr<std::vector<std::string>> values)>;

  explicit GroupStore(const GroupStoreOptions& options = GroupStoreOptions()) : options_(options) {}

  // Empties the map for this group. Calls that wait for keys of the last group end with FAILED_PRECONDITION.
  void Begin(uint64_t epoch) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status Set(uint64_t epoch, const std::string& key, const std::string& value) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<int64_t> Add(uint64_t epoch, const std::string& key, int64_t amount) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<bool> Delete(uint64_t epoch, const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `reply` once, outside the lock, before this returns. If a key is missing and `wait` is set, returns a number
  // for Forget instead: the thread that sets the last key calls `reply`.
  std::optional<int64_t> Get(uint64_t epoch, const std::vector<std::string>& keys, bool wait, Reply reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls the waiting reply with CANCELLED, unless another thread has called it or is about to.
  void Forget(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    std::vector<std::string> keys;
    Reply reply;
  };

  absl::Status CheckLocked(uint64_t epoch, const std::string& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PutLocked(const std::string& key, const std::string& value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // NOT_FOUND if a key is missing.
  absl::StatusOr<std::vector<std::string>> FindLocked(const std::vector<std::string>& keys) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replies to calls whose keys are all set.
  void AnswerWaiting() ABSL_LOCKS_EXCLUDED(mutex_);

  const GroupStoreOptions options_;
  mutable Mutex mutex_;
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: there is no group yet.
  std::map<std::string, std::string> values_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
