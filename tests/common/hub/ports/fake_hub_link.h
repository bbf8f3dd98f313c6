#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

namespace waggle::testing {

// A link whose assignment becomes `after` with a wait. One thread.
class FakeHubLink : public HubLink {
 public:
  Assignment assignment() const override { return before; }
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken&) override {
    if (!refusal.ok()) {
      return refusal;
    }
    return condition(after) ? absl::StatusOr<Assignment>(after) : absl::CancelledError("the run is over");
  }
  void ReportEnvironment(const EnvironmentSpec&) override {}
  void ReportEvaluation(const Evaluation&) override {}
  void ReportFailure(const absl::Status& failure) override { reported = failure; }
  void ReportFinalVersion(const ModelVersion&) override {}
  void ReportFirstStep() override {}
  void ReportTurnDone(uint64_t number) override { turn_done = number; }
  void ReportCut(const CutReport& report) override { cut = report; }
  void ReportBrokenGroup(uint64_t) override {}
  absl::StatusOr<int64_t> TakeSteps(const StepRequest&, const StopToken&) override {
    return absl::UnimplementedError("not asked for");
  }
  const StopToken& run_over() const override { return over; }
  const StopToken& training_over() const override { return over; }
  void Leave(absl::Duration) override {}

  Assignment before;
  Assignment after;
  absl::Status refusal;
  absl::Status reported;
  uint64_t turn_done = 0;
  CutReport cut;
  StopToken over;
};

}  // namespace waggle::testing
