#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"
#include "common/metrics/metrics.h"

namespace waggle {

struct HubClientOptions {
  std::string hub_address;    // HOST:PORT of the parameter server.
  std::string experiment_id;  // One of those that run there.
  // This worker's id; empty: a new one is made.
  std::string worker_id;
  Role role = Role::kActor;  // This process's.
  std::string address;       // HOST:PORT at which this process serves; empty if it does not.
  // This process's index in its role, if its user chooses one; otherwise the hub gives one out.
  std::optional<int64_t> index;
  const Metrics* metrics = nullptr;  // Sent with each heartbeat; outlives the link. Null: nothing is sent.
  // The longest search for the hub at the start. Once joined, the search for a lost hub has no end.
  absl::Duration give_up_after = absl::InfiniteDuration();

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// Joins the hub and keeps the link up by heartbeats from a thread of its own. Blocks until joined: a hub that is not
// there yet is tried again, with a growing pause. CANCELLED after a stop; UNAVAILABLE after `give_up_after`; any other
// error is the hub's refusal (FAILED_PRECONDITION names both versions if the software differs; ALREADY_EXISTS names the
// living process that has this one's index) and is final.
//
// The returned link's run_over() token is stopped by `stop` too. Destroying the link ends it without a goodbye: call
// Leave first if the process ends in peace.
absl::StatusOr<std::unique_ptr<HubLink>> JoinHub(const HubClientOptions& options, const StopToken& stop);

}  // namespace waggle
