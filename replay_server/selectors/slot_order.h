#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace waggle {

// Slots in the order in which they were added. Where items leave in the order in which they came, and slots are used
// again as they become free, that is a few runs of consecutive numbers, which take no memory worth mentioning; in any
// other case it becomes a list through the slots, 8 bytes each. Constant time. Not thread-safe.
class SlotOrder {
 public:
  int64_t size() const { return size_; }
  // There is one.
  uint32_t oldest() const { return IsList() ? oldest_ : runs_.front().first; }
  uint32_t newest() const { return IsList() ? newest_ : runs_.back().last; }

  // The slot is not in it.
  void Add(uint32_t slot);
  // The slot is in it.
  void Remove(uint32_t slot);

  // The first `count` slots from the oldest on, or from the newest on; there are as many.
  void Oldest(size_t count, std::vector<uint32_t>* slots) const;
  void Newest(size_t count, std::vector<uint32_t>* slots) const;

 private:
  static constexpr size_t kMaxRuns = 32;

  // Both included; in the order of their numbers.
  struct Run {
    uint32_t first;
    uint32_t last;
  };
  struct Links {
    uint32_t older;
    uint32_t newer;
  };

  bool IsList() const { return !links_.empty(); }
  void AddToList(uint32_t slot);
  void RemoveFromList(uint32_t slot);
  void RemoveFromRuns(uint32_t slot);
  void MakeList();

  int64_t size_ = 0;
  std::vector<Run> runs_;     // While it is no list.
  std::vector<Links> links_;  // By slot, once it is.
  uint32_t oldest_ = 0;       // Meaningless where size_ is 0.
  uint32_t newest_ = 0;
};

}  // namespace waggle
