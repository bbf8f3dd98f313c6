#include "tests/support/delivery_history.h"

#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// Four of six items were sampled, and the answer with one of them was lost.
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
      {"received 2 times too few", [](auto* h) { h->left = {5}; }},
      {"received 1 times too few", [](auto* h) { h->max_lost_deliveries = 0, h->sampled = 3; }},
      {"received 4 times too few", [](auto* h) { h->max_times_sampled = 2, h->left.push_back(0); }},
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

// The table has the newest three of six items; the last was not acknowledged.
DeliveryHistory Full() {
  DeliveryHistory history;
  history.appended = {0, 1, 2, 3, 4, 5};
  history.acknowledged = {0, 1, 2, 3, 4};
  history.left = {3, 5, 4};
  history.max_items = 3;
  history.inserted = 6;
  return history;
}

TEST_CASE("a full table that has the newest items has no violations", "[unit]") {
  REQUIRE(Violations(Full()).empty());
  DeliveryHistory behind = Full();
  behind.left = {2, 3, 4};
  behind.counts_all = false;
  REQUIRE(Violations(behind).empty());
  behind.left = {0, 1};
  behind.acknowledged = {0};
  REQUIRE(Violations(behind).empty());
}

TEST_CASE("items that a full table must not have lost, or kept, are found", "[unit]") {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> faults = {
      {"there are 4 items", {2, 3, 4, 5}},
      {"of items 2 to 5 there are only 3", {2, 3, 5}},
      {"item 4 was acknowledged", {1, 2, 3}},
      {"item 4 is the oldest though there is room", {4, 5}},
      {"item 4 is in the table 2 times", {3, 4, 4, 5}},
      {"the table is empty", {}},
  };
  for (const auto& [message, left] : faults) {
    INFO(message);
    DeliveryHistory history = Full();
    history.left = left;
    const std::vector<std::string> violations = Violations(history);
    REQUIRE(!violations.empty());
    REQUIRE(absl::StrContains(violations.front(), message));
  }
}

}  // namespace
}  // namespace waggle::testing
