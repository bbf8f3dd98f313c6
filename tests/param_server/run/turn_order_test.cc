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

}  // namespace
}  // namespace waggle
