#include "tests/support/delivery_history.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace waggle::testing {
namespace {

class Checker {
 public:
  explicit Checker(const DeliveryHistory& history) : history_(history) {
    for (const int64_t item : history.delivered) {
      ++delivered_[item];
    }
    for (const int64_t item : history.left) {
      ++left_[item];
    }
  }

  std::vector<std::string> Check() {
    CheckItems();
    CheckLosses();
    CheckCounts();
    return std::move(violations_);
  }

 private:
  template <class... Parts>
  void Add(const Parts&... parts) {
    violations_.push_back(absl::StrCat(parts...));
  }

  void CheckItems() {
    for (const auto* items : {&delivered_, &left_}) {
      for (const auto& [item, times] : *items) {
        if (history_.appended.count(item) == 0) {
          Add("item ", item, " was never appended");
        }
      }
    }
    for (const auto& [item, times] : left_) {
      if (times > 1) {
        Add("item ", item, " is in the table ", times, " times");
      }
    }
    for (const auto& [item, times] : delivered_) {
      const int64_t most = history_.max_times_sampled;
      if (most > 0 && times > most) {
        Add("item ", item, " was sampled ", times, " times; at most ", most, " are allowed");
      } else if (most > 0 && times == most && left_.count(item) > 0) {
        Add("item ", item, " was sampled as often as it may be and is still in the table");
      }
    }
  }

  void CheckLosses() {
    if (history_.max_items > 0) {
      CheckNewest();
      return;
    }
    int64_t missing = 0;  // Deliveries that departed items lack.
    int64_t example = 0;
    for (const int64_t item : history_.acknowledged) {
      const auto delivered = delivered_.find(item);
      const int64_t times = delivered == delivered_.end() ? 0 : delivered->second;
      const int64_t wanted = std::max<int64_t>(history_.max_times_sampled, 1);
      if (left_.count(item) == 0 && times < wanted) {
        missing += wanted - times;
        example = item;
      }
    }
    if (missing > history_.max_lost_deliveries) {
      Add("acknowledged items are gone that were received ", missing, " times too few; at most ",
          history_.max_lost_deliveries, " may have been on their way to a sampler; one is item ", example);
    }
  }

  // Checks that the table has the newest items without a gap, acknowledged ones included.
  void CheckNewest() {
    if (left_.empty()) {
      if (!history_.acknowledged.empty()) {
        Add("the table is empty");
      }
      return;
    }
    const int64_t oldest = left_.begin()->first;
    const int64_t newest = left_.rbegin()->first;
    const auto items = static_cast<int64_t>(left_.size());
    if (items > history_.max_items) {
      Add("there are ", items, " items; at most ", history_.max_items, " are allowed");
    }
    if (newest - oldest + 1 != items) {
      Add("of items ", oldest, " to ", newest, " there are only ", items);
    } else if (items < history_.max_items && history_.appended.count(oldest - 1) > 0) {
      Add("item ", oldest, " is the oldest though there is room for ", history_.max_items - items, " more");
    }
    if (!history_.acknowledged.empty() && newest < *history_.acknowledged.rbegin()) {
      Add("item ", *history_.acknowledged.rbegin(), " was acknowledged, and the newest there is ", newest);
    }
  }

  void CheckCounts() {
    const auto appended = static_cast<int64_t>(history_.appended.size());
    const auto delivered = static_cast<int64_t>(history_.delivered.size());
    if (history_.counts_all && history_.inserted != appended) {
      Add(appended, " items were appended and the table counts ", history_.inserted, " inserted");
    }
    if (history_.sampled < delivered || history_.sampled > delivered + history_.max_lost_deliveries) {
      Add(delivered, " items were received and the table counts ", history_.sampled, " sampled");
    }
    if (history_.samples_per_insert > 0) {
      const double difference =
          static_cast<double>(history_.inserted) * history_.samples_per_insert - static_cast<double>(history_.sampled);
      if (difference < history_.min_difference || difference > history_.max_difference) {
        Add("the rate limiter was overrun: the difference is ", difference, ", not within ", history_.min_difference,
            " and ", history_.max_difference);
      }
    }
  }

  const DeliveryHistory& history_;
  std::map<int64_t, int64_t> delivered_;
  std::map<int64_t, int64_t> left_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> Violations(const DeliveryHistory& history) {
  return Checker(history).Check();
}

}  // namespace waggle::testing
