#include "replay_server/table/after_lock.h"

#include <algorithm>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("actions that add actions run one after the other, not inside each other", "[unit]") {
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

}  // namespace waggle
