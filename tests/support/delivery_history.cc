#include "tests/support/delivery_history.h"

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
    int64_t missing = 0;
    int64_t example = 0;
    for (const int64_t item : history_.acknowledged) {
      if (left_.count(item) == 0 && delivered_.count(item) == 0) {
        ++missing;
        example = item;
      }
    }
    if (missing > history_.max_lost_deliveries) {
      Add(missing, " acknowledged items are gone, of which ", history_.max_lost_deliveries,
          " may have been on their way to a sampler; one is item ", example);
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
