#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/table_config/table_config.h"
#include "replay_server/items/rate_limiter.h"

// When a table may be inserted into and sampled from: pure functions of its numbers, for the table and for whoever
// explains what it waits for.

namespace waggle {

// What is asked of a table at a time.
struct DrawRequest {
  int64_t items = 0;
  // Samples that the rate limiter counts for it: of a batch that comes from several tables, this one's part.
  int64_t counted = 0;
};

// What the rules go by, beside the configuration and the limiter.
struct TableCounts {
  int64_t items = 0;
  // Until every item is sampled max_times_sampled times, where that is limited.
  int64_t draws_left = 0;
};

// Where a batch waits for more items, or for some that have not used up max_times_sampled, inserts are let through:
// blocking them would block both for ever. `waiting_batch` is the size of the largest batch that waits.
inline bool BatchLacksItems(const TableConfig& config, const TableCounts& counts, int64_t waiting_batch) {
  return (config.max_times_sampled > 0 && counts.draws_left < waiting_batch) ||
         (config.sampler.without_replacement && counts.items < waiting_batch);
}

inline bool MayInsert(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                      int64_t waiting_batch) {
  return limiter.CanInsert(counts.items) || BatchLacksItems(config, counts, waiting_batch);
}

// What nobody but the batch that waits longest may use.
struct SetAside {
  int64_t samples = 0;  // Of those that the rate limiter allows.
  int64_t items = 0;    // Of TableCounts::items.
  int64_t draws = 0;    // Of TableCounts::draws_left.
};

// The largest batch that the table can ever serve, if it never holds more than `most_items`.
inline int64_t LargestBatch(const TableConfig& config, int64_t most_items) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  int64_t largest = config.sampler.without_replacement ? most_items : kAny;
  if (config.max_times_sampled > 0) {
    largest =
        std::min(largest, most_items > kAny / config.max_times_sampled ? kAny : most_items * config.max_times_sampled);
  }
  return largest;
}

// For a batch that has been the oldest for so many inserts: half of what these brought, as far as it is what the batch
// lacks. So smaller ones go past it without keeping it from being drawn for ever. The batch is one that the table can
// serve: otherwise nothing is set aside, for it may well be that it is never drawn.
inline SetAside SetAsideFor(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                            const DrawRequest& request, int64_t inserts) {
  SetAside set_aside;
  const auto half = [inserts](double for_each, int64_t most) {
    return static_cast<int64_t>(std::min(static_cast<double>(inserts) * for_each / 2, static_cast<double>(most)));
  };
  const bool lacks_items = config.sampler.without_replacement && counts.items < request.items;
  if (config.max_times_sampled > 0) {  // Otherwise sampling takes no items.
    set_aside.items = lacks_items ? half(1, request.items) : 0;
    set_aside.draws =
        counts.draws_left < request.items ? half(static_cast<double>(config.max_times_sampled), request.items) : 0;
  }
  if (!BatchLacksItems(config, counts, request.items) && !limiter.CanSample(counts.items, request.counted)) {
    set_aside.samples = half(config.rate_limiter.samples_per_insert, request.counted);
  }
  return set_aside;
}

inline bool MaySample(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                      const DrawRequest& request, const SetAside& set_aside = {}) {
  if (request.items == 0 && request.counted == 0) {
    return true;
  }
  const int64_t counted = request.counted == 0 ? 0 : request.counted + set_aside.samples;
  const TableCounts left{counts.items - set_aside.items, counts.draws_left - set_aside.draws};
  return (counts.items > 0 || request.items == 0) && limiter.CanSample(counts.items, counted) &&
         !BatchLacksItems(config, left, request.items);
}

// FAILED_PRECONDITION for what could never be granted, and whoever comes after it would wait for ever: says which
// setting is too small.
inline absl::Status CheckDraw(const TableConfig& config, const DrawRequest& request) {
  if (request.items > 0) {
    WAGGLE_RETURN_IF_ERROR(config.CheckBatchSize(request.items));
  }
  // What is possible for a number is for a smaller one too.
  const std::string stuck =
      request.counted > request.items ? config.rate_limiter.WhyStuck(request.counted) : std::string();
  return stuck.empty() ? absl::OkStatus() : absl::FailedPreconditionError(stuck);
}

}  // namespace waggle
