#include "cli/run/run_end.h"

#include <signal.h>

#include "tests/support/catch.h"

namespace waggle {
namespace {

ChildExit Status(int code) {
  ChildExit exit;
  exit.code = code;
  return exit;
}

ChildExit Killed() {
  ChildExit exit;
  exit.signal = SIGKILL;
  return exit;
}

// The weights of a run whose processes ended like this.
KeptWeights Weights(const std::optional<ChildExit>& learner, const std::optional<ChildExit>& hub) {
  KeptWeights weights;
  weights.learner = learner;
  weights.hub = hub;
  return weights;
}

TEST_CASE("A run whose learner has written its last checkpoint keeps its outcome", "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kSolved, "475 reached", Weights(Status(0), Status(0)));
  CHECK(end.outcome == Outcome::kSolved);
  CHECK(end.reason == "475 reached");
  CHECK(end.note.empty());
  // Without an evaluation there is only the checkpoint to keep.
  CHECK(JudgeEnd(Outcome::kLimit, "", Weights(Status(0), Status(1))).note.empty());
}

TEST_CASE("A run without its last checkpoint keeps its outcome if the parameter server has the weights, and says so",
          "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kLimit, "1000 steps", Weights(Status(1), Status(0)));
  CHECK(end.outcome == Outcome::kLimit);
  CHECK(end.reason == "1000 steps");
  CHECK(end.note ==
        "the learner exited with status 1 without its last checkpoint, and the parameter server has kept the weights");
}

TEST_CASE("A run whose weights are not known to be kept has failed, whatever it reached", "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kSolved, "475 reached", Weights(Status(1), Status(1)));
  CHECK(end.outcome == Outcome::kFailed);
  CHECK(
      end.note ==
      "the learner exited with status 1 without its last checkpoint, and the parameter server has not kept the weights "
      "either");
  CHECK(end.reason == "the last weights are lost: " + end.note + "; before that: solved: 475 reached");
  const RunEnd unknown = JudgeEnd(Outcome::kLimit, "", Weights(Killed(), std::nullopt));
  CHECK(unknown.outcome == Outcome::kFailed);
  CHECK(unknown.note ==
        "the learner was killed by signal 9 (Killed) without its last checkpoint, and the parameter server did not say "
        "that it has kept the weights");
}

TEST_CASE("The parameter server's exit status overrides its last report, unless it was killed", "[unit]") {
  for (const bool said : {true, false}) {
    INFO(said);
    KeptWeights weights = Weights(Status(1), Status(0));
    weights.hub_said_kept = said;
    CHECK(JudgeEnd(Outcome::kLimit, "", weights).outcome == Outcome::kLimit);
    weights.hub = Status(1);
    CHECK(JudgeEnd(Outcome::kLimit, "", weights).outcome == Outcome::kFailed);
    weights.hub = Killed();
    CHECK(JudgeEnd(Outcome::kLimit, "", weights).outcome == (said ? Outcome::kLimit : Outcome::kFailed));
  }
}

TEST_CASE("A run whose best weights are lost has failed, though its learner ended well", "[unit]") {
  KeptWeights weights = Weights(Status(0), Status(1));
  weights.has_best = true;
  const RunEnd end = JudgeEnd(Outcome::kSolved, "475 reached", weights);
  CHECK(end.outcome == Outcome::kFailed);
  CHECK(end.note ==
        "the best weights are not in the run's folder, and the parameter server has not kept the weights either");
  CHECK(end.reason == "the best weights are lost: " + end.note + "; before that: solved: 475 reached");
  CHECK(JudgeEnd(Outcome::kInterrupted, "", weights).outcome == Outcome::kInterrupted);
  KeptWeights at_learner = weights;
  at_learner.learner_kept_best = true;
  KeptWeights at_hub = weights;
  at_hub.hub_kept_best = true;
  KeptWeights by_hub = weights;
  by_hub.hub = Status(0);
  for (const KeptWeights& kept : {at_learner, at_hub, by_hub}) {
    CHECK(JudgeEnd(Outcome::kSolved, "", kept).outcome == Outcome::kSolved);
    CHECK(JudgeEnd(Outcome::kSolved, "", kept).note.empty());
  }
}

TEST_CASE("A learner that restarted may have no checkpoint, so the parameter server must have the weights", "[unit]") {
  KeptWeights weights = Weights(Status(0), Status(1));
  weights.failed_learner = Killed();
  weights.has_best = true;
  weights.hub_kept_best = true;
  const RunEnd end = JudgeEnd(Outcome::kLimit, "1000 steps", weights);
  CHECK(end.outcome == Outcome::kFailed);
  CHECK(end.reason ==
        "the last weights are lost: the learner was killed by signal 9 (Killed), the one after it need not have "
        "written a checkpoint, and the parameter server has not kept the weights either; before that: limit: 1000 "
        "steps");
  // It writes the best weights if it trained until the end.
  weights.learner_kept_best = true;
  CHECK(JudgeEnd(Outcome::kLimit, "1000 steps", weights).outcome == Outcome::kLimit);
  weights.learner_kept_best = false;
  weights.hub = Status(0);
  CHECK(JudgeEnd(Outcome::kLimit, "1000 steps", weights).outcome == Outcome::kLimit);
  CHECK(JudgeEnd(Outcome::kLimit, "1000 steps", weights).note.empty());
}

TEST_CASE("An interrupted run stays interrupted, and a failed run keeps its reason", "[unit]") {
  const RunEnd interrupted = JudgeEnd(Outcome::kInterrupted, "interrupted by the user", Weights(Status(1), Status(1)));
  CHECK(interrupted.outcome == Outcome::kInterrupted);
  CHECK(interrupted.reason == "interrupted by the user");
  CHECK_FALSE(interrupted.note.empty());
  const RunEnd failed = JudgeEnd(Outcome::kFailed, "no actor is left", Weights(Status(1), Status(1)));
  CHECK(failed.reason == "no actor is left");
  CHECK(failed.note.empty());
  CHECK(JudgeEnd(Outcome::kInterrupted, "", Weights(std::nullopt, Status(1))).note.empty());
}

}  // namespace
}  // namespace waggle
