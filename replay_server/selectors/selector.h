#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/random.h"

namespace waggle {

struct Draw {
  uint32_t slot = 0;
  // The probability that one draw gives this item, by its weight alone, for importance weights. The emphasis on newest
  // items is left out: importance weights that undid it would leave it without effect.
  double probability = 0;
};

// Picks items, named by their slots: small numbers that are reused. A table has a selector for samples and one for
// removals. Not thread-safe. Must not block: the table's lock is held. Priorities must pass ValidatePriority.
class Selector {
 public:
  virtual ~Selector() = default;

  // The slot must not be in it.
  virtual void Insert(uint32_t slot, double priority) = 0;
  // The slots must be in it. The last of several priorities for one slot counts.
  virtual void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) = 0;
  // The slot must be in it.
  virtual void Remove(uint32_t slot) = 0;

  // Draws with replacement. The selector must not be empty.
  virtual void SampleBatch(Rng* rng, absl::Span<Draw> draws) = 0;
  // Draws different items, one after another; there must be as many. Probabilities are those of a draw from all items.
  virtual void SampleDistinct(Rng* rng, absl::Span<Draw> draws) = 0;

  virtual int64_t size() const = 0;
  // The sum of what an item's probability is proportional to: its weight, or 1.
  virtual double Sum() = 0;
  // The smallest probability that an item of the next batch can have; 0 if the selector is empty.
  virtual double MinProbability() = 0;
};

}  // namespace waggle
