#include "param_server/workers/experiment_tracker.h"

#include <functional>
#include <optional>

#include "tests/support/catch.h"

namespace waggle {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

RunPlan Plan(std::optional<double> target) {
  RunPlan plan;
  plan.name = "x";
  plan.stop.target_return = target;
  plan.stop.max_env_steps = 1'000;
  plan.stop.max_learner_steps = 500;
  plan.stop.max_seconds = 60;
  plan.evaluation_episodes = 20;
  return plan;
}

Evaluation Greedy(int64_t episodes, double mean_return) {
  Evaluation evaluation;
  evaluation.episodes = episodes;
  evaluation.mean_return = mean_return;
  return evaluation;
}

TEST_CASE("A run goes on until something ends it, and then stays as it ended", "[unit]") {
  struct Case {
    const char* what;
    std::function<void(ExperimentTracker*)> reports;
    RunState state;
    const char* reason;
  };
  const Case cases[] = {
      {"nothing", [](ExperimentTracker* tracker) { tracker->Advance(kStart + absl::Hours(100)); }, RunState::kRunning,
       ""},
      {"a good evaluation", [](ExperimentTracker* tracker) { tracker->ReportEvaluation(Greedy(20, 475)); },
       RunState::kSolved, "mean return of 20 greedy episodes was 475; the target is 475"},
      {"one that is not good enough", [](ExperimentTracker* tracker) { tracker->ReportEvaluation(Greedy(20, 474.9)); },
       RunState::kRunning, ""},
      {"one of too few episodes", [](ExperimentTracker* tracker) { tracker->ReportEvaluation(Greedy(19, 500)); },
       RunState::kRunning, ""},
      {"steps below the limit",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 999}, {"episodes", 5'000}}, kStart);
       },
       RunState::kRunning, ""},
      {"steps of two actors",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 500}}, kStart);
         tracker->ReportCounters("b", Role::kActor, {{"env_steps", 500}}, kStart);
       },
       RunState::kLimit, "1000 environment steps; stop.max_env_steps is 1000"},
      {"an evaluator's steps",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("e", Role::kEvaluator, {{"env_steps", 5'000}, {"learner_steps", 5'000}}, kStart);
       },
       RunState::kRunning, ""},
      {"learner steps",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("l", Role::kLearner, {{"learner_steps", 500}}, kStart);
       },
       RunState::kLimit, "500 learner steps; stop.max_learner_steps is 500"},
      {"time since the first step",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 0}}, kStart);
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 1}}, kStart + absl::Hours(1));
         tracker->Advance(kStart + absl::Hours(1) + absl::Seconds(60));
       },
       RunState::kLimit, "gone on for 60 seconds since its first environment step; stop.max_seconds is 60"},
      {"less time",
       [](ExperimentTracker* tracker) {
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 1}}, kStart);
         tracker->Advance(kStart + absl::Seconds(59.9));
       },
       RunState::kRunning, ""},
      {"a learner that gives up", [](ExperimentTracker* tracker) { tracker->ReportLearnerFailure("no device"); },
       RunState::kFailed, "the learner gave up: no device"},
      {"the first end",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(20, 480));
         tracker->ReportLearnerFailure("too late");
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 9'999}}, kStart);
       },
       RunState::kSolved, "was 480"},
  };
  for (const Case& each : cases) {
    INFO(each.what);
    ExperimentTracker tracker(Plan(475));
    each.reports(&tracker);
    CHECK(tracker.state() == each.state);
    CHECK_THAT(tracker.progress().reason, Catch::Contains(each.reason));
    CHECK(tracker.progress().reason.empty() == (each.state == RunState::kRunning));
  }
}

TEST_CASE("Without a target no evaluation solves a run", "[unit]") {
  ExperimentTracker tracker(Plan(std::nullopt));
  tracker.ReportEvaluation(Greedy(20, 1e9));
  CHECK(tracker.state() == RunState::kRunning);
}

TEST_CASE("No step is lost or counted twice, whoever leaves, joins again or comes late", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 100}}, kStart);
  tracker.ReportCounters("b", Role::kActor, {{"env_steps", 50}}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 120}}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 110}}, kStart);  // Overtaken by the one before.
  tracker.ReportCounters("a", Role::kActor, {}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 130}}, kStart);
  CHECK(tracker.env_steps() == 180);
  tracker.ReportCounters("l", Role::kLearner, {{"learner_steps", 40}}, kStart);
  tracker.ReportCounters("l2", Role::kLearner, {{"learner_steps", 30}}, kStart);  // Took over from a checkpoint.
  CHECK(tracker.learner_steps() == 40);
}

TEST_CASE("The time in which a run has failed does not count", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  CHECK_FALSE(tracker.Reopen(kStart));
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 5}}, kStart);
  tracker.Advance(kStart + absl::Seconds(20));
  tracker.ReportLearnerFailure("no device");
  const bool reported_meanwhile = GENERATE(false, true);
  if (reported_meanwhile) {
    tracker.ReportCounters("a", Role::kActor, {{"env_steps", 5}}, kStart + absl::Minutes(30));
  }
  const absl::Time later = kStart + absl::Hours(1);
  CHECK(tracker.Reopen(later));
  CHECK(tracker.progress().reason.empty());
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 6}}, later);
  tracker.Advance(later + absl::Seconds(39));
  CHECK(tracker.state() == RunState::kRunning);
  CHECK(tracker.env_steps() == 6);
  tracker.Advance(later + absl::Seconds(40));
  CHECK(tracker.state() == RunState::kLimit);
  CHECK_FALSE(tracker.Reopen(later));
}

TEST_CASE("A tracker goes on from what an earlier hub knew", "[unit]") {
  ExperimentTracker running(Plan(475));
  running.Restore({RunState::kRunning, "", absl::Seconds(50), 100, 7, {{"a", 40}}}, kStart);
  running.ReportCounters("a", Role::kActor, {{"env_steps", 50}}, kStart);
  CHECK(running.env_steps() == 110);
  CHECK(running.learner_steps() == 7);
  running.Advance(kStart + absl::Seconds(9.9));
  CHECK(running.state() == RunState::kRunning);  // The time before this hub does not count, whatever the clock says.
  running.Advance(kStart + absl::Seconds(10));
  CHECK(running.state() == RunState::kLimit);

  ExperimentTracker over(Plan(475));
  over.Restore({RunState::kSolved, "before", absl::Seconds(50), 0, 0, {}}, kStart);
  over.Advance(kStart + absl::Seconds(61));
  CHECK(over.state() == RunState::kSolved);
  CHECK(over.progress().reason == "before");
}

}  // namespace
}  // namespace waggle
