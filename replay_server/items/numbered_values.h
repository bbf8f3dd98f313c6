#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace waggle {

// Replaces values by numbers, of a few bits if few values are in use. Counts their users. Not thread-safe.
class NumberedValues {
 public:
  // Adds a user and returns the value's number.
  uint32_t Use(uint64_t value) {
    if (last_ < entries_.size() && entries_[last_].users > 0 && entries_[last_].value == value) {
      ++entries_[last_].users;
      return last_;
    }
    const auto known = numbers_.find(value);
    last_ = known != numbers_.end() ? known->second : Add(value);
    ++entries_[last_].users;
    return last_;
  }

  // Removes a user. Numbers without users may be reused.
  void Drop(uint32_t number) {
    Entry& entry = entries_[number];
    if (--entry.users == 0) {
      numbers_.erase(entry.value);
      free_.push_back(number);
    }
  }

  uint64_t value(uint32_t number) const { return entries_[number].value; }
  // Number of values in use.
  size_t size() const { return numbers_.size(); }

 private:
  struct Entry {
    uint64_t value = 0;
    uint64_t users = 0;
  };

  // Numbers a new value.
  uint32_t Add(uint64_t value) {
    uint32_t number = static_cast<uint32_t>(entries_.size());
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    numbers_[value] = number;
    entries_[number].value = value;
    return number;
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;  // Numbers without users.
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
  uint32_t last_ = 0;  // Last used, and usually the next one too.
};

}  // namespace waggle
