#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "actor/environments/restarts.h"
#include "actor/environments/rpc/rpc_session.h"

namespace waggle {

struct RpcEnvironmentsOptions {
  struct Server {
    std::string address;  // For messages.
    std::shared_ptr<grpc::Channel> channel;
  };
  std::vector<Server> servers;  // Streams are assigned to them in turn.
  RpcSessionOptions session;    // Each stream's settings, without its lanes and seed.
  int64_t lanes = 1;
  int64_t batch = 0;         // Lanes of a stream, which its server steps together; 0: one lane without a dimension.
  bool seeds_world = false;  // Gives each stream's world its own setting "seed".
  bool seeds_join = false;   // Gives each stream's join its own setting "seed".
  bool in_order = false;     // See LaneOptions.
  uint64_t seed = 0;         // Determines each stream's seed.
  absl::Duration open_patience = absl::Seconds(20);  // Limit for the first streams to reach their servers.
  absl::Duration open_timeout = absl::Minutes(2);    // From a stream's first message until it is ready.
  absl::Duration answer_timeout = absl::Minutes(1);  // For an answer to a step.
  RestartOptions restarts;                           // Each stream's.
};

// The session of a stream of `lanes` lanes from `first_lane` on; `opening` counts its openings: 1, 2, ….
// A reopened stream has other seeds, so that it does not repeat earlier draws. `world_name` is the world created for
// it before, or empty.
RpcSessionOptions SessionOfStream(const RpcEnvironmentsOptions& options, int64_t first_lane, int64_t lanes,
                                  int64_t opening, const std::string& world_name);

}  // namespace waggle
