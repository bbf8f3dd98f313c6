#include "common/config/table/shard_config.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/problems.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// The parts of all shards add up to `whole`.
int64_t Part(int64_t whole, int64_t shard, int64_t shards) {
  return whole / shards + (shard < whole % shards ? 1 : 0);
}

std::string ForShards(int64_t shards) {
  return absl::StrCat("for ", shards, shards == 1 ? " replay server" : " replay servers");
}

RateLimiterConfig LimiterPart(const RateLimiterConfig& whole, int64_t shard, int64_t shards) {
  const auto count = static_cast<double>(shards);
  RateLimiterConfig part = whole;
  part.min_items = std::max<int64_t>(1, Part(whole.min_items, shard, shards));
  part.error_buffer = whole.error_buffer / count;
  if (whole.min_difference.has_value() && whole.max_difference.has_value()) {
    part.min_difference = *whole.min_difference / count;
    part.max_difference = *whole.max_difference / count;
  }
  return part;
}

// The distance between a limiter's bounds, in samples.
double Room(const RateLimiterConfig& limiter) {
  return limiter.MaxDifference() - limiter.MinDifference();
}

}  // namespace

absl::StatusOr<TableConfig> ShardConfig(const TableConfig& config, int64_t shard, int64_t shards) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  if (shards < 1 || shards > kMaxShards || shard < 0 || shard >= shards) {
    return absl::InvalidArgumentError(absl::StrCat("shard ", shard, " of ", shards, ": wanted one of 1 to ", kMaxShards,
                                                   " shards, which are numbered from 0"));
  }
  if (shards == 1) {
    return config;
  }
  Problems problems;
  const auto divide = [&](absl::string_view field, int64_t whole) {
    problems.AddUnless(whole >= shards, field, ": ", whole, " is too small ", ForShards(shards), ": each needs 1");
    return std::max<int64_t>(1, Part(whole, shard, shards));
  };
  TableConfig part = config;
  part.max_items = divide("max_items", config.max_items);
  part.max_bytes = divide("max_bytes", config.max_bytes);
  if (config.memory_limit > 0) {
    part.memory_limit = divide("memory_limit", config.memory_limit);
  }
  if (config.sampler.recent_share > 0) {
    part.sampler.recent_items = std::max<int64_t>(1, Part(config.sampler.recent_items, shard, shards));
  }
  part.rate_limiter = LimiterPart(config.rate_limiter, shard, shards);
  part.seed = Rng::Split(config.seed, "shard", static_cast<uint64_t>(shard)).Next();
  // Each shard's own bounds, so that the message is about the whole's.
  if (const double needed = config.rate_limiter.samples_per_insert + 1;
      config.rate_limiter.samples_per_insert > 0 && !part.rate_limiter.WhyStuck(1).empty()) {
    const bool has_differences = config.rate_limiter.min_difference.has_value();
    problems.Add(has_differences ? "rate_limiter: max_difference - min_difference is "
                                 : "rate_limiter.error_buffer: twice its value is ",
                 Room(config.rate_limiter), ", which is too small ", ForShards(shards), ": each needs ", needed,
                 " (samples_per_insert + 1)");
  }
  const std::string context = absl::StrCat("table \"", config.name, "\": ");
  WAGGLE_RETURN_IF_ERROR(problems.ToStatus(context, "; "));
  WAGGLE_RETURN_IF_ERROR(Annotate(part.Validate(), ForShards(shards)));
  return part;
}

absl::Status CheckShardedBatch(const TableConfig& config, int64_t shards, int64_t batch_size) {
  // The last shard has the least.
  WAGGLE_ASSIGN_OR_RETURN(const TableConfig part, ShardConfig(config, shards - 1, shards));
  const RateLimiterConfig& limiter = config.rate_limiter;
  Problems problems;
  if (limiter.samples_per_insert > 0) {
    if (!part.rate_limiter.WhyStuck(batch_size).empty()) {
      const double needed =
          static_cast<double>(shards) * (limiter.samples_per_insert + static_cast<double>(batch_size));
      problems.Add(
          limiter.min_difference.has_value()
              ? absl::StrCat("rate_limiter: max_difference, ", *limiter.max_difference, ", is ", Room(limiter),
                             " more than min_difference, ", *limiter.min_difference, ": ", ForShards(shards),
                             " and batches of ", batch_size, " it must be ", needed)
              : absl::StrCat("rate_limiter.error_buffer: ", limiter.error_buffer, " is too small ", ForShards(shards),
                             " and batches of ", batch_size, ": it must be at least ", needed / 2),
          ", so that samples can be made whichever server inserts wait at");
    }
    problems.AddUnless(
        config.max_times_sampled == 0 || static_cast<double>(config.max_times_sampled) >= limiter.samples_per_insert,
        "max_times_sampled: ", config.max_times_sampled, " is less than samples_per_insert, ",
        limiter.samples_per_insert, ", which is not available ", ForShards(shards));
  }
  problems.AddUnless(config.max_times_sampled == 0 || batch_size <= config.max_times_sampled * part.max_items,
                     "max_items: ", config.max_items, " is too small ", ForShards(shards), ": one may hold ",
                     part.max_items, ", each sampled at most ", config.max_times_sampled, " times; a batch is ",
                     batch_size);
  problems.AddUnless(!config.sampler.without_replacement || batch_size <= part.max_items,
                     "max_items: ", config.max_items, " is too small ", ForShards(shards), ": one may hold ",
                     part.max_items, "; a batch is ", batch_size, " different ones (without_replacement)");
  const absl::Status status = problems.ToStatus(absl::StrCat("table \"", config.name, "\": "), "; ");
  return status.ok() ? status : absl::FailedPreconditionError(status.message());
}

}  // namespace waggle
