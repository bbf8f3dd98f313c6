#include "common/hub/pending_reports.h"

#include "common/hub/hub_convert.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec SomeEnvironment() {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  return environment;
}

v1::HeartbeatRequest Filled(const PendingReports& reports) {
  v1::HeartbeatRequest request;
  reports.Fill(&request);
  return request;
}

TEST_CASE("An evaluation is sent until a heartbeat that held it is answered", "[unit]") {
  PendingReports reports;
  const absl::Time now = absl::FromUnixSeconds(100);
  reports.AddEvaluation(Evaluation{}, now);
  const v1::HeartbeatRequest first = Filled(reports);
  CHECK(Filled(reports).evaluations_size() == 1);
  reports.AddEvaluation(Evaluation{}, now);  // At the same moment, but another evaluation.
  CHECK(Filled(reports).evaluations_size() == 2);
  CHECK(Filled(reports).evaluations(0).finished_at_us() < Filled(reports).evaluations(1).finished_at_us());
  reports.Acknowledge(first);
  REQUIRE(Filled(reports).evaluations_size() == 1);
  CHECK(Filled(reports).evaluations(0).finished_at_us() == absl::ToUnixMicros(now) + 1);
  reports.Acknowledge(Filled(reports));
  CHECK(Filled(reports).evaluations_size() == 0);
  reports.Acknowledge(Filled(reports));
}

TEST_CASE("A broken group is in every heartbeat, as the hub forgets reports of earlier ones", "[unit]") {
  PendingReports reports;
  CHECK(Filled(reports).broken_group() == 0);
  reports.SetBrokenGroup(4);
  reports.Acknowledge(Filled(reports));
  CHECK(Filled(reports).broken_group() == 4);
}

TEST_CASE("An endless failure is cut", "[unit]") {
  PendingReports reports;
  reports.SetFailure(absl::InternalError(std::string(1'000'000, 'x')));
  CHECK(Filled(reports).failure().size() == kMaxFailureBytes);
}

TEST_CASE("Waiting evaluations are bounded; the oldest is dropped", "[unit]") {
  PendingReports reports;
  for (int i = 0; i < 1'500; ++i) {
    Evaluation evaluation;
    evaluation.mean_return = i;
    reports.AddEvaluation(evaluation, absl::FromUnixSeconds(i));
  }
  REQUIRE(Filled(reports).evaluations_size() == 1'000);
  CHECK(Filled(reports).evaluations(0).mean_return() == 500);
}

TEST_CASE("An environment is sent until the hub has seen it, and again when the hub has forgotten", "[unit]") {
  PendingReports reports;
  CHECK_FALSE(Filled(reports).has_environment());
  reports.SetEnvironmentKnown(true);  // Another actor reported it.
  const v1::HeartbeatRequest before = Filled(reports);
  reports.SetEnvironment(SomeEnvironment());
  reports.Acknowledge(before);  // The answer to a heartbeat without the environment.
  reports.SetEnvironmentKnown(true);
  REQUIRE(Filled(reports).has_environment());
  reports.Acknowledge(Filled(reports));
  reports.SetEnvironmentKnown(true);
  CHECK_FALSE(Filled(reports).has_environment());
  reports.SetEnvironmentKnown(false);
  CHECK(Filled(reports).environment().name() == "CartPole-v1");
}

TEST_CASE("A learner's final version is in every heartbeat from then on", "[unit]") {
  PendingReports reports;
  CHECK_FALSE(Filled(reports).has_final_version());
  reports.SetFinalVersion({3, 4});
  reports.Acknowledge(Filled(reports));
  CHECK(FromProto(Filled(reports).final_version()) == ModelVersion{3, 4});
}

TEST_CASE("A failure is in every heartbeat from then on", "[unit]") {
  PendingReports reports;
  CHECK(Filled(reports).failure().empty());
  reports.SetFailure(absl::InternalError("it broke"));
  reports.Acknowledge(Filled(reports));
  CHECK_THAT(Filled(reports).failure(), Catch::Contains("it broke"));
}

}  // namespace
}  // namespace waggle
