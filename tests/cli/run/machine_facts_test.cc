#include "cli/run/machine_facts.h"

#include <string>
#include <thread>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A machine's facts have its cores and its memory", "[unit]") {
  const std::string facts = MachineFacts();
  CHECK_THAT(facts, Catch::Contains(std::to_string(std::thread::hardware_concurrency()) + " core"));
  CHECK_THAT(facts, Catch::Contains("iB"));
}

}  // namespace
}  // namespace waggle
