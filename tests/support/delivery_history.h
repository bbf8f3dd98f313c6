#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace waggle::testing {

// The deliveries that clients have seen of a table whose server crashed repeatedly, and its final contents. Items are
// known by numbers of their writers.
struct DeliveryHistory {
  std::set<int64_t> appended;      // Handed to a writer.
  std::set<int64_t> acknowledged;  // Appended ones, acknowledged at the table's level of durability.
  std::vector<int64_t> delivered;  // Sampled and received, once for each time.
  std::vector<int64_t> left;       // In the table at the end.
  int64_t max_times_sampled = 0;   // 0: no limit.
  // The table's size beyond which the oldest items leave, for one writer that numbers its items in order; 0: no limit.
  int64_t max_items = 0;
  int64_t max_lost_deliveries = 0;  // Samples that may have been on their way to a client when the server crashed.
  // The table's own counts, at the end.
  int64_t inserted = 0;
  int64_t sampled = 0;
  bool counts_all = true;  // True if the counts include every appended item, as none was lost.
  // The rate limiter keeps inserted * samples_per_insert - sampled within these bounds; 0: no ratio.
  double samples_per_insert = 0;
  double min_difference = 0;
  double max_difference = 0;
};

// The violations in a history, in words; empty if there are none.
std::vector<std::string> Violations(const DeliveryHistory& history);

}  // namespace waggle::testing
