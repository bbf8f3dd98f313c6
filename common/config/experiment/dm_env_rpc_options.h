#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"

namespace waggle {

// Workers that can step environments of dm_env_rpc servers offer this. It is also the environments' name.
inline constexpr char kDmEnvRpc[] = "dm_env_rpc";

// `environment.dm_env_rpc:` — environments of servers that speak dm_env_rpc. Each lane, or each `batch` of lanes, has a
// stream of its own.
struct DmEnvRpcOptions {
  // HOST:PORT of each server; lanes are spread over them by turns. Empty: the environment is not of dm_env_rpc.
  std::vector<std::string> address;
  bool create_world = true;   // If true each stream creates a world; otherwise it joins an existing one.
  std::string world = "{}";   // Settings that a world is created with: a mapping, as JSON.
  std::string world_name;     // The world that is joined.
  std::string join = "{}";    // Settings that a world is joined with: a mapping, as JSON.
  std::string seed = "none";  // The settings that get a `seed` of each stream's own: world, join or none.
  // The observations to ask for, by the server's names; empty: all. Rewards and discounts always come.
  std::vector<std::string> observations;
  // Lanes that one stream steps together, by the setting `lanes`, which Waggle's own server has; 0: one lane a stream.
  int64_t batch = 0;
  double timeout_seconds = 60;  // For an answer to a step; after it the stream is opened again.
  // plain; local, which connects to this machine alone; or tls.
  std::string credentials = "plain";
  std::string ca_file;          // Certificate of the authority that signed the server's; empty: the system's
                                // authorities.
  std::string metadata = "{}";  // Sent with each stream: a mapping of lower-case keys to text, as JSON.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
