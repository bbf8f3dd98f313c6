#include "cli/run_end.h"

#include <signal.h>

#include "tests/support/catch.h"

namespace waggle {
namespace {

ChildExit Status(int code) {
  ChildExit exit;
  exit.code = code;
  return exit;
}

TEST_CASE("A run whose learner has written its last checkpoint ends as it was decided", "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kSolved, "475 reached", Status(0), std::nullopt);
  CHECK(end.outcome == Outcome::kSolved);
  CHECK(end.reason == "475 reached");
  CHECK(end.note.empty());
}

TEST_CASE("A run without its last checkpoint keeps its outcome where the parameter server has the weights, and says so",
          "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kLimit, "1000 steps", Status(1), true);
  CHECK(end.outcome == Outcome::kLimit);
  CHECK(end.reason == "1000 steps");
  CHECK(end.note ==
        "the learner exited with status 1 without its last checkpoint, and the parameter server has kept the weights");
}

TEST_CASE("A run whose weights nobody is known to have kept has failed, whatever it had reached", "[unit]") {
  const RunEnd end = JudgeEnd(Outcome::kSolved, "475 reached", Status(1), false);
  CHECK(end.outcome == Outcome::kFailed);
  CHECK(
      end.note ==
      "the learner exited with status 1 without its last checkpoint, and the parameter server has not kept the weights "
      "either");
  CHECK(end.reason == "the last weights are lost: " + end.note + "; before that: solved: 475 reached");
  ChildExit killed;
  killed.signal = SIGKILL;
  const RunEnd unknown = JudgeEnd(Outcome::kLimit, "", killed, std::nullopt);
  CHECK(unknown.outcome == Outcome::kFailed);
  CHECK(unknown.note ==
        "the learner was killed by signal 9 (Killed) without its last checkpoint, and the parameter server did not say "
        "that it has kept the weights");
}

TEST_CASE("A run that was interrupted stays so, and one that had failed keeps its reason", "[unit]") {
  const RunEnd interrupted = JudgeEnd(Outcome::kInterrupted, "interrupted by the user", Status(1), false);
  CHECK(interrupted.outcome == Outcome::kInterrupted);
  CHECK(interrupted.reason == "interrupted by the user");
  CHECK_FALSE(interrupted.note.empty());
  const RunEnd failed = JudgeEnd(Outcome::kFailed, "no actor is left", Status(1), false);
  CHECK(failed.reason == "no actor is left");
  CHECK(failed.note.empty());
  CHECK(JudgeEnd(Outcome::kInterrupted, "", std::nullopt, false).note.empty());
}

}  // namespace
}  // namespace waggle
