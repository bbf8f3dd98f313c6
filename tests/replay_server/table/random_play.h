#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/base/random.h"
#include "tests/replay_server/table/naive_table.h"

namespace waggle::testing {

// What random operations on a table and on a naive one have in common, wherever the table is.
class RandomPlay {
 protected:
  using Address = std::pair<uint64_t, uint64_t>;  // Key and generation.

  RandomPlay(const TableConfig& config, uint64_t seed) : config_(config), naive_(config), rng_(seed) {}

  double RandomPriority() {
    const auto priority = static_cast<double>(rng_.UniformInt(5));
    return config_.sampler.absolute_priorities && rng_.UniformInt(2) == 0 ? -priority : priority;
  }

  DrawRequest RandomDraw(int64_t max_items) {
    const auto items = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(max_items) + 1));
    return {items, items > 0 && rng_.UniformInt(4) > 0 ? items : static_cast<int64_t>(rng_.UniformInt(4))};
  }

  // A random item that was sampled once, of about the last `remembered`; there is one.
  std::pair<Address, int64_t> Seen(size_t remembered) {
    auto it = addresses_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.UniformInt(addresses_.size())));
    const std::pair<Address, int64_t> seen = *it;
    if (addresses_.size() > remembered) {
      addresses_.erase(it);
    }
    return seen;
  }

  // Of the table but for max_bytes, memory_limit and seed.
  void ChangeConfig(int64_t fewest_items, int64_t most_items, double narrowest_buffer) {
    const auto draw = [this](int64_t values) {
      return static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(values)));
    };
    config_.max_items = fewest_items + draw(most_items - fewest_items + 1);
    config_.max_times_sampled = draw(4);
    config_.sampler.priority_exponent = 0.5 * static_cast<double>(draw(4));
    RateLimiterConfig& limiter = config_.rate_limiter;
    limiter = RateLimiterConfig();
    limiter.min_items = 1 + draw(config_.max_items);
    limiter.samples_per_insert = static_cast<double>(draw(3));
    if (limiter.samples_per_insert > 0 && draw(2) == 0) {
      // Around where it is, so that soon one side has to wait for the other.
      const double now = naive_.Difference();
      limiter.min_difference = now - static_cast<double>(draw(20));
      limiter.max_difference = *limiter.min_difference + 2 * narrowest_buffer + static_cast<double>(draw(20));
    } else {
      limiter.error_buffer = narrowest_buffer + static_cast<double>(draw(9));
    }
  }

  // The draws of one batch, one after the other, against the naive table as it was before the batch.
  class BatchCheck {
   public:
    explicit BatchCheck(RandomPlay* play) : play_(*play) {
      for (const NaiveTable::Item& item : play_.naive_.items()) {
        before_[item.id] = play_.naive_.Probability(item.id);
      }
    }

    // Whether the item left for it.
    bool Draw(int64_t id, const SampledItem& item) {
      const SamplerConfig& sampler = play_.config_.sampler;
      const bool distinct = sampler.without_replacement;
      const bool ordered = sampler.kind != SelectorKind::kUniform && sampler.kind != SelectorKind::kPrioritized;
      REQUIRE((seen_.insert(id).second || !distinct));
      REQUIRE(play_.naive_.Find(id) != nullptr);
      // Of a batch of different items the probabilities are those before it; of another one, of which items may leave
      // in the middle, those that the draws before have left.
      double probability = distinct ? before_.at(id) : play_.naive_.Probability(id);
      if (distinct && ordered) {
        probability = 1;  // The next in the order.
      } else if (distinct && probability == 0) {
        probability = 1 / static_cast<double>(before_.size());  // It fills a batch up.
      }
      play_.addresses_[{item.key, item.generation}] = id;
      return play_.naive_.Draw(id, item, probability);
    }

   private:
    RandomPlay& play_;
    std::map<int64_t, double> before_;
    std::set<int64_t> seen_;
  };

  TableConfig config_;
  NaiveTable naive_;
  Rng rng_;
  std::map<Address, int64_t> addresses_;  // Of sampled items, with their ids.
};

}  // namespace waggle::testing
