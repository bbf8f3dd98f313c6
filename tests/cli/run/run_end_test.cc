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

TEST_CASE("The end of a run depends on the weights that were kept", "[unit]") {
  using Exit = std::optional<ChildExit>;
  struct Case {
    const char* name;
    Outcome reached;
    Exit learner, hub, failed_learner;
    Outcome outcome;
    bool noted;
    bool has_best = false, learner_kept_best = false, hub_kept_best = false, hub_said_kept = false;
  };
  const Exit good = Status(0), bad = Status(1), killed = Killed(), none;
  constexpr Outcome kSolved = Outcome::kSolved, kLimit = Outcome::kLimit, kFailed = Outcome::kFailed,
                    kInterrupted = Outcome::kInterrupted;
  const Case cases[] = {
      {"the last checkpoint was written", kSolved, good, good, none, kSolved, false},
      {"without an evaluation there is only the checkpoint to keep", kLimit, good, bad, none, kLimit, false},
      {"only the parameter server has the weights", kLimit, bad, good, none, kLimit, true},
      {"the weights are lost", kSolved, bad, bad, none, kFailed, true},
      {"the weights are not known to be kept", kLimit, killed, none, none, kFailed, true},
      // The parameter server's exit status overrides its last report, unless it was killed.
      {"it ended well", kLimit, bad, good, none, kLimit, true, false, false, false, true},
      {"it failed after its report", kLimit, bad, bad, none, kFailed, true, false, false, false, true},
      {"it was killed after its report", kLimit, bad, killed, none, kLimit, true, false, false, false, true},
      {"it was killed without a report", kLimit, bad, killed, none, kFailed, true},
      {"the best weights are lost", kSolved, good, bad, none, kFailed, true, true},
      {"an interrupted run stays interrupted", kInterrupted, good, bad, none, kInterrupted, true, true},
      {"the learner has the best weights", kSolved, good, bad, none, kSolved, false, true, true},
      {"the hub's folder has the best weights", kSolved, good, bad, none, kSolved, false, true, false, true},
      {"the hub ended well with the best weights", kSolved, good, good, none, kSolved, false, true},
      // A learner that restarted may have no checkpoint.
      {"only the hub's best weights after a restart", kLimit, good, bad, killed, kFailed, true, true, false, true},
      {"the learner's best weights after a restart", kLimit, good, bad, killed, kLimit, false, true, true, true},
      {"the hub ended well after a restart", kLimit, good, good, killed, kLimit, false, true, false, true},
      {"an interrupted run without weights", kInterrupted, bad, bad, none, kInterrupted, true},
      {"an interrupted run without a learner", kInterrupted, none, bad, none, kInterrupted, false},
      {"a failed run", kFailed, bad, bad, none, kFailed, false},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    KeptWeights weights;
    weights.learner = one.learner;
    weights.hub = one.hub;
    weights.failed_learner = one.failed_learner;
    weights.has_best = one.has_best;
    weights.learner_kept_best = one.learner_kept_best;
    weights.hub_kept_best = one.hub_kept_best;
    weights.hub_said_kept = one.hub_said_kept;
    const RunEnd end = JudgeEnd(one.reached, "the reason", weights);
    CHECK(end.outcome == one.outcome);
    CHECK(end.note.empty() != one.noted);
    CHECK((end.reason == "the reason") == (one.outcome == one.reached));
  }
}

}  // namespace
}  // namespace waggle
