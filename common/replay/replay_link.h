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
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {

// One replay server, as everything that talks to it shares it: its address, the channel for unary calls, and the tables
// that were created through it. Thread-safe.
class ReplayLink {
 public:
  // Says where the server is now; empty where that is not known. Called from any thread, at every attempt to reach it.
  using Find = std::function<std::string()>;

  // To HOST:PORT; empty: that is not known yet, and nobody is reached until `find` gives it. Of the tables of this
  // experiment; empty: of those that belong to none.
  explicit ReplayLink(const std::string& address, Find find = nullptr, const Keepalive& keepalive = kClientKeepalive,
                      std::string experiment_id = "");

  // For people: also where it is not known yet.
  std::string address() const ABSL_LOCKS_EXCLUDED(mutex_);
  // What the server calls a table.
  std::string NameThere(const std::string& table) const;
  const Keepalive& keepalive() const { return keepalive_; }  // Of every channel to the server.
  std::shared_ptr<v1::ReplayService::StubInterface> stub() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Asks where the server is: to be called before every attempt to reach it after one that failed. Returns what is to
  // be connected to: its address, or one at which nobody is.
  std::string FindAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Creates the table, trying again for as long as the server is away. FAILED_PRECONDITION if another one of that name
  // is there; CANCELLED after a stop.
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  // Has RestoreTables create the table, as if it had been created through this link.
  void WantTable(const TableConfig& config) ABSL_LOCKS_EXCLUDED(mutex_);

  // True if a table of this name was created through this link.
  bool HasCreated(const std::string& table) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Creates the tables again that were created through this link, trying once: after a server has lost them.
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
