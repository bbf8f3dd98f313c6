#include "tests/support/delivery_history.h"

#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// Of six items four were sampled, and the answer with one of them was lost.
DeliveryHistory Good() {
  DeliveryHistory history;
  history.appended = {0, 1, 2, 3, 4, 5};
  history.acknowledged = {0, 1, 2, 3, 4};
  history.delivered = {0, 2, 1};
  history.left = {4, 5};
  history.max_times_sampled = 1;
  history.max_lost_deliveries = 1;
  history.inserted = 6;
  history.sampled = 4;
  history.samples_per_insert = 1;
  history.min_difference = 0;
  history.max_difference = 3;
  return history;
}

TEST_CASE("a history without faults has no violations", "[unit]") {
  REQUIRE(Violations(Good()).empty());
}

TEST_CASE("every kind of fault is found", "[unit]") {
  const std::vector<std::pair<std::string, std::function<void(DeliveryHistory*)>>> faults = {
      {"item 4 is in the table 2 times", [](auto* h) { h->left.push_back(4); }},
      {"item 2 was sampled 2 times", [](auto* h) { h->delivered.push_back(2), ++h->sampled; }},
      {"item 2 was sampled as often as it may be", [](auto* h) { h->left.push_back(2); }},
      {"item 9 was never appended", [](auto* h) { h->left.push_back(9); }},
      {"2 acknowledged items are gone", [](auto* h) { h->left = {5}; }},
      {"1 acknowledged items are gone", [](auto* h) { h->max_lost_deliveries = 0, h->sampled = 3; }},
      {"counts 7 inserted", [](auto* h) { h->inserted = 7; }},
      {"counts 2 sampled", [](auto* h) { h->sampled = 2; }},
      {"counts 5 sampled", [](auto* h) { h->sampled = 5; }},
      {"the rate limiter was overrun", [](auto* h) { h->max_difference = 1; }},
      {"the rate limiter was overrun", [](auto* h) { h->min_difference = 3; }},
  };
  for (const auto& [message, fault] : faults) {
    INFO(message);
    DeliveryHistory history = Good();
    fault(&history);
    const std::vector<std::string> violations = Violations(history);
    REQUIRE(!violations.empty());
    REQUIRE(absl::StrContains(violations.front(), message));
  }
}

}  // namespace
}  // namespace waggle::testing
