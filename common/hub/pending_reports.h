#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Unanswered reports. Each goes into every heartbeat until one with it is answered. Pure logic; not thread-safe.
class PendingReports {
 public:
  void SetEnvironment(const EnvironmentSpec& environment);
  // `finished` is wall-clock time. If too many wait, drops and logs the oldest.
  void AddEvaluation(const Evaluation& evaluation, absl::Time finished);
  void SetFinalVersion(const ModelVersion& version) { final_version_ = version; }
  void SetTurnDone(uint64_t number) { turn_done_ = number; }
  void SetBrokenGroup(uint64_t epoch) { broken_group_ = epoch; }
  void SetCut(const CutReport& report) { cut_ = report; }
  void SetFailure(const absl::Status& failure);

  void Fill(v1::HeartbeatRequest* request) const;
  // `request`, which Fill has filled, was answered.
  void Acknowledge(const v1::HeartbeatRequest& request);
  // A restarted hub does not know the environment, and must be told again.
  void SetEnvironmentKnown(bool known) { environment_known_ = known; }

 private:
  std::optional<EnvironmentSpec> environment_;
  bool environment_known_ = false;         // To the hub, from any worker.
  bool environment_acknowledged_ = false;  // The hub has seen this worker's.
  std::deque<v1::Evaluation> evaluations_;
  int64_t last_finished_us_ = 0;
  std::optional<ModelVersion> final_version_;
  uint64_t turn_done_ = 0;
  uint64_t broken_group_ = 0;
  std::optional<CutReport> cut_;
  std::string failure_;
};

}  // namespace waggle
