#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waggle {

class AccessList;

// How a process's connections are secured: see docs/security.md.
struct SecurityOptions {
  std::string tls;     // The folder with ca.crt, tls.crt and tls.key. Empty: plain text.
  std::string access;  // A server's file of callers. Empty: roles in certificates' names alone.
  absl::StatusOr<AccessList> (*load_access)(const std::string& file) = nullptr;  // LoadAccessList, if `access` is set.
  std::string token_file;  // A token that is sent with each call. Empty: none.
  bool insecure = false;   // True if a server may listen beyond this machine in plain text.
  // The name that servers' certificates must have. Empty: the host that is connected to.
  std::string server_name = "server.waggle";
  absl::Duration reload_period = absl::Seconds(5);  // Until a replaced file is used, at most.
};

}  // namespace waggle
