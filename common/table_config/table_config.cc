#include "common/table_config/table_config.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// Name()'s word for a value outside of its enumeration.
constexpr char kUnknown[] = "unknown";

bool IsInteger(double value) {
  return value == std::floor(value);
}

}  // namespace

absl::string_view Name(SelectorKind kind) {
  switch (kind) {
    case SelectorKind::kUniform:
      return "uniform";
    case SelectorKind::kPrioritized:
      return "prioritized";
    case SelectorKind::kFifo:
      return "fifo";
    case SelectorKind::kLifo:
      return "lifo";
    case SelectorKind::kMinHeap:
      return "min_heap";
    case SelectorKind::kMaxHeap:
      return "max_heap";
  }
  return kUnknown;
}

absl::string_view Name(ViewField::Rows rows) {
  switch (rows) {
    case ViewField::Rows::kFirst:
      return "first";
    case ViewField::Rows::kLast:
      return "last";
    case ViewField::Rows::kAll:
      return "all";
    case ViewField::Rows::kFuture:
      return "future";
  }
  return kUnknown;
}

absl::string_view Name(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kLz4:
      return "lz4";
    case Codec::kZstd:
      return "zstd";
  }
  return kUnknown;
}

absl::string_view Name(Durability durability) {
  switch (durability) {
    case Durability::kNone:
      return "none";
    case Durability::kCheckpoint:
      return "checkpoint";
    case Durability::kLog:
      return "log";
  }
  return kUnknown;
}

double RateLimiterConfig::MinDifference() const {
  return min_difference.value_or(static_cast<double>(min_items) * samples_per_insert - error_buffer);
}

double RateLimiterConfig::MaxDifference() const {
  return max_difference.value_or(static_cast<double>(min_items) * samples_per_insert + error_buffer);
}

bool RateLimiterConfig::CountsInIntegers() const {
  return min_difference.has_value() && max_difference.has_value() && IsInteger(samples_per_insert) &&
         IsInteger(*min_difference) && IsInteger(*max_difference);
}

// An insert waits if the difference is above max_difference - samples_per_insert, a batch if it is below min_difference
// + batch_size. Both must not be true of one difference; if all of them are integers, only integers count.
std::string RateLimiterConfig::WhyStuck(int64_t batch_size) const {
  if (samples_per_insert == 0) {
    return "";
  }
  const std::string what = absl::StrCat("with samples_per_insert ", samples_per_insert,
                                        batch_size > 1 ? absl::StrCat(" and batches of ", batch_size) : "");
  const char kElse[] = ", or inserts and samples would block each other for ever";
  const double steps = samples_per_insert + static_cast<double>(batch_size);
  if (!min_difference.has_value() || !max_difference.has_value()) {
    return 2 * error_buffer >= steps ? ""
                                     : absl::StrCat("rate_limiter.error_buffer: ", error_buffer,
                                                    " is too small: ", what, " it must be at least ", steps / 2, kElse);
  }
  const double needed = steps - (CountsInIntegers() ? 1 : 0);
  const double range = *max_difference - *min_difference;
  return range >= needed
             ? ""
             : absl::StrCat("rate_limiter: max_difference, ", *max_difference, ", is ", range,
                            " more than min_difference, ", *min_difference, ": ", what, " it must be ", needed, kElse);
}

int64_t TableConfig::MaxContextRows() const {
  int64_t longest = 1;
  for (const ViewField& field : view) {
    longest = std::max(longest, field.stack);
  }
  return longest - 1;
}

bool TableConfig::HasFuture() const {
  return std::any_of(view.begin(), view.end(),
                     [](const ViewField& field) { return field.rows == ViewField::Rows::kFuture; });
}

void MakeQueue(int64_t max_items, TableConfig* config) {
  config->sampler = SamplerConfig();
  config->sampler.kind = SelectorKind::kFifo;
  config->remover = RemoverConfig();
  config->max_items = max_items;
  config->max_times_sampled = 1;
  config->rate_limiter = RateLimiterConfig();
  config->rate_limiter.samples_per_insert = 1;
  config->rate_limiter.min_difference = 0;
  config->rate_limiter.max_difference = static_cast<double>(max_items);
}

void MakeStack(int64_t max_items, TableConfig* config) {
  MakeQueue(max_items, config);
  config->sampler.kind = SelectorKind::kLifo;
}

bool TableConfig::UsesPriorities() const {
  const auto uses = [](SelectorKind kind) {
    return kind == SelectorKind::kPrioritized || kind == SelectorKind::kMinHeap || kind == SelectorKind::kMaxHeap;
  };
  return uses(sampler.kind) || uses(remover.kind);
}

}  // namespace waggle
