#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "common/config/table/table_config.h"
#include "replay_server/items/table_state.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// A slow, obvious table. For random choices it has the probability of each outcome, or checks the actual one.
class NaiveTable {
 public:
  explicit NaiveTable(const TableConfig& config) : config_(config) {}

  struct Item {
    int64_t id = 0;
    double priority = 0;
    int64_t times_sampled = 0;
    Window window;
  };

  // `left` has the items that left for the new one, in order.
  void Insert(int64_t id, const NewItem& item, const std::vector<int64_t>& left) {
    const double priority = item.highest_priority ? HighestPriority() : Magnitude(item.priority);
    size_t gone = 0;
    while (static_cast<int64_t>(items_.size()) >= config_.max_items) {
      REQUIRE(gone < left.size());
      Leave(left[gone++]);
    }
    const Item newest{id, priority, 0, item.window};
    items_.push_back(newest);
    while (IsShort() && items_.size() > 1) {
      items_.pop_back();  // The remover cannot pick it yet.
      REQUIRE(gone < left.size());
      Leave(left[gone++]);
      items_.push_back(newest);
    }
    REQUIRE(gone == left.size());
    ++inserts_;
  }

  // Checks one item of a batch and counts it. Returns true if it left.
  bool Draw(int64_t id, const SampledItem& drawn, double probability) {
    Item* item = Find(id);
    REQUIRE(item != nullptr);
    REQUIRE(drawn.priority == item->priority);
    REQUIRE(drawn.times_sampled == ++item->times_sampled);
    REQUIRE(probability > 0);
    REQUIRE(drawn.probability == Approx(probability));
    if (config_.max_times_sampled == 0 || item->times_sampled < config_.max_times_sampled) {
      return false;
    }
    Remove(id);
    return true;
  }
  void CountSamples(int64_t counted) { samples_ += counted; }

  Item* Find(int64_t id) {
    for (Item& item : items_) {
      if (item.id == id) {
        return &item;
      }
    }
    return nullptr;
  }
  void Remove(int64_t id) {
    items_.erase(std::find_if(items_.begin(), items_.end(), [id](const Item& item) { return item.id == id; }));
  }
  void Clear() { items_.clear(); }

  void Reconfigure(const TableConfig& config, const std::vector<int64_t>& left) {
    const bool times = config.max_times_sampled != config_.max_times_sampled;
    ChangeRatio(config.rate_limiter);
    config_ = config;
    for (const int64_t id : left) {
      const Item* item = Find(id);
      REQUIRE(item != nullptr);
      if (times && config.max_times_sampled > 0 && item->times_sampled >= config.max_times_sampled) {
        Remove(id);
      } else {
        Leave(id);
      }
    }
    REQUIRE(static_cast<int64_t>(items_.size()) <= config.max_items);
    REQUIRE((!IsShort() || items_.size() <= 1));
  }

  // `limit` is for all tables of the server; 0 without one. `others` are the bytes of other tables in memory.
  void SetServerBytes(int64_t limit, int64_t others) {
    server_limit_ = limit;
    others_ = others;
  }
  // Bytes of its rows in memory. Rows past a memory_limit are on disk.
  int64_t InMemory() const { return config_.memory_limit > 0 ? std::min(Bytes(), config_.memory_limit) : Bytes(); }

  // For items that are inserted without rows: each has its own block of `bytes` bytes.
  void SetItemBytes(int64_t bytes) { item_bytes_ = bytes; }
  int64_t Bytes() const {
    std::set<const void*> blocks;
    int64_t bytes = item_bytes_ * static_cast<int64_t>(items_.size());
    for (const Item& item : items_) {
      for (const ChunkRef& chunk : item.window.chunks) {
        bytes += blocks.insert(chunk->pins(0)).second ? chunk->block_bytes() : 0;
      }
    }
    return bytes;
  }

  double Magnitude(double priority) const {
    return config_.sampler.absolute_priorities ? std::fabs(priority) : priority;
  }

  // The reported probability of an item; 0 if it cannot be drawn.
  double Probability(int64_t id) const {
    const auto item = std::find_if(items_.begin(), items_.end(), [id](const Item& other) { return other.id == id; });
    const SamplerConfig& sampler = config_.sampler;
    if (sampler.kind != SelectorKind::kUniform && sampler.kind != SelectorKind::kPrioritized) {
      return &*item == &First(sampler.kind) ? 1 : 0;
    }
    const auto newest =
        std::min(items_.size(), static_cast<size_t>(sampler.recent_share > 0 ? sampler.recent_items : 0));
    const bool is_new = static_cast<size_t>(items_.end() - item) <= newest;
    const double count = static_cast<double>(items_.size());
    const double share = PrioritySum() > 0 ? sampler.uniform_share : 0;
    const double among_all = share / count + (1 - share) * Part(*item, items_.size());
    const bool by_newest = is_new && Part(*item, newest) > 0;
    if (!by_newest && (sampler.recent_share == 1 || among_all == 0)) {
      return 0;
    }
    return among_all > 0 ? among_all : 1 / count;  // Leaves out the emphasis on the newest items.
  }

  // The sum of all weights.
  double PrioritySum() const { return SumOfNewest(items_.size()); }

  // The rate limiter's rule.
  bool CanInsert() const {
    const RateLimiterConfig& limiter = config_.rate_limiter;
    return limiter.samples_per_insert == 0 || static_cast<int64_t>(items_.size()) < limiter.min_items ||
           Difference() + limiter.samples_per_insert <= limiter.MaxDifference();
  }
  bool CanSample(const DrawRequest& request) const {
    if (request.items == 0 && request.counted == 0) {
      return true;
    }
    const RateLimiterConfig& limiter = config_.rate_limiter;
    const auto size = static_cast<int64_t>(items_.size());
    int64_t draws = 0;
    for (const Item& item : items_) {
      draws += config_.max_times_sampled - item.times_sampled;
    }
    return (request.items == 0 || size > 0) && size >= limiter.min_items &&
           (limiter.samples_per_insert == 0 || request.counted == 0 ||
            Difference() - static_cast<double>(request.counted) >= limiter.MinDifference()) &&
           (config_.max_times_sampled == 0 || draws >= request.items) &&
           (!config_.sampler.without_replacement || size >= request.items);
  }

  const std::deque<Item>& items() const { return items_; }

  // The rate limiter's difference: its value at the last change of the ratio, and the counts since.
  double Difference() const {
    return difference_then_ + static_cast<double>(inserts_ - inserts_then_) * config_.rate_limiter.samples_per_insert -
           static_cast<double>(samples_ - samples_then_);
  }

 private:
  // Keeps the distance to the middle of the bounds that the difference will have at min_items, within the bounds.
  void ChangeRatio(const RateLimiterConfig& to) {
    const RateLimiterConfig& from = config_.rate_limiter;
    const bool given = from.min_difference.has_value() || to.min_difference.has_value();
    if (inserts_ == 0 ||
        (to.samples_per_insert == from.samples_per_insert && (given || to.min_items == from.min_items))) {
      difference_then_ = to.CountsInIntegers() ? std::floor(difference_then_) : difference_then_;
      return;
    }
    const auto when_filled = [this](const RateLimiterConfig& limiter) {
      const auto missing = std::max<int64_t>(0, limiter.min_items - static_cast<int64_t>(items_.size()));
      return static_cast<double>(missing) * limiter.samples_per_insert;
    };
    double beyond = 0;
    if (from.samples_per_insert > 0) {
      beyond = Difference() + when_filled(from) - (from.MinDifference() + from.MaxDifference()) / 2;
    }
    const double filled = std::min(std::max((to.MinDifference() + to.MaxDifference()) / 2 + beyond, to.MinDifference()),
                                   to.MaxDifference());
    difference_then_ = filled - when_filled(to);
    difference_then_ = to.CountsInIntegers() ? std::floor(difference_then_) : difference_then_;
    inserts_then_ = inserts_;
    samples_then_ = samples_;
  }
  // True if an item must leave for the table's bytes, or for the server's if the table has bytes in memory to give.
  bool IsShort() const {
    const bool server = server_limit_ > 0 && others_ + InMemory() > server_limit_;
    return Bytes() > config_.max_bytes || (server && InMemory() == Bytes());
  }
  double HighestPriority() const {
    double highest = items_.empty() ? 1 : 0;
    for (const Item& item : items_) {
      highest = std::max(highest, item.priority);
    }
    return highest;
  }
  double Weight(const Item& item) const {
    return config_.sampler.kind == SelectorKind::kPrioritized
               ? std::pow(item.priority + config_.sampler.priority_epsilon, config_.sampler.priority_exponent)
               : 1;
  }
  double SumOfNewest(size_t newest) const {
    double sum = 0;
    for (size_t i = items_.size() - newest; i < items_.size(); ++i) {
      sum += Weight(items_[i]);
    }
    return sum;
  }
  // An item's part of the weight of the newest items. All are equal if all weights are 0.
  double Part(const Item& item, size_t newest) const {
    const double sum = SumOfNewest(newest);
    return sum > 0 ? Weight(item) / sum : 1 / static_cast<double>(newest);
  }
  // The item that a selector of this kind picks.
  const Item& First(SelectorKind kind) const {
    const auto lower = [](const Item& a, const Item& b) { return a.priority < b.priority; };
    const auto higher = [](const Item& a, const Item& b) { return a.priority > b.priority; };
    switch (kind) {
      case SelectorKind::kLifo:
        return items_.back();
      case SelectorKind::kMinHeap:
        return *std::min_element(items_.begin(), items_.end(), lower);
      case SelectorKind::kMaxHeap:
        return *std::min_element(items_.begin(), items_.end(), higher);
      default:
        return items_.front();
    }
  }
  // Removes an item. The remover must be able to pick it.
  void Leave(int64_t id) {
    const Item* item = Find(id);
    REQUIRE(item != nullptr);
    double sum = 0;
    for (const Item& other : items_) {
      sum += other.priority;
    }
    const SelectorKind kind = config_.remover.kind;
    if (kind == SelectorKind::kPrioritized) {
      REQUIRE((item->priority > 0 || sum == 0));
    } else if (kind != SelectorKind::kUniform) {
      REQUIRE(item == &First(kind));
    }
    Remove(id);
  }

  TableConfig config_;
  std::deque<Item> items_;  // Oldest first.
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
  double difference_then_ = 0;  // At the last change of the ratio, as are the two counts.
  int64_t inserts_then_ = 0;
  int64_t samples_then_ = 0;
  int64_t item_bytes_ = 0;
  int64_t server_limit_ = 0;  // 0 without a limit.
  int64_t others_ = 0;
};

}  // namespace waggle::testing
