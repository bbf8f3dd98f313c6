#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/external/environment_memory.h"
#include "actor/environments/external/external_spec.h"
#include "common/base/process/child_process.h"

namespace waggle {

struct EnvironmentProcessOptions {
  std::vector<std::string> command;  // The executable's path, then its arguments.
  std::string scheme;                // "gymnasium".
  std::string options_json;          // The scheme's options: an object.
  std::string environment_name;      // The name in errors and the spec.
  std::vector<int64_t> group_lanes;
  int64_t first_lane = 0;
};

// A process of any language that steps lanes of an environment: docs/environment_memory.md. Calls do not block, but may
// wait a fifth of a second for the end of a process that has closed its socket. Errors are UNAVAILABLE if the process
// has ended, INVALID_ARGUMENT if it reports that the environment cannot be opened, and INTERNAL for any other error or
// wrong message. Not thread-safe.
class EnvironmentProcess {
 public:
  // Starts the process, which then opens the environment.
  static absl::StatusOr<std::unique_ptr<EnvironmentProcess>> Start(const EnvironmentProcessOptions& options);
  ~EnvironmentProcess();
  EnvironmentProcess(const EnvironmentProcess&) = delete;
  EnvironmentProcess& operator=(const EnvironmentProcess&) = delete;

  // Poll it for reading, then call Receive.
  int descriptor() const { return socket_; }
  pid_t pid() const { return child_->pid(); }

  // Reads the messages received, and adds the numbers of finished groups to `done`.
  absl::Status Receive(std::vector<size_t>* done);

  // True if the environment is open and the memory arranged, so that groups may run.
  bool ready() const { return ready_; }
  // Present once the process has sent it.
  const std::optional<ExternalSpec>& spec() const { return spec_; }
  std::vector<LaneGroup>& groups() { return memory_.groups(); }

  // Runs the commands of a group that is idle.
  absl::Status Run(size_t group);

 private:
  EnvironmentProcess(EnvironmentProcessOptions options, EnvironmentMemory memory, int socket,
                     std::unique_ptr<ChildProcess> child);

  absl::Status Send(uint8_t kind, size_t group, const std::string& json);
  absl::Status TakeMessage(uint8_t kind, size_t group, const std::string& json, std::vector<size_t>* done);
  absl::Status TakeSpec(const std::string& json);
  // Kills the process and its children, such as a simulator.
  void KillGroup();
  absl::Status Gone();

  const EnvironmentProcessOptions options_;
  EnvironmentMemory memory_;
  const int socket_;
  std::unique_ptr<ChildProcess> child_;
  std::string received_;
  std::vector<bool> running_;  // By group.
  std::optional<ExternalSpec> spec_;
  bool ready_ = false;
};

}  // namespace waggle
