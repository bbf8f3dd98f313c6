#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"

namespace waggle {

// What a worker offers if it can step environments of servers that speak dm_env_rpc. It is also their name.
inline constexpr char kDmEnvRpc[] = "dm_env_rpc";

// `environment.dm_env_rpc:` — environments of servers that speak dm_env_rpc. Each lane has a stream of its own, or each
// `batch` of lanes.
struct DmEnvRpcOptions {
  // HOST:PORT of each server; lanes are spread over them by turns. Empty: the environment is none of these.
  std::vector<std::string> address;
  bool create_world = true;   // Whether each stream creates a world; else it joins one that is there.
  std::string world = "{}";   // Settings that a world is created with: a mapping, as JSON.
  std::string world_name;     // Of the one that is there.
  std::string join = "{}";    // Settings that a world is joined with: a mapping, as JSON.
  std::string seed = "none";  // Which settings get a `seed` of each stream's own: world, join or none.
  // The observations that are asked for, by the server's names; empty: all. Rewards and discounts are always.
  std::vector<std::string> observations;
  // Lanes that one stream steps together, by the setting `lanes`, which Waggle's own server has; 0: one lane a stream.
  int64_t batch = 0;
  double timeout_seconds = 60;  // For an answer to a step; then the stream is opened again.
  // plain; local, which connects to this machine alone; or tls.
  std::string credentials = "plain";
  std::string ca_file;          // Of the authority that has signed the server's certificate; empty: the system's.
  std::string metadata = "{}";  // Sent with each stream: a mapping of lower-case keys to text, as JSON.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
