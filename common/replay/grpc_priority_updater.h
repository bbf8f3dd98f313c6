#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/replay/ports/replay.h"
#include "common/replay/replay_link.h"

namespace waggle {

// A PriorityUpdater that sends from its own thread. Updates that come during a call go with the next one. While the
// server is away, updates gather up to a bound. Then the oldest are dropped and counted as unknown, because such a
// server has most likely lost their items. An error that retries cannot mend is returned by the next call.
class GrpcPriorityUpdater final : public PriorityUpdater {
 public:
  GrpcPriorityUpdater(std::shared_ptr<ReplayLink> link, std::string table);
  // Drops unsent updates: call Flush first.
  ~GrpcPriorityUpdater() override;

  // The entries must be valid.
  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Flush(absl::Duration timeout) override ABSL_LOCKS_EXCLUDED(mutex_);
  PriorityUpdateCounts counts() const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Retries one request until it is answered. Returns an error only if it is final or after a stop.
  absl::Status SendUntilAnswered(const v1::UpdatePrioritiesRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<ReplayLink> link_;
  const std::string table_;
  const StopToken stop_;
  mutable Mutex mutex_;
  CondVar changed_;
  v1::UpdatePrioritiesRequest pending_ ABSL_GUARDED_BY(mutex_);  // For the next request.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                 // A request is under way.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  PriorityUpdateCounts counts_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
