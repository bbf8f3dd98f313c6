#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_config.h"
#include "replay_server/items/rate_limiter.h"

// When a table allows inserts and samples: pure functions of its numbers, also used to explain waits.

namespace waggle {

// A request for samples.
struct DrawRequest {
  int64_t items = 0;
  // Samples that the rate limiter counts. A batch from several tables counts each table's part.
  int64_t counted = 0;
};

// The input of the rules, besides the configuration and the limiter.
struct TableCounts {
  int64_t items = 0;
  // Draws until all items are sampled max_times_sampled times, if that is limited.
  int64_t draws_left = 0;
};

// True if a batch waits for more items, or for items with draws left. Then inserts are allowed, because blocking them
// would block both sides for ever. `waiting_batch` is the size of the largest waiting batch.
inline bool BatchLacksItems(const TableConfig& config, const TableCounts& counts, int64_t waiting_batch) {
  return (config.max_times_sampled > 0 && counts.draws_left < waiting_batch) ||
         (config.sampler.without_replacement && counts.items < waiting_batch);
}

inline bool MayInsert(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                      int64_t waiting_batch) {
  return limiter.CanInsert(counts.items) || BatchLacksItems(config, counts, waiting_batch);
}

// The part of a table that is reserved for the oldest waiting batch.
struct SetAside {
  int64_t samples = 0;  // Part of the rate limiter's allowance.
  int64_t items = 0;    // Part of TableCounts::items.
  int64_t draws = 0;    // Part of TableCounts::draws_left.
};

// The largest batch that a table of at most `most_items` can ever serve.
inline int64_t LargestBatch(const TableConfig& config, int64_t most_items) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  int64_t largest = config.sampler.without_replacement ? most_items : kAny;
  if (config.max_times_sampled > 0) {
    largest =
        std::min(largest, most_items > kAny / config.max_times_sampled ? kAny : most_items * config.max_times_sampled);
  }
  return largest;
}

// Reserves half of what `inserts` since the batch became the oldest have brought, up to what it lacks. So smaller
// batches may overtake it but cannot starve it. The table must be able to serve the batch: others may never be drawn.
inline SetAside SetAsideFor(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                            const DrawRequest& request, int64_t inserts) {
  SetAside set_aside;
  const auto half = [inserts](double for_each, int64_t most) {
    return static_cast<int64_t>(std::min(static_cast<double>(inserts) * for_each / 2, static_cast<double>(most)));
  };
  const bool lacks_items = config.sampler.without_replacement && counts.items < request.items;
  if (config.max_times_sampled > 0) {  // Otherwise sampling uses up no items.
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

// Explains what a batch waits for; empty if it need not wait. `loses_items` is true if items leave for their bytes.
inline std::string WhyNoSample(const TableConfig& config, const RateLimiter& limiter, const TableCounts& counts,
                               const DrawRequest& request, bool loses_items) {
  std::string why = limiter.WhyNoSample(counts.items, request.counted);
  if (why.empty() && !MaySample(config, limiter, counts, request)) {
    why = config.sampler.without_replacement && counts.items < request.items
              ? absl::StrCat("samples wait for ", request.items - counts.items, " more items: a batch has ",
                             request.items, " different ones (without_replacement), there are ", counts.items)
              : absl::StrCat("samples wait for more items: those that there are may be drawn ", counts.draws_left,
                             " more times (max_times_sampled is ", config.max_times_sampled, "), a batch is ",
                             request.items);
  }
  if (!why.empty() && loses_items && counts.items < config.rate_limiter.min_items) {
    absl::StrAppend(&why, "; max_bytes, ", config.max_bytes, ", removes items before there are as many");
  }
  return why;
}

// FAILED_PRECONDITION, naming the setting, if the request could never be granted: later ones would wait for ever.
inline absl::Status CheckDraw(const TableConfig& config, const DrawRequest& request) {
  if (request.items > 0) {
    WAGGLE_RETURN_IF_ERROR(config.CheckBatchSize(request.items));
  }
  // Smaller counts are possible if a larger one is.
  const std::string stuck =
      request.counted > request.items ? config.rate_limiter.WhyStuck(request.counted) : std::string();
  return stuck.empty() ? absl::OkStatus() : absl::FailedPreconditionError(stuck);
}

}  // namespace waggle
