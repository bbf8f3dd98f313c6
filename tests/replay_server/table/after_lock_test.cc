#include "replay_server/table/after_lock.h"

#include <algorithm>
#include <new>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("actions that ask for more are run one after the other, not inside each other", "[unit]") {
  std::vector<int> order;
  int depth = 0;
  int deepest = 0;
  std::function<void(int)> step = [&](int number) {
    deepest = std::max(deepest, ++depth);
    order.push_back(number);
    if (number < 5) {
      Actions next;
      next.push_back([&step, number] { step(number + 1); });
      RunAfterLock(std::move(next));
    }
    --depth;
  };
  Actions first;
  first.push_back([&step] { step(0); });
  first.push_back([&order] { order.push_back(100); });
  RunAfterLock(std::move(first));
  REQUIRE(order == std::vector<int>{0, 100, 1, 2, 3, 4, 5});
  REQUIRE(deepest == 1);
}

TEST_CASE("actions are run after an earlier one has thrown", "[unit]") {
  const auto fail = [] { throw std::bad_alloc(); };
  bool ran_with_it = false;
  REQUIRE_THROWS_AS(RunAfterLock({fail, [&ran_with_it] { ran_with_it = true; }}), std::bad_alloc);
  REQUIRE(ran_with_it);
  bool ran = false;
  RunAfterLock({[&ran] { ran = true; }});
  REQUIRE(ran);
}

}  // namespace waggle
