#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/log_format.h"
#include "common/net/security/security_options.h"
#include "replay_server/service/replay_server.h"

namespace CLI {
class App;
}  // namespace CLI

// The command line of waggle-replay-server.

namespace waggle {

// Smaller values are refused, because they were probably meant in another unit.
inline constexpr int64_t kLeastTableBytes = int64_t{1} << 20;

struct ReplayFlags {
  std::string listen = "127.0.0.1:0";
  std::string advertise;     // Empty: see ReachableAddress.
  std::string param_server;  // Empty: none.
  std::string data_dir;      // Empty: none.
  double checkpoint_seconds = 300;
  int64_t memory_bytes = 0;                                              // For the tables' rows.
  int64_t experiment_bytes = ReplayStoreOptions().max_experiment_bytes;  // For one experiment's rows.
  int64_t max_tables = ReplayStoreOptions().max_tables;
  SavedPolicy if_saved_differs = SavedPolicy::kRefuse;
  std::optional<int64_t> index;
  LogOptions log;
  std::string metrics_listen;  // Empty: serves no metrics.
  SecurityOptions security;

  ReplayServerOptions ServerOptions() const;
};

// Adds every flag to `app`. `flags` has the defaults, and must outlive the parsing. Sets the default of memory_bytes
// for a machine with `machine_bytes` of memory.
void AddReplayFlags(CLI::App* app, int64_t machine_bytes, ReplayFlags* flags);

// A warning if a server with these options may take more memory than the machine, or its control group, has; empty
// otherwise. Not an error, because the system's figure may be wrong, or change.
std::string MemoryWarning(const ReplayServerOptions& options, int64_t machine_bytes);

}  // namespace waggle
