#include "replay_server/table/waiting_samples.h"

#include <algorithm>
#include <utility>

namespace waggle {
namespace {

bool Alike(const DrawRequest& a, const DrawRequest& b) {
  return a.items == b.items && a.counted == b.counted;
}

void Sort(std::vector<const WaitingSample*>* samples, size_t most) {
  std::sort(samples->begin(), samples->end(),
            [](const WaitingSample* a, const WaitingSample* b) { return a->request < b->request; });
  samples->resize(std::min(samples->size(), most));
}

}  // namespace

void WaitingSamples::Push(WaitingSample sample) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&sample](const std::deque<WaitingSample>& alike) {
    return alike.empty() || Alike(alike.front().draw, sample.draw);
  });
  if (kind == kinds_.end()) {
    kind = kinds_.emplace(kinds_.end());
  }
  kind->push_back(std::move(sample));
  ++size_;
}

WaitingSample* WaitingSamples::oldest() {
  return OldestThat([](const DrawRequest& /*draw*/) { return true; });
}

WaitingSample* WaitingSamples::Find(uint64_t request) {
  for (std::deque<WaitingSample>& alike : kinds_) {
    for (WaitingSample& sample : alike) {
      if (sample.request == request) {
        return &sample;
      }
    }
  }
  return nullptr;
}

WaitingSample* WaitingSamples::Newest(const DrawRequest& draw) {
  for (std::deque<WaitingSample>& alike : kinds_) {
    if (!alike.empty() && Alike(alike.front().draw, draw)) {
      return &alike.back();
    }
  }
  return nullptr;
}

WaitingSample WaitingSamples::Take(WaitingSample* sample) {
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [sample](const std::deque<WaitingSample>& alike) {
    return !alike.empty() && Alike(alike.front().draw, sample->draw);
  });
  WaitingSample taken = std::move(*sample);
  if (sample == &kind->front()) {
    kind->pop_front();
  } else {
    kind->erase(std::find_if(kind->begin(), kind->end(),
                             [sample](const WaitingSample& candidate) { return &candidate == sample; }));
  }
  --size_;
  if (kind->empty() && kinds_.size() > 1) {
    kinds_.erase(kind);
  }
  return taken;
}

std::vector<WaitingSample> WaitingSamples::TakeAll() {
  std::vector<WaitingSample> all;
  all.reserve(size_);
  for (std::deque<WaitingSample>& alike : kinds_) {
    std::move(alike.begin(), alike.end(), std::back_inserter(all));
  }
  kinds_.clear();
  size_ = 0;
  std::sort(all.begin(), all.end(),
            [](const WaitingSample& a, const WaitingSample& b) { return a.request < b.request; });
  return all;
}

int64_t WaitingSamples::LargestUpTo(int64_t most) const {
  int64_t largest = 0;
  for (const std::deque<WaitingSample>& alike : kinds_) {
    if (!alike.empty() && alike.front().draw.items <= most) {
      largest = std::max(largest, alike.front().draw.items);
    }
  }
  return largest;
}

std::vector<const WaitingSample*> WaitingSamples::First(size_t most) const {
  std::vector<const WaitingSample*> first;
  for (const std::deque<WaitingSample>& alike : kinds_) {
    for (size_t i = 0; i < std::min(most, alike.size()); ++i) {
      first.push_back(&alike[i]);
    }
  }
  Sort(&first, most);
  return first;
}

std::vector<const WaitingSample*> WaitingSamples::FirstOfEach(size_t most) const {
  std::vector<const WaitingSample*> first;
  for (const std::deque<WaitingSample>& alike : kinds_) {
    if (!alike.empty()) {
      first.push_back(&alike.front());
    }
  }
  Sort(&first, most);
  return first;
}

}  // namespace waggle
