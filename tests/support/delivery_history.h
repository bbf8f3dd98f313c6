#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace waggle::testing {

// What clients have seen of a table whose server crashed again and again, and what was in it in the end. Items are
// known by numbers that their writers gave them.
struct DeliveryHistory {
  std::set<int64_t> appended;      // Handed to a writer.
  std::set<int64_t> acknowledged;  // Of these, at the level that the table promises to keep.
  std::vector<int64_t> delivered;  // Sampled and received, as often as that was.
  std::vector<int64_t> left;       // In the table at the end.
  int64_t max_times_sampled = 0;   // 0: no limit.
  // Past so many the oldest leave, where one writer has numbered its items in their order; 0: none leaves for others.
  int64_t max_items = 0;
  int64_t max_lost_deliveries = 0;  // Samples that may have been on their way to a client when the server crashed.
  // As the table counts them, at the end.
  int64_t inserted = 0;
  int64_t sampled = 0;
  bool counts_all = true;  // Its counts are of everything that was appended: nothing it ever knew was lost.
  // What the rate limiter keeps inserted * samples_per_insert - sampled within; no ratio for 0.
  double samples_per_insert = 0;
  double min_difference = 0;
  double max_difference = 0;
};

// What of it must not be, in words; empty where all is well.
std::vector<std::string> Violations(const DeliveryHistory& history);

}  // namespace waggle::testing
