#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/base/random.h"
#include "tests/replay_server/table/naive_table.h"

namespace waggle::testing {

// The common parts of random operations on a naive table and on a table, local or remote.
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

  // A random one of about the last `remembered` sampled items. There must be at least one.
  std::pair<Address, int64_t> Seen(size_t remembered) {
    auto it = addresses_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.UniformInt(addresses_.size())));
    const std::pair<Address, int64_t> seen = *it;
    if (addresses_.size() > remembered) {
      addresses_.erase(it);
    }
    return seen;
  }

  // Changes the configuration, except max_bytes, memory_limit and seed.
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
      // Around the present difference, so that one side must soon wait for the other.
      const double now = naive_.Difference();
      limiter.min_difference = now - static_cast<double>(draw(20));
      limiter.max_difference = *limiter.min_difference + 2 * narrowest_buffer + static_cast<double>(draw(20));
    } else {
      limiter.error_buffer = narrowest_buffer + static_cast<double>(draw(9));
    }
  }

  // Checks the draws of one batch in order, from the state of the naive table before the batch.
  class BatchCheck {
   public:
    explicit BatchCheck(RandomPlay* play) : play_(*play) {
      for (const NaiveTable::Item& item : play_.naive_.items()) {
        before_[item.id] = play_.naive_.Probability(item.id);
      }
    }

    // Returns true if the draw removed the item.
    bool Draw(int64_t id, const SampledItem& item) {
      const SamplerConfig& sampler = play_.config_.sampler;
      const bool distinct = sampler.without_replacement;
      const bool ordered = sampler.kind != SelectorKind::kUniform && sampler.kind != SelectorKind::kPrioritized;
      REQUIRE((seen_.insert(id).second || !distinct));
      REQUIRE(play_.naive_.Find(id) != nullptr);
      // Items of a batch of different items have the probabilities before the batch. In other batches earlier draws may
      // remove items, which changes the probabilities of later ones.
      double probability = distinct ? before_.at(id) : play_.naive_.Probability(id);
      if (distinct && ordered) {
        probability = 1;  // The next in the order.
      } else if (distinct && probability == 0) {
        probability = 1 / static_cast<double>(before_.size());  // It fills up the batch.
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
  std::map<Address, int64_t> addresses_;  // The ids of sampled items.
};

}  // namespace waggle::testing
