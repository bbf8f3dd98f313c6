#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/random.h"

namespace waggle {

// One drawn item.
struct Draw {
  uint32_t slot = 0;
  // That a single draw from the table as it was gives this item, by its weight alone: the emphasis on the newest is
  // left out. Importance weights are made of it. They undo what priorities do to the expectation; if they undid the
  // emphasis too, it would have no effect.
  double probability = 0;
};

// Picks items, known by their slots: small numbers that are used again. A table has one to pick what is sampled and one
// to pick what is removed. Not thread-safe; called under the table's lock, so nothing in it may block.
//
// Priorities are finite and >= 0, and pass ValidatePriority().
class Selector {
 public:
  virtual ~Selector() = default;

  // The slot is not in it.
  virtual void Insert(uint32_t slot, double priority) = 0;
  // The slots are in it. Of several priorities for one slot the last one holds.
  virtual void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) = 0;
  // The slot is in it.
  virtual void Remove(uint32_t slot) = 0;

  // Fills `draws`, with replacement. It must not be empty.
  virtual void SampleBatch(Rng* rng, absl::Span<Draw> draws) = 0;
  // Fills `draws` with different items, drawn one after the other from what is left. There must be as many. The
  // probabilities are those of a single draw from all.
  virtual void SampleDistinct(Rng* rng, absl::Span<Draw> draws) = 0;

  // Items in it.
  virtual int64_t size() const = 0;
  // The sum over all items of what the probability of being drawn is proportional to.
  virtual double Sum() = 0;
  // The smallest probability that an item of the next batch may have; 0 if it is empty.
  virtual double MinProbability() = 0;
};

}  // namespace waggle
