#pragma once

#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/base/steady_now.h"
#include "common/base/threads/mutex.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Asks the replay servers of experiments why their tables wait, as `waggle why` does. Thread-safe; calls block.
class ReplayWaits {
 public:
  // `timeout` is for each server's answer. Answers are reused for `keep`, so that many pages cost a server no more than
  // one page.
  explicit ReplayWaits(absl::Duration timeout = absl::Seconds(1), absl::Duration keep = absl::Seconds(1));

  // {"tables": [{"table", "server", "verdict", "cause", "summary", "who_could", …}], "unanswered": [{"server",
  // "error"}]} of the servers that the overview names.
  nlohmann::ordered_json Ask(const std::string& experiment_id, const v1::OverviewResponse& overview)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Kept {
    Mutex mutex;  // Held while servers are asked: calls for one experiment wait for each other.
    nlohmann::ordered_json answer ABSL_GUARDED_BY(mutex);
    absl::Time asked_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };
  std::shared_ptr<Kept> Find(const std::string& experiment_id) ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration timeout_;
  const absl::Duration keep_;
  Mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Kept>>> kept_ ABSL_GUARDED_BY(mutex_);  // The newest first.
};

}  // namespace waggle
