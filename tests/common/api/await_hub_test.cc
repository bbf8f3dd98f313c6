#include "common/api/await_hub.h"

#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Says another assignment once it is waited for.
class FakeHub : public HubLink {
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
  StopToken over;
};

std::string LogOf(FakeHub* hub) {
  testing::CapturedStream log(STDERR_FILENO);
  AwaitHub(hub, "an experiment", hub->run_over(), [](const Assignment& assignment) {
    return !assignment.experiment_yaml.empty();
  }).IgnoreError();
  return log.Finish();
}

TEST_CASE("A wait for the hub is in the log, and its end", "[unit]") {
  FakeHub hub;
  hub.after.experiment_yaml = "x";
  const std::string log = LogOf(&hub);
  CHECK(absl::StrContains(log, "waiting for an experiment\n"));
  CHECK(absl::StrContains(log, "the wait for an experiment is over\n"));
  hub.before = hub.after;
  CHECK(LogOf(&hub).empty());
}

TEST_CASE("A wait that ends with the run does not end well", "[unit]") {
  FakeHub hub;
  CHECK_FALSE(absl::StrContains(LogOf(&hub), "is over"));
  hub.over.RequestStop();
  CHECK(LogOf(&hub).empty());
}

TEST_CASE("Who meets the end of a run says how it ended", "[unit]") {
  FakeHub hub;
  const absl::Status end = absl::CancelledError("stopped");
  const auto log_of = [&] {
    hub.over.RequestStop();
    testing::CapturedStream log(STDERR_FILENO);
    CHECK(EndOfWork(end, &hub) == absl::OkStatus());
    return log.Finish();
  };
  CHECK(log_of().empty());  // Told to stop.
  hub.before.run_state = RunState::kSolved;
  CHECK(absl::StrContains(log_of(), "the run is over: solved\n"));
  CHECK(hub.reported == absl::OkStatus());
}

}  // namespace
}  // namespace waggle
