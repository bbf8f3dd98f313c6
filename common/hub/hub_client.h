#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

namespace waggle {

struct HubClientOptions {
  std::string hub_address;           // HOST:PORT of the parameter server.
  std::string experiment_id;         // One of those that run there.
  std::string worker_id;             // This worker's order: see RunWorkerId.
  std::string address;               // HOST:PORT where this process serves; empty if it does not.
  const Metrics* metrics = nullptr;  // Sent with each heartbeat; outlives the link. Null: nothing is sent.

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// Joins the hub and keeps the link up by heartbeats from a thread of its own. Blocks until joined: a hub that is not
// there yet, or does not know of the order yet, is tried again, with a growing pause, for ever. CANCELLED after a stop;
// any other error is the hub's refusal (ALREADY_EXISTS says why this worker was dismissed) and is final.
//
// The returned link's run_over() token is stopped by `stop` too. Destroying the link ends it without a goodbye: call
// Leave first if the process ends in peace.
absl::StatusOr<std::unique_ptr<HubLink>> JoinHub(const HubClientOptions& options, const StopToken& stop);

}  // namespace waggle
