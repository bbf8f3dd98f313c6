#include "replay_server/selectors/slot_order.h"

#include <algorithm>

namespace waggle {

void SlotOrder::Add(uint32_t slot) {
  if (!IsList()) {
    if (!runs_.empty() && slot == runs_.back().last + 1) {
      ++runs_.back().last;
      ++size_;
      return;
    }
    if (runs_.size() < kMaxRuns) {
      runs_.push_back({slot, slot});
      ++size_;
      return;
    }
    MakeList();
  }
  AddToList(slot);
}

void SlotOrder::Remove(uint32_t slot) {
  if (!IsList()) {
    RemoveFromRuns(slot);
  } else {
    RemoveFromList(slot);
  }
  if (size_ == 0) {
    runs_.clear();
    links_.clear();
    links_.shrink_to_fit();
  }
}

void SlotOrder::RemoveFromRuns(uint32_t slot) {
  const auto run =
      std::find_if(runs_.begin(), runs_.end(), [slot](const Run& r) { return r.first <= slot && slot <= r.last; });
  --size_;
  if (run->first == run->last) {
    runs_.erase(run);
  } else if (slot == run->first) {
    ++run->first;
  } else if (slot == run->last) {
    --run->last;
  } else {
    const Run rest = {slot + 1, run->last};
    run->last = slot - 1;
    runs_.insert(run + 1, rest);
    if (runs_.size() > kMaxRuns) {
      MakeList();
    }
  }
}

void SlotOrder::MakeList() {
  std::vector<Run> runs;
  runs.swap(runs_);
  size_ = 0;
  for (const Run& run : runs) {
    for (uint32_t slot = run.first; slot <= run.last; ++slot) {
      AddToList(slot);
    }
  }
}

void SlotOrder::AddToList(uint32_t slot) {
  if (slot >= links_.size()) {
    links_.resize(slot + size_t{1});
  }
  if (size_ == 0) {
    oldest_ = slot;
  } else {
    links_[newest_].newer = slot;
    links_[slot].older = newest_;
  }
  newest_ = slot;
  ++size_;
}

void SlotOrder::RemoveFromList(uint32_t slot) {
  const Links links = links_[slot];
  if (slot == oldest_) {
    oldest_ = links.newer;
  } else {
    links_[links.older].newer = links.newer;
  }
  if (slot == newest_) {
    newest_ = links.older;
  } else {
    links_[links.newer].older = links.older;
  }
  --size_;
}

void SlotOrder::Oldest(size_t count, std::vector<uint32_t>* slots) const {
  slots->clear();
  if (IsList()) {
    for (uint32_t slot = oldest_; slots->size() < count; slot = links_[slot].newer) {
      slots->push_back(slot);
    }
    return;
  }
  for (const Run& run : runs_) {
    for (uint32_t slot = run.first; slot <= run.last && slots->size() < count; ++slot) {
      slots->push_back(slot);
    }
  }
}

void SlotOrder::Newest(size_t count, std::vector<uint32_t>* slots) const {
  slots->clear();
  if (IsList()) {
    for (uint32_t slot = newest_; slots->size() < count; slot = links_[slot].older) {
      slots->push_back(slot);
    }
    return;
  }
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    for (uint32_t left = run->last - run->first + 1; left > 0 && slots->size() < count; --left) {
      slots->push_back(run->first + left - 1);
    }
  }
}

}  // namespace waggle
