#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/config/table/table_config.h"
#include "common/net/keepalive.h"
#include "common/replay/ports/replay.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {

// The shared state of all clients of one replay server: its address, the channel for unary calls, and the tables that
// were created through this link. Thread-safe.
class ReplayLink {
 public:
  // Returns the server's current address; empty if unknown. Called from any thread before each attempt to connect.
  using Find = std::function<std::string()>;

  // `address` is HOST:PORT, or empty until `find` returns it. The tables are `experiment_id`'s; empty: no experiment's.
  explicit ReplayLink(const std::string& address, Find find = nullptr, const Keepalive& keepalive = kClientKeepalive,
                      std::string experiment_id = "");

  // For messages, also if the address is unknown.
  std::string address() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The table's name at the server.
  std::string NameThere(const std::string& table) const;
  const Keepalive& keepalive() const { return keepalive_; }  // For every channel to the server.
  std::shared_ptr<v1::ReplayService::StubInterface> stub() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks the server up and returns the address to connect to. Must be called before each attempt that follows a failed
  // one. Returns an address that refuses connections if the server's is unknown.
  std::string FindAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Creates the table, and retries while the server is away. FAILED_PRECONDITION if another table has the name;
  // CANCELLED after a stop.
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  // See ReplayConnection::Checkpoint.
  absl::Status Checkpoint(const ReplayCut& cut, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a table for RestoreTables.
  void WantTable(const TableConfig& config) ABSL_LOCKS_EXCLUDED(mutex_);

  bool HasCreated(const std::string& table) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Creates all of this link's tables again, after a server has lost them. Tries once.
  absl::Status RestoreTables(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<v1::ReplayService::StubInterface> NewStub(const std::string& address) const;
  absl::Status TryCreate(const TableConfig& config, const StopToken& stop);

  const Find find_;  // May be empty.
  const Keepalive keepalive_;
  const std::string experiment_id_;
  mutable Mutex mutex_;
  std::string address_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<v1::ReplayService::StubInterface> stub_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, TableConfig> tables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
