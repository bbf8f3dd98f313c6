#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace waggle {

// Slots in order of insertion. If items leave in that order and free slots are reused, these are a few runs of numbers
// and take hardly any memory. Otherwise it becomes a list of 8 bytes a slot. Constant time. Not thread-safe.
class SlotOrder {
 public:
  int64_t size() const { return size_; }
  // These need at least one slot.
  uint32_t oldest() const { return IsList() ? oldest_ : runs_.front().first; }
  uint32_t newest() const { return IsList() ? newest_ : runs_.back().last; }

  // The slot must not be in it.
  void Add(uint32_t slot);
  // The slot must be in it.
  void Remove(uint32_t slot);

  // The first `count` slots from the oldest or newest on. There must be as many.
  void Oldest(size_t count, std::vector<uint32_t>* slots) const;
  void Newest(size_t count, std::vector<uint32_t>* slots) const;

 private:
  static constexpr size_t kMaxRuns = 32;

  // First and last slot, in order of insertion.
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
  std::vector<Run> runs_;     // Used until it becomes a list.
  std::vector<Links> links_;  // By slot; empty until it becomes a list.
  uint32_t oldest_ = 0;       // Meaningless if size_ is 0.
  uint32_t newest_ = 0;
};

}  // namespace waggle
