#include "param_server/run/experiment_tracker.h"

#include <functional>
#include <optional>
#include <string>

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

Evaluation Greedy(int64_t episodes, double mean_return, uint64_t version = 1) {
  Evaluation evaluation;
  evaluation.version = {1, version};
  evaluation.episodes = episodes;
  evaluation.mean_return = mean_return;
  return evaluation;
}

TEST_CASE("A run has at least the learner steps of its evaluated weights", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  tracker.ReportCounters("l", Role::kLearner, {{"learner_steps", 30}}, kStart);
  tracker.ReportEvaluation(Greedy(20, 5, 40));
  CHECK(tracker.learner_steps() == 40);
  tracker.ReportCounters("l", Role::kLearner, {{"learner_steps", 35}}, kStart);
  CHECK(tracker.learner_steps() == 40);
}

TEST_CASE("A run that is over keeps its state", "[unit]") {
  struct Case {
    const char* what;
    std::function<void(ExperimentTracker*)> reports;
    RunState state;
    const char* reason;
  };
  const Case cases[] = {
      {"nothing", [](ExperimentTracker* tracker) { tracker->Advance(kStart + absl::Hours(100)); }, RunState::kRunning,
       ""},
      {"a good evaluation that is confirmed",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(20, 475));
         tracker->ReportEvaluation(Greedy(100, 476));
       },
       RunState::kSolved,
       "mean return of 20 greedy episodes was 475 and, of 100 with the same weights again, 476; the target is 475"},
      {"one that is not", [](ExperimentTracker* tracker) { tracker->ReportEvaluation(Greedy(20, 500)); },
       RunState::kRunning, ""},
      {"one whose second is not good enough by itself",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(20, 500));
         tracker->ReportEvaluation(Greedy(20, 474.9));
         tracker->ReportEvaluation(Greedy(20, 500));
       },
       RunState::kRunning, ""},
      {"good ones of other weights",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(20, 500, 1));
         tracker->ReportEvaluation(Greedy(20, 500, 2));
         tracker->ReportEvaluation(Greedy(20, 500, 3));
       },
       RunState::kRunning, ""},
      {"one that is confirmed while another one is looked at",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(20, 500, 1));
         tracker->ReportEvaluation(Greedy(20, 10, 2));
         tracker->ReportEvaluation(Greedy(20, 500, 1));
       },
       RunState::kSolved, "was 500 and"},
      {"ones of too few episodes",
       [](ExperimentTracker* tracker) {
         tracker->ReportEvaluation(Greedy(19, 500));
         tracker->ReportEvaluation(Greedy(19, 500));
       },
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
         tracker->ReportEvaluation(Greedy(20, 481));
         tracker->ReportLearnerFailure("too late");
         tracker->ReportCounters("a", Role::kActor, {{"env_steps", 9'999}}, kStart);
       },
       RunState::kSolved, "was 480"},
  };
  for (const Case& each : cases) {
    INFO(each.what);
    RunPlan plan = Plan(475);
    plan.evaluates = false;  // So that the run ends at once.
    ExperimentTracker tracker(plan);
    each.reports(&tracker);
    CHECK(tracker.state() == each.state);
    CHECK_THAT(tracker.progress().reason, Catch::Contains(each.reason));
    CHECK(tracker.progress().reason.empty() == (each.state == RunState::kRunning));
  }
}

TEST_CASE("Without a target no evaluation solves a run", "[unit]") {
  ExperimentTracker tracker(Plan(std::nullopt));
  tracker.ReportEvaluation(Greedy(20, 1e9));
  tracker.ReportEvaluation(Greedy(20, 1e9));
  CHECK(tracker.state() == RunState::kRunning);
}

TEST_CASE("The result is the last evaluation of the best weights, and of a solved run the confirming one", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  const auto result = [&tracker] { return tracker.progress().result.value(); };
  CHECK_FALSE(tracker.ReportEvaluation(Greedy(19, 300, 1)));
  CHECK_FALSE(tracker.progress().result.has_value());
  CHECK(tracker.ReportEvaluation(Greedy(20, -5, 1)));
  CHECK(tracker.ReportEvaluation(Greedy(20, 500, 2)));
  CHECK(tracker.ReportEvaluation(Greedy(20, 400, 2)));  // The first evaluation was lucky.
  CHECK(result().evaluation.mean_return == 400);
  CHECK_FALSE(tracker.ReportEvaluation(Greedy(20, 399, 3)));
  CHECK(result().evaluation.version == ModelVersion{1, 2});
  CHECK(tracker.ReportEvaluation(Greedy(20, 600, 4)));
  CHECK(tracker.ReportEvaluation(Greedy(20, 480, 5)) == false);
  CHECK(tracker.ReportEvaluation(Greedy(20, 475, 5)));
  CHECK(tracker.state() == RunState::kSolved);
  CHECK(result().evaluation.version == ModelVersion{1, 5});
  CHECK(result().evaluation.mean_return == 475);
  CHECK(result().confirmed);
  CHECK_FALSE(tracker.ReportEvaluation(Greedy(20, 999, 6)));
  CHECK(result().evaluation.version == ModelVersion{1, 5});
}

TEST_CASE("A run at its limit ends when its last weights are evaluated, or cannot be", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  tracker.ReportFinalVersion({1, 3}, kStart);  // Sent by a learner that was restarted.
  tracker.ReportEvaluation(Greedy(20, 100, 3));
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 1'000}}, kStart);
  CHECK(tracker.state() == RunState::kFinishing);
  tracker.Conclude("", kStart);
  CHECK(tracker.state() == RunState::kFinishing);
  const std::string limit = "1000 environment steps; stop.max_env_steps is 1000";
  SECTION("The weights are evaluated") {
    tracker.ReportEvaluation(Greedy(20, 100, 6));
    tracker.Conclude("", kStart);
    tracker.ReportFinalVersion({1, 7}, kStart);
    tracker.Conclude("", kStart);
    CHECK(tracker.state() == RunState::kFinishing);
    tracker.ReportEvaluation(Greedy(20, 100, 7));
    tracker.Conclude("", kStart);
    CHECK(tracker.state() == RunState::kLimit);
    CHECK(tracker.progress().reason == limit);
  }
  SECTION("The weights were evaluated before the learner's report") {
    tracker.ReportEvaluation(Greedy(20, 100, 7));
    tracker.ReportFinalVersion({1, 7}, kStart);
    tracker.Conclude("there is no learner", kStart);
    CHECK(tracker.progress().reason == limit);
  }
  SECTION("The weights solve the run") {
    tracker.ReportFinalVersion({1, 7}, kStart);
    tracker.ReportEvaluation(Greedy(20, 500, 7));
    tracker.Conclude("", kStart);
    CHECK(tracker.state() == RunState::kFinishing);
    tracker.ReportEvaluation(Greedy(20, 500, 7));
    CHECK(tracker.state() == RunState::kSolved);
  }
  SECTION("There is no evaluator") {
    tracker.Conclude("there is no evaluator", kStart);
    CHECK(tracker.state() == RunState::kLimit);
    CHECK(tracker.progress().reason == limit + "; the final weights were not evaluated: there is no evaluator");
  }
  SECTION("The learner gives up") {
    tracker.ReportLearnerFailure("the disk is full");
    CHECK(tracker.state() == RunState::kLimit);
    CHECK_THAT(tracker.progress().reason, Catch::Contains("were not evaluated: the learner gave up: the disk is full"));
  }
  SECTION("The evaluation takes too long") {
    tracker.Conclude("", kStart + absl::Minutes(10) - absl::Seconds(1));
    CHECK(tracker.state() == RunState::kFinishing);
    tracker.Conclude("", kStart + absl::Minutes(10));
    CHECK(tracker.state() == RunState::kLimit);
    CHECK_THAT(tracker.progress().reason, Catch::Contains("were not evaluated: not within 10m"));
  }
}

TEST_CASE("A learner at its limit of steps reports its last weights", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  tracker.ReportFinalVersion({1, 500}, kStart);
  CHECK(tracker.state() == RunState::kFinishing);
  CHECK(tracker.learner_steps() == 500);
  tracker.ReportEvaluation(Greedy(20, 1, 500));
  tracker.Conclude("", kStart);
  CHECK(tracker.state() == RunState::kLimit);
}

TEST_CASE("No step is lost or counted twice if workers leave, join again or report late", "[unit]") {
  ExperimentTracker tracker(Plan(475));
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 100}}, kStart);
  tracker.ReportCounters("b", Role::kActor, {{"env_steps", 50}}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 120}}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 110}}, kStart);  // Overtaken by the previous report.
  tracker.ReportCounters("a", Role::kActor, {}, kStart);
  tracker.ReportCounters("a", Role::kActor, {{"env_steps", 130}}, kStart);
  CHECK(tracker.env_steps() == 180);
  tracker.ReportCounters("l", Role::kLearner, {{"learner_steps", 40}}, kStart);
  tracker.ReportCounters("l2", Role::kLearner, {{"learner_steps", 30}},
                         kStart);  // A learner that began at a checkpoint.
  CHECK(tracker.learner_steps() == 40);
}

TEST_CASE("The time of a failed run stands still", "[unit]") {
  RunPlan plan = Plan(475);
  plan.evaluates = false;
  ExperimentTracker tracker(plan);
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

TEST_CASE("Evaluations that do not reach a continued run's target are not confirmed by it", "[unit]") {
  RunProgress ended;
  ended.state = RunState::kSolved;
  ended.reason = "solved";
  ended.env_steps = 9;
  ended.result = RunResult{Greedy(20, 480, 3), /*confirmed=*/true};
  ended.candidates = {Greedy(20, 480, 1), Greedy(20, 495, 2)};
  const RunProgress higher = Continued(ended, Plan(490).stop);
  CHECK(higher.state == RunState::kRunning);
  CHECK(higher.reason.empty());
  CHECK(higher.env_steps == 9);
  CHECK(higher.result->evaluation.mean_return == 480);
  CHECK_FALSE(higher.result->confirmed);
  REQUIRE(higher.candidates.size() == 1);
  CHECK(higher.candidates[0].version.version == 2);
  CHECK(Continued(ended, Plan(475).stop).result->confirmed);
  CHECK(Continued(ended, Plan(std::nullopt).stop).candidates.empty());
  ended.state = RunState::kFinishing;
  CHECK(Continued(ended, Plan(490).stop).state == RunState::kFinishing);
}

TEST_CASE("A tracker goes on with the progress of an earlier hub", "[unit]") {
  RunPlan plan = Plan(475);
  plan.evaluates = false;
  ExperimentTracker running(plan);
  running.Restore({RunState::kRunning, "", absl::Seconds(50), 100, 7, {{"a", 40}}}, kStart);
  running.ReportCounters("a", Role::kActor, {{"env_steps", 50}}, kStart);
  CHECK(running.env_steps() == 110);
  CHECK(running.learner_steps() == 7);
  running.Advance(kStart + absl::Seconds(9.9));
  CHECK(running.state() == RunState::kRunning);  // The time before this hub does not count.
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
