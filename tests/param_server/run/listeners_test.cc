#include "param_server/run/listeners.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Listeners are called until their subscription ends, which may happen during a call", "[unit]") {
  Listeners listeners;
  int calls = 0;
  std::unique_ptr<Listeners::Subscription> first = listeners.Add([&calls] { ++calls; });
  std::unique_ptr<Listeners::Subscription> second = listeners.Add([&calls, &second] {
    calls += 10;
    second.reset();
  });
  listeners.CallAll();
  CHECK(calls == 11);
  listeners.CallAll();
  CHECK(calls == 12);
  first.reset();
  listeners.CallAll();
  CHECK(calls == 12);
}

}  // namespace
}  // namespace waggle
