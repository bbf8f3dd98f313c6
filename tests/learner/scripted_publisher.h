#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/model.h"

namespace waggle::testing {

// Answers by a script: `answer` gets the number of the attempt, from 0. Attempts may be read once the publisher's user
// was destroyed or flushed.
class ScriptedPublisher : public ModelPublisher {
 public:
  explicit ScriptedPublisher(std::function<absl::Status(size_t attempt)> answer = nullptr)
      : answer_(std::move(answer)) {}

  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& /*stop*/) override {
    size_t attempt = 0;
    {
      MutexLock lock(&mutex_);
      attempt = snapshots_.size();
      snapshots_.push_back(snapshot);
    }
    return answer_ != nullptr ? answer_(attempt) : absl::OkStatus();
  }

  std::vector<ModelVersion> versions() const {
    MutexLock lock(&mutex_);
    std::vector<ModelVersion> versions;
    for (const ModelSnapshot& snapshot : snapshots_) {
      versions.push_back(snapshot.version);
    }
    return versions;
  }

 private:
  const std::function<absl::Status(size_t)> answer_;
  mutable Mutex mutex_;
  std::vector<ModelSnapshot> snapshots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle::testing
