#pragma once

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/api/table_config.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {

// One replay server, as everything that talks to it shares it: its address, the channel for unary calls, and the tables
// that were created through it. Thread-safe.
class ReplayLink {
 public:
  explicit ReplayLink(const std::string& address);

  const std::string& address() const { return address_; }
  v1::ReplayService::StubInterface* stub() const { return stub_.get(); }

  // Creates the table, trying again for as long as the server is away. FAILED_PRECONDITION if another one of that name
  // is there; CANCELLED after a stop.
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether a table of this name was created through this link.
  bool HasCreated(const std::string& table) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Creates the tables again that were created through this link, trying once: after a server has lost them.
  absl::Status RestoreTables(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status TryCreate(const TableConfig& config, const StopToken& stop) const;

  const std::string address_;
  const std::unique_ptr<v1::ReplayService::StubInterface> stub_;
  mutable Mutex mutex_;
  std::map<std::string, TableConfig> tables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
