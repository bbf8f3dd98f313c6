#include "param_server/run/turn_order.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// The roles of the next turns. Each turn of the learner takes this number of steps.
std::vector<Role> Turns(TurnOrder* order, int count, int64_t steps_a_turn, int64_t* learner_steps) {
  std::vector<Role> roles;
  for (int i = 0; i < count; ++i) {
    const Turn turn = order->turn();
    roles.push_back(turn.role);
    *learner_steps += turn.role == Role::kLearner ? steps_a_turn : 0;
    REQUIRE(order->Done(turn.role, turn.number, *learner_steps));
    REQUIRE(order->turn().number == turn.number + 1);
  }
  return roles;
}

TEST_CASE("learner and actor take turns, with figures and evaluations in between", "[unit]") {
  TurnOrder order({/*record_steps=*/4, /*evaluation_steps=*/6});
  int64_t steps = -2;  // The first turn only publishes.
  CHECK(Turns(&order, 4, 2, &steps) == std::vector<Role>{Role::kLearner, Role::kActor, Role::kLearner, Role::kActor});
  CHECK(Turns(&order, 4, 2, &steps) ==  // Four steps.
        std::vector<Role>{Role::kLearner, Role::kReplayServer, Role::kParamServer, Role::kActor});
  CHECK(Turns(&order, 3, 2, &steps) ==  // Six.
        std::vector<Role>{Role::kLearner, Role::kEvaluator, Role::kActor});
  CHECK(Turns(&order, 5, 6, &steps) ==  // Twelve: several passed periods count once.
        std::vector<Role>{Role::kLearner, Role::kReplayServer, Role::kParamServer, Role::kEvaluator, Role::kActor});
}

TEST_CASE("without evaluations the evaluator has no turn", "[unit]") {
  TurnOrder order({/*record_steps=*/1'000, /*evaluation_steps=*/0});
  int64_t steps = 0;
  CHECK(Turns(&order, 4, 100, &steps) == std::vector<Role>{Role::kLearner, Role::kActor, Role::kLearner, Role::kActor});
}

TEST_CASE("a turn is ended once, by the role that has it", "[unit]") {
  TurnOrder order({1'000, 0});
  CHECK_FALSE(order.Done(Role::kLearner, 0, 0));  // Its turn has not begun.
  CHECK_FALSE(order.Done(Role::kActor, 1, 0));
  CHECK(order.Done(Role::kLearner, 1, 0));
  CHECK_FALSE(order.Done(Role::kLearner, 1, 0));
  CHECK(order.turn().role == Role::kActor);
  CHECK(order.turn().number == 2);
}

TEST_CASE("turns of an earlier hub are not given again", "[unit]") {
  TurnOrder order({1'000, 0});
  CHECK(order.Done(Role::kActor, 70, 0));
  CHECK(order.turn().role == Role::kLearner);
  CHECK(order.turn().number == 71);
  CHECK_FALSE(order.Done(Role::kActor, ~uint64_t{0}, 0));  // No hub gave this turn.
  CHECK(order.turn().number == 71);
}

TEST_CASE("items are counted over successive actors, though reports overtake each other", "[unit]") {
  TurnOrder order({1'000, 0});
  order.CountItems("a", 10);
  order.CountItems("a", 25);
  order.CountItems("a", 20);
  order.CountItems("b", 7);
  CHECK(order.turn().items == 32);
}

// Ends the present turn, whose role and cut must be these.
void EndTurn(TurnOrder* order, Role role, int64_t learner_steps, uint64_t cut = 0) {
  REQUIRE(order->turn().role == role);
  REQUIRE(order->turn().cut == cut);
  REQUIRE(order->Done(role, order->turn().number, learner_steps));
}

LockStepOptions EveryTen() {
  LockStepOptions options;
  options.record_steps = 1'000;
  options.cut_steps = 10;
  return options;
}

TEST_CASE("a due cut takes a turn of the learner and one of the hub, and then the learner begins", "[unit]") {
  TurnOrder order(EveryTen());
  EndTurn(&order, Role::kLearner, 9);
  EndTurn(&order, Role::kActor, 9);
  EndTurn(&order, Role::kLearner, 12);
  EndTurn(&order, Role::kLearner, 12, /*cut=*/1);
  CHECK(order.turn().since_cut == 0);
  const TurnState after = order.AfterCut();
  EndTurn(&order, Role::kParamServer, 12, /*cut=*/1);
  CHECK(order.turn().since_cut == 1);

  // A run that goes back to the cut has the same turns.
  TurnOrder again(EveryTen(), after);
  for (const int64_t steps : {12, 14, 19, 20}) {
    CHECK(again.turn().number == order.turn().number);
    CHECK(again.turn().since_cut == order.turn().since_cut);
    EndTurn(&order, Role::kLearner, steps);
    EndTurn(&again, Role::kLearner, steps);
    if (steps < 20) {
      EndTurn(&order, Role::kActor, steps);
      EndTurn(&again, Role::kActor, steps);
    }
  }
  CHECK(order.turn().cut == 2);
  CHECK(again.turn().cut == 2);
}

TEST_CASE("a cut may be requested at any turn", "[unit]") {
  TurnOrder order(LockStepOptions{1'000, 0, 0});
  EndTurn(&order, Role::kLearner, 1);
  CHECK(order.RequestCut() == 1);
  EndTurn(&order, Role::kActor, 1);
  EndTurn(&order, Role::kLearner, 2);
  EndTurn(&order, Role::kLearner, 2, 1);
  EndTurn(&order, Role::kParamServer, 2, 1);
  EndTurn(&order, Role::kLearner, 2);
  EndTurn(&order, Role::kActor, 2);
  EndTurn(&order, Role::kLearner, 3);
  CHECK(order.turn().role == Role::kActor);
}

TEST_CASE("after a cut that could not be made the run goes on, and the next one has another number", "[unit]") {
  TurnOrder order(LockStepOptions{1'000, 0, 0});
  order.RequestCut();
  EndTurn(&order, Role::kLearner, 1);
  order.CutFailed(1);
  order.CutFailed(1);
  EndTurn(&order, Role::kLearner, 1, 1);
  CHECK(order.turn().since_cut == 0);
  CHECK(order.RequestCut() == 2);
  EndTurn(&order, Role::kActor, 1);
  EndTurn(&order, Role::kLearner, 1);
  EndTurn(&order, Role::kLearner, 1, 2);
  order.CutFailed(2);  // The hub's part fails.
  EndTurn(&order, Role::kParamServer, 1);
  CHECK(order.turn().since_cut == 0);
  EndTurn(&order, Role::kLearner, 1);
  CHECK(order.turn().role == Role::kActor);
}

}  // namespace
}  // namespace waggle
