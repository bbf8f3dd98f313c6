#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/table/batch_layout.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/table/table_client.h"

namespace waggle {

// A batch to draw.
struct WaitingSample {
  uint64_t request = 0;  // Increases with each request.
  std::shared_ptr<const BatchLayout> layout;
  DrawRequest draw;
  std::function<void(absl::StatusOr<DrawnBatch>)> done;
  TableClient* client = nullptr;  // May be null.
  // Set when it must wait. Keeps `client` alive; `since` is by SteadyElapsed().
  std::shared_ptr<TableClient> keeps_client = nullptr;
  absl::Duration since = absl::ZeroDuration();
};

// Batches that wait to be drawn. Equal requests are drawn in order and do not delay others. Not thread-safe.
class WaitingSamples {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The number of different requests.
  size_t kinds() const { return empty() ? 0 : kinds_.size(); }

  void Push(WaitingSample sample);

  // Null if empty.
  WaitingSample* oldest();
  const WaitingSample* oldest() const { return const_cast<WaitingSamples*>(this)->oldest(); }
  // The oldest batch for which `may(draw)` is true; null if there is none.
  template <class May>
  WaitingSample* OldestThat(const May& may) {
    WaitingSample* found = nullptr;
    for (std::deque<WaitingSample>& alike : kinds_) {
      if (!alike.empty() && (found == nullptr || alike.front().request < found->request) && may(alike.front().draw)) {
        found = &alike.front();
      }
    }
    return found;
  }
  // Null if the request does not wait. Takes O(size).
  WaitingSample* Find(uint64_t request);
  // The newest batch of equal requests; null if there is none.
  WaitingSample* Newest(const DrawRequest& draw);
  // `sample` must be from one of the functions above.
  WaitingSample Take(WaitingSample* sample);
  std::vector<WaitingSample> TakeAll();

  // Items of the largest batch of at most `most`; 0 if there is none.
  int64_t LargestUpTo(int64_t most) const;
  // The oldest batches, in order.
  std::vector<const WaitingSample*> First(size_t most) const;
  // The oldest batch of each kind, in order.
  std::vector<const WaitingSample*> FirstOfEach(size_t most) const;

 private:
  // Equal requests share a queue. At most one queue is empty: the last one in use.
  std::list<std::deque<WaitingSample>> kinds_;
  size_t size_ = 0;
};

}  // namespace waggle
