#include "common/config/table/table_config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// Name()'s word for a value outside of its enumeration.
constexpr char kUnknown[] = "unknown";

template <class Enum>
absl::string_view NameIn(std::initializer_list<const char*> names, Enum value) {
  const auto number = static_cast<size_t>(value);  // Negative ones become large.
  return number < names.size() ? names.begin()[number] : kUnknown;
}

bool IsInteger(double value) {
  return value == std::floor(value);
}

}  // namespace

absl::string_view Name(SelectorKind kind) {
  return NameIn({kUnknown, "uniform", "prioritized", "fifo", "lifo", "min_heap", "max_heap"}, kind);
}

absl::string_view Name(ViewField::Rows rows) {
  return NameIn({kUnknown, "first", "last", "all", "future"}, rows);
}

absl::string_view Name(FutureRow row) {
  return NameIn({kUnknown, "later", "last", "episode"}, row);
}

absl::string_view Name(Codec codec) {
  return NameIn({"none", "lz4", "zstd"}, codec);
}

absl::string_view Name(Durability durability) {
  return NameIn({"none", "checkpoint", "log"}, durability);
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
  return std::max(StackReach(), future_row == FutureRow::kEpisode ? max_window - 1 : 0);
}

int64_t TableConfig::StackReach() const {
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
