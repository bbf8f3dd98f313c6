#include "cli/run/supervision.h"

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Actions = Supervision::Actions;
using Signals = std::vector<std::pair<size_t, int>>;

constexpr size_t kHub = 0;
constexpr size_t kReplay = 1;
constexpr size_t kLearner = 2;
constexpr size_t kActor0 = 3;
constexpr size_t kActor1 = 4;
constexpr size_t kEvaluator = 5;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

absl::Time At(double seconds) {
  return kStart + absl::Seconds(seconds);
}

ChildExit Killed() {
  ChildExit exit;
  exit.signal = SIGKILL;
  return exit;
}

ChildExit Status(int code) {
  ChildExit exit;
  exit.code = code;
  return exit;
}

// A run with two actors, started at second 0.
Supervision NewRun(bool needs_evaluator = true) {
  Supervision supervision({{"param-server"},
                           {"replay-server", WorkerKind::kReplayServer},
                           {"learner", WorkerKind::kLearner},
                           {"actor-0", WorkerKind::kActor},
                           {"actor-1", WorkerKind::kActor},
                           {"evaluator", WorkerKind::kEvaluator}},
                          {needs_evaluator, absl::Minutes(5)}, kStart);
  CHECK(supervision.Begin(At(0)).start == std::vector<size_t>{kHub});
  CHECK(supervision.HubReady(At(0)).start == std::vector<size_t>{kReplay, kLearner, kActor0, kActor1, kEvaluator});
  supervision.Stepped();
  return supervision;
}

const Signals kTermToWorkers = {{kLearner, SIGTERM}, {kActor0, SIGTERM}, {kActor1, SIGTERM}, {kEvaluator, SIGTERM}};

// The hub says that the run is over and closed.
Actions Close(Supervision* supervision, RunState state, double seconds) {
  return supervision->Observed({state, "so says the hub", /*closed=*/true}, At(seconds), At(seconds));
}

// Ends all workers and then the servers, as in a run without problems.
void EndAll(Supervision* supervision, std::vector<size_t> workers, double seconds) {
  for (const size_t worker : workers) {
    supervision->Exited(worker, Status(0), At(seconds));
  }
  const Actions last = supervision->Observed({RunState::kSolved, ""}, At(seconds), At(seconds));
  CHECK(last.signals == Signals{{kReplay, SIGTERM}});
  // The hub comes last: a replay server tells it that it leaves.
  CHECK(supervision->Exited(kReplay, Status(0), At(seconds)).signals == Signals{{kHub, SIGTERM}});
  CHECK_FALSE(supervision->done());
  supervision->Exited(kHub, Status(0), At(seconds));
  CHECK(supervision->done());
}

// Kills `process` until it is given up.
Actions KillForGood(Supervision* supervision, size_t process, double now) {
  for (int i = 0; i < 5; ++i) {
    supervision->Exited(process, Status(1), At(now));
    const absl::Time next = supervision->NextDeadline();
    now = absl::ToDoubleSeconds(next - kStart);
    CHECK(supervision->Tick(next).start == std::vector<size_t>{process});
  }
  return supervision->Exited(process, Status(1), At(now));
}

TEST_CASE("A solved run ends its workers when they have finished, then its servers", "[unit]") {
  Supervision supervision = NewRun();
  CHECK(supervision.Observed({RunState::kQueued, "it waits for 1 learner"}, At(0.5), At(0.5)).signals.empty());
  CHECK(supervision.Observed({RunState::kRunning, ""}, At(1), At(1)).signals.empty());
  CHECK(supervision.Observed({RunState::kSolved, "475 reached"}, At(2), At(2)).signals.empty());
  CHECK(supervision.outcome() == Outcome::kSolved);
  CHECK(supervision.reason() == "475 reached");
  CHECK(Close(&supervision, RunState::kSolved, 3).signals == kTermToWorkers);
  CHECK(supervision.reason() == "475 reached");
  EndAll(&supervision, {kActor0, kActor1, kEvaluator, kLearner}, 4);
}

TEST_CASE("The outcome is the hub's final state", "[unit]") {
  const std::vector<std::pair<RunState, Outcome>> ends = {{RunState::kSolved, Outcome::kSolved},
                                                          {RunState::kLimit, Outcome::kLimit},
                                                          {RunState::kFailed, Outcome::kFailed},
                                                          {RunState::kStopped, Outcome::kStopped}};
  for (const auto& [state, outcome] : ends) {
    Supervision supervision = NewRun();
    CHECK(Close(&supervision, state, 1).signals == kTermToWorkers);
    CHECK(supervision.outcome() == outcome);
    CHECK(supervision.reason() == "so says the hub");
  }
}

TEST_CASE("Workers that do not finish with an ended run are asked to end, then killed", "[unit]") {
  Supervision supervision = NewRun();
  supervision.Observed({RunState::kSolved, ""}, At(1), At(1));
  supervision.Observed({RunState::kSolved, ""}, At(70), At(70));
  CHECK(supervision.NextDeadline() == At(71));
  CHECK(supervision.Tick(At(71)).signals == kTermToWorkers);
  for (const size_t worker : {kActor0, kActor1, kEvaluator}) {
    supervision.Exited(worker, Status(0), At(72));
  }
  CHECK(supervision.Tick(At(81)).signals == Signals{{kLearner, SIGKILL}});
}

TEST_CASE("A run is not waited for to be closed if its workers, or its hub, have ended", "[unit]") {
  Supervision workers = NewRun();
  workers.Observed({RunState::kSolved, ""}, At(1), At(1));
  for (const size_t worker : {kActor0, kActor1, kEvaluator}) {
    CHECK(workers.Exited(worker, Killed(), At(2)).messages.size() == 1);
  }
  CHECK(workers.Exited(kLearner, Killed(), At(2)).observe);  // For the last report.
  CHECK(workers.outcome() == Outcome::kSolved);
  Supervision hub = NewRun();
  hub.Observed({RunState::kSolved, ""}, At(1), At(1));
  CHECK(hub.Exited(kHub, Killed(), At(2)).signals == kTermToWorkers);
  CHECK(hub.outcome() == Outcome::kSolved);
}

TEST_CASE("The hub is asked once more after the last worker has ended", "[unit]") {
  Supervision supervision = NewRun();
  Close(&supervision, RunState::kSolved, 1);
  for (const size_t worker : {kActor0, kActor1, kEvaluator}) {
    CHECK_FALSE(supervision.Exited(worker, Status(0), At(2)).observe);
  }
  CHECK(supervision.Exited(kLearner, Status(0), At(2)).observe);
  // An answer to an earlier question does not count.
  const Actions early = supervision.Observed({RunState::kSolved, ""}, At(1.9), At(2.1));
  CHECK(early.observe);
  CHECK(early.signals.empty());
  // Without an answer the servers are stopped all the same.
  CHECK(supervision.NextDeadline() == At(4));
  CHECK(supervision.Tick(At(4)).signals == Signals{{kReplay, SIGTERM}});
}

TEST_CASE("A refused experiment fails the run", "[unit]") {
  Supervision supervision({{"param-server"}, {"learner", WorkerKind::kLearner}}, {}, kStart);
  supervision.Begin(At(0));
  const Actions actions = supervision.Refused(absl::InvalidArgumentError("stop.max_seconds: wrong"), At(1));
  CHECK(supervision.outcome() == Outcome::kFailed);
  CHECK(actions.signals == Signals{{kHub, SIGTERM}});
  CHECK(supervision.HubReady(At(2)).start.empty());
}

TEST_CASE("The death of the hub fails the run, shows its log and stops the rest without a last request", "[unit]") {
  Supervision supervision = NewRun();
  const Actions actions = supervision.Exited(kHub, Killed(), At(1));
  CHECK(supervision.outcome() == Outcome::kFailed);
  CHECK(actions.show_log == kHub);
  CHECK(actions.signals == kTermToWorkers);
  for (const size_t worker : {kActor0, kActor1, kEvaluator}) {
    supervision.Exited(worker, Status(1), At(2));
  }
  CHECK(supervision.Exited(kLearner, Status(1), At(2)).signals == Signals{{kReplay, SIGTERM}});
  supervision.Exited(kReplay, Status(0), At(3));
  CHECK(supervision.done());
}

TEST_CASE("A learner restarts, however it ended, and its ends are remembered", "[unit]") {
  Supervision supervision = NewRun();
  CHECK_FALSE(supervision.learner_exit().has_value());
  const ChildExit ends[] = {Killed(), Status(0), Status(1)};
  for (int end = 0; end < 3; ++end) {
    CHECK(supervision.Exited(kLearner, ends[end], At(10 * end)).messages.size() == (ends[end].ok() ? 0 : 1));
    CHECK(supervision.Tick(At(10 * end + 5)).start == std::vector<size_t>{kLearner});
  }
  CHECK_FALSE(supervision.outcome().has_value());
  Close(&supervision, RunState::kSolved, 40);
  EndAll(&supervision, {kActor0, kActor1, kEvaluator, kLearner}, 41);
  CHECK(supervision.learner() == kLearner);
  CHECK(supervision.learner_exit()->ok());
  CHECK(supervision.failed_learner_exit()->code == 1);
}

TEST_CASE("A learner's error while the run ends is reported, but not an end on request", "[unit]") {
  Supervision supervision = NewRun();
  supervision.Observed({RunState::kSolved, ""}, At(1), At(1));
  CHECK(supervision.Exited(kLearner, Status(1), At(2)).messages.size() == 1);
  CHECK(supervision.Tick(At(10)).start.empty());
  CHECK(supervision.outcome() == Outcome::kSolved);
  Supervision asked = NewRun();
  Close(&asked, RunState::kSolved, 1);
  CHECK(asked.Exited(kLearner, Killed(), At(2)).messages.empty());
}

TEST_CASE("An actor that dies restarts after growing delays, and the run goes on", "[unit]") {
  Supervision supervision = NewRun();
  const Actions death = supervision.Exited(kActor0, Killed(), At(1));
  CHECK(death.observe);
  CHECK(death.start.empty());
  CHECK(death.messages.size() == 1);
  CHECK(supervision.NextDeadline() == At(1.5));
  CHECK(supervision.Tick(At(1.4)).start.empty());
  CHECK(supervision.Tick(At(1.5)).start == std::vector<size_t>{kActor0});
  supervision.Exited(kActor0, Killed(), At(2));
  CHECK(supervision.NextDeadline() == At(3));
  CHECK(supervision.Tick(At(3)).start == std::vector<size_t>{kActor0});
  CHECK_FALSE(supervision.outcome().has_value());
}

TEST_CASE("An actor that lived long gets all its restarts again", "[unit]") {
  Supervision supervision = NewRun();
  double now = 0;
  for (int i = 0; i < 20; ++i) {
    now += 60;
    supervision.Observed({RunState::kRunning, ""}, At(now), At(now));
    CHECK(supervision.Exited(kActor0, Killed(), At(now)).messages.at(0).find("(1 of 5)") != std::string::npos);
    now += 0.5;
    CHECK(supervision.Tick(At(now)).start == std::vector<size_t>{kActor0});
  }
}

TEST_CASE("A process that keeps dying is given up; the run fails if it cannot do without", "[unit]") {
  Supervision actors = NewRun();
  KillForGood(&actors, kActor0, 1);
  CHECK_FALSE(actors.outcome().has_value());
  CHECK(KillForGood(&actors, kActor1, 20).show_log == kActor1);
  CHECK(actors.outcome() == Outcome::kFailed);
  for (const bool needed : {true, false}) {
    Supervision evaluator = NewRun(needed);
    KillForGood(&evaluator, kEvaluator, 1);
    CHECK(evaluator.outcome().has_value() == needed);
  }
  Supervision replay = NewRun();
  CHECK(KillForGood(&replay, kReplay, 1).show_log == kReplay);
  CHECK(replay.outcome() == Outcome::kFailed);
  // A run needs all of its gradient workers.
  Supervision gradients({{"param-server"},
                         {"gradient-0", WorkerKind::kGradient, 0},
                         {"gradient-1", WorkerKind::kGradient, 1},
                         {"actor-0", WorkerKind::kActor}},
                        {}, kStart);
  gradients.Begin(At(0));
  gradients.HubReady(At(0));
  gradients.Stepped();
  KillForGood(&gradients, 2, 1);
  CHECK(gradients.outcome() == Outcome::kFailed);
}

TEST_CASE("An interruption stops workers, then servers, and kills those that ignore it", "[unit]") {
  Supervision supervision = NewRun();
  CHECK(supervision.Interrupted(At(1)).signals == kTermToWorkers);
  CHECK(supervision.outcome() == Outcome::kInterrupted);
  for (const size_t worker : {kActor0, kActor1, kEvaluator}) {
    supervision.Exited(worker, Status(0), At(2));
  }
  CHECK(supervision.NextDeadline() == At(11));
  CHECK(supervision.Tick(At(11)).signals == Signals{{kLearner, SIGKILL}});
  supervision.Exited(kLearner, Killed(), At(11));
  supervision.Observed({RunState::kRunning, ""}, At(11), At(11));
  CHECK(supervision.Tick(At(21)).signals == Signals{{kReplay, SIGKILL}});
  CHECK(supervision.Exited(kReplay, Killed(), At(21)).signals == Signals{{kHub, SIGTERM}});
  CHECK(supervision.Tick(At(31)).signals == Signals{{kHub, SIGKILL}});
}

TEST_CASE("An interruption after the end hurries the workers, and a second one kills everything", "[unit]") {
  Supervision supervision = NewRun();
  supervision.Observed({RunState::kSolved, ""}, At(1), At(1));
  CHECK(supervision.Interrupted(At(2)).signals == kTermToWorkers);
  CHECK(supervision.outcome() == Outcome::kSolved);
  CHECK(supervision.Interrupted(At(2.1)).signals == Signals{{kLearner, SIGKILL},
                                                            {kActor0, SIGKILL},
                                                            {kActor1, SIGKILL},
                                                            {kEvaluator, SIGKILL},
                                                            {kReplay, SIGKILL},
                                                            {kHub, SIGKILL}});
}

TEST_CASE("The death of a server that was not asked to end is reported", "[unit]") {
  const std::vector<size_t> workers = {kLearner, kActor0, kActor1, kEvaluator};
  Supervision supervision = NewRun();
  supervision.Interrupted(At(1));
  for (const size_t worker : workers) {
    CHECK(supervision.Exited(worker, Killed(), At(2)).messages.empty());
  }
  // So far only the replay servers were asked to end.
  CHECK(supervision.Observed({RunState::kRunning, ""}, At(2), At(2)).signals == Signals{{kReplay, SIGTERM}});
  CHECK(supervision.Exited(kHub, Killed(), At(3)).messages.size() == 1);
  CHECK(supervision.Exited(kReplay, Killed(), At(3)).messages.empty());
  CHECK(supervision.done());

  Supervision killed = NewRun();
  killed.Interrupted(At(1));
  CHECK(killed.Exited(kReplay, Killed(), At(2)).messages.size() == 1);
  killed.Interrupted(At(2));
  CHECK(killed.Exited(kHub, Killed(), At(3)).messages.empty());
}

TEST_CASE("An error of the hub at its end is reported, although it was asked to end", "[unit]") {
  Supervision supervision = NewRun();
  Close(&supervision, RunState::kSolved, 1);
  for (const size_t worker : {kLearner, kActor0, kActor1, kEvaluator}) {
    supervision.Exited(worker, Status(0), At(2));
  }
  supervision.Observed({RunState::kSolved, ""}, At(2), At(2));
  supervision.Exited(kReplay, Status(0), At(3));
  CHECK_FALSE(supervision.hub_exit().has_value());
  CHECK(supervision.Exited(kHub, Status(1), At(3)).messages.size() == 1);
  CHECK(supervision.hub_exit()->code == 1);
  CHECK(supervision.done());
}

TEST_CASE("A hub that never reports its address fails the run", "[unit]") {
  Supervision supervision({{"param-server"}, {"learner", WorkerKind::kLearner}}, {}, kStart);
  supervision.Begin(At(0));
  CHECK(supervision.NextDeadline() == At(15));
  const Actions actions = supervision.Tick(At(15));
  CHECK(supervision.outcome() == Outcome::kFailed);
  CHECK(actions.show_log == kHub);
  CHECK(actions.signals == Signals{{kHub, SIGTERM}});
  CHECK(supervision.HubReady(At(16)).start.empty());
  supervision.Exited(kHub, Status(0), At(16));
  CHECK(supervision.done());
}

TEST_CASE("A hub that stays silent for a minute fails the run; a pause does not", "[unit]") {
  Supervision supervision = NewRun();
  supervision.Observed({RunState::kRunning, ""}, At(10), At(10));
  CHECK(supervision.NextDeadline() == At(70));
  supervision.Tick(At(69));
  CHECK_FALSE(supervision.outcome().has_value());
  supervision.Tick(At(70));
  CHECK(supervision.outcome() == Outcome::kFailed);
}

TEST_CASE("A run that waits for what none of its processes has fails, and says what it waits for", "[unit]") {
  Supervision supervision({{"param-server"}, {"learner", WorkerKind::kLearner}}, Supervision::Rules(), kStart);
  supervision.Begin(At(0));
  supervision.HubReady(At(0));
  for (double seconds = 0; seconds < 180; seconds += 30) {
    supervision.Observed({RunState::kQueued, "waits for 1 learner with cuda"}, At(seconds), At(seconds));
    supervision.Tick(At(seconds));
    CHECK_FALSE(supervision.outcome().has_value());
  }
  SECTION("it goes on waiting") {
    CHECK(supervision.NextDeadline() == At(180));
    supervision.Tick(At(180));
    CHECK(supervision.outcome() == Outcome::kFailed);
    CHECK(supervision.reason().find("waits for 1 learner with cuda") != std::string::npos);
  }
  SECTION("it begins") {
    supervision.Observed({RunState::kRunning, ""}, At(170), At(170));
    supervision.Tick(At(180));
    CHECK_FALSE(supervision.outcome().has_value());
  }
}

TEST_CASE("A run without an environment step fails, as its limit on seconds would never come", "[unit]") {
  Supervision::Rules rules;
  rules.first_step_patience = absl::Seconds(90);
  Supervision supervision({{"param-server"}, {"actor-0", WorkerKind::kActor}}, rules, kStart);
  supervision.Begin(At(0));
  supervision.HubReady(At(10));
  supervision.Observed({RunState::kRunning, ""}, At(50), At(50));
  CHECK(supervision.NextDeadline() == At(100));
  SECTION("no step comes") {
    const Actions actions = supervision.Tick(At(100));
    CHECK(supervision.outcome() == Outcome::kFailed);
    CHECK(actions.show_log == size_t{1});
  }
  SECTION("a step comes") {
    supervision.Stepped();
    supervision.Tick(At(100));
    CHECK_FALSE(supervision.outcome().has_value());
  }
}

TEST_CASE("A process that cannot be started fails the run, and later ones are not waited for", "[unit]") {
  Supervision supervision = NewRun();
  supervision.CannotStart(kReplay, absl::NotFoundError("no memory"), At(0));
  CHECK(supervision.outcome() == Outcome::kFailed);
  for (const size_t worker : {kLearner, kActor0, kActor1}) {
    CHECK(supervision.NotStarted(worker, At(0)).signals.empty());
  }
  CHECK(supervision.NotStarted(kEvaluator, At(0)).observe);  // No worker is left: the hub is asked for the last report.
  CHECK(supervision.Tick(At(2)).signals == Signals{{kHub, SIGTERM}});
}

TEST_CASE("One of several replay servers ends the run if it does not come up, but not later", "[unit]") {
  for (const bool stepped : {false, true}) {
    Supervision supervision({{"param-server"},
                             {"replay-server-0", WorkerKind::kReplayServer, 0},
                             {"replay-server-1", WorkerKind::kReplayServer, 1},
                             {"learner", WorkerKind::kLearner},
                             {"actor-0", WorkerKind::kActor}},
                            {false, absl::InfiniteDuration()}, kStart);
    supervision.Begin(At(0));
    supervision.HubReady(At(0));
    if (stepped) {
      supervision.Stepped();
    }
    KillForGood(&supervision, 2, 1);
    CHECK(supervision.outcome().has_value() == !stepped);
    if (stepped) {
      KillForGood(&supervision, 1, 20);
    }
    CHECK(supervision.outcome() == Outcome::kFailed);
  }
}

}  // namespace
}  // namespace waggle
