#include "param_server/gradients/gradient_buffers.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

const auto owner = std::make_shared<int>();

TEST_CASE("a request for more memory than is free waits in order until buffers are released", "[unit]") {
  GradientBuffers buffers(100);
  std::shared_ptr<float> large;
  buffers.Take(1'000, owner, [&](std::shared_ptr<float> buffer) { large = std::move(buffer); });
  REQUIRE(large != nullptr);  // One buffer is always granted.
  large.get()[999] = 1;
  std::vector<int> order;
  std::vector<std::shared_ptr<float>> held;
  for (const int number : {1, 2, 3}) {
    buffers.Take(12, owner, [&, number](std::shared_ptr<float> buffer) {
      order.push_back(number);
      held.push_back(std::move(buffer));
    });
  }
  CHECK(order.empty());
  large = nullptr;
  CHECK(order == std::vector<int>{1, 2});
  held[1] = nullptr;
  CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("a request whose owner is gone blocks no other", "[unit]") {
  GradientBuffers buffers(100);
  std::shared_ptr<float> first;
  buffers.Take(20, owner, [&](std::shared_ptr<float> buffer) { first = std::move(buffer); });
  auto gone = std::make_shared<int>();
  const auto kept_by_the_wait = std::make_shared<int>();
  for (int i = 0; i < 2; ++i) {
    buffers.Take(1'000, gone, [kept_by_the_wait](const std::shared_ptr<float>&) { FAIL("it has gone"); });
  }
  gone = nullptr;
  bool had = false;
  buffers.Take(20, owner, [&had](const std::shared_ptr<float>&) { had = true; });
  CHECK(kept_by_the_wait.use_count() == 1);
  CHECK_FALSE(had);
  first = nullptr;
  CHECK(had);
}

TEST_CASE("buffers may outlive their GradientBuffers", "[unit]") {
  std::shared_ptr<float> kept;
  {
    GradientBuffers buffers(100);
    buffers.Take(3, owner, [&kept](std::shared_ptr<float> buffer) { kept = std::move(buffer); });
  }
  kept.get()[2] = 5;
  CHECK(kept.get()[2] == 5);
}

}  // namespace
}  // namespace waggle
