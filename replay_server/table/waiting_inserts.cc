#include "replay_server/table/waiting_inserts.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace waggle {

void WaitingInserts::Push(WaitingInsert insert) {
  if (const auto known = by_client_.find(insert.client); known != by_client_.end()) {
    known->second->inserts.push_back(std::move(insert));
  } else {
    writers_.emplace_back();
    writers_.back().client = insert.client;
    by_client_[insert.client] = std::prev(writers_.end());
    writers_.back().inserts.push_back(std::move(insert));
  }
  ++size_;
}

void WaitingInserts::GoneIn(int64_t items) {
  Writer& writer = writers_.front();
  turn_left_ -= items;
  if (writer.inserts.front().next == writer.inserts.front().items.size()) {
    writer.inserts.pop_front();
    --size_;
  }
  if (writer.inserts.empty()) {
    by_client_.erase(writer.client);
    writers_.pop_front();
    turn_left_ = kTurnItems;
  } else if (turn_left_ <= 0) {
    writers_.splice(writers_.end(), writers_, writers_.begin());
    turn_left_ = kTurnItems;
  }
}

std::vector<const WaitingInsert*> WaitingInserts::First(size_t most) const {
  std::vector<const WaitingInsert*> first;
  for (size_t round = 0; first.size() < std::min(most, size_); ++round) {
    for (const Writer& writer : writers_) {
      if (round < writer.inserts.size() && first.size() < most) {
        first.push_back(&writer.inserts[round]);
      }
    }
  }
  return first;
}

std::vector<WaitingInsert> WaitingInserts::TakeAll() {
  std::vector<WaitingInsert> all;
  all.reserve(size_);
  for (Writer& writer : writers_) {
    std::move(writer.inserts.begin(), writer.inserts.end(), std::back_inserter(all));
  }
  *this = WaitingInserts();
  return all;
}

}  // namespace waggle
