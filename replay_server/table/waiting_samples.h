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
#include "common/table_config/batch_layout.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/table/requester.h"

namespace waggle {

// A batch that is to be drawn.
struct WaitingSample {
  uint64_t request = 0;  // Whoever comes later has a higher number.
  std::shared_ptr<const BatchLayout> layout;
  DrawRequest draw;
  std::function<void(absl::StatusOr<DrawnBatch>)> done;
  Requester* requester = nullptr;  // May be null.
  // Once it has to wait: the above kept alive, and since when (by SteadyElapsed()).
  std::shared_ptr<Requester> keeps_requester = nullptr;
  absl::Duration since = absl::ZeroDuration();
};

// The batches that wait to be drawn from a table. Those that ask for the same wait for the same, and are drawn in the
// order in which they came; the others do not wait for them. Not thread-safe.
class WaitingSamples {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // How many sizes of batches there are.
  size_t kinds() const { return empty() ? 0 : kinds_.size(); }

  void Push(WaitingSample sample);

  // The one that came first of all; null where nobody waits.
  WaitingSample* oldest();
  const WaitingSample* oldest() const { return const_cast<WaitingSamples*>(this)->oldest(); }
  // The one that came first among those for which `may(draw)` holds; null where there is none.
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
  // The one with this number; null where it does not wait. Takes as long as there are others.
  WaitingSample* Find(uint64_t request);
  // The one that came last of those that ask for this; null where nobody does.
  WaitingSample* Newest(const DrawRequest& draw);
  // Takes one out that was found so.
  WaitingSample Take(WaitingSample* sample);
  std::vector<WaitingSample> TakeAll();

  // Items of the largest batch of no more than `most`; 0 where none waits.
  int64_t LargestUpTo(int64_t most) const;
  // The first ones, in their order.
  std::vector<const WaitingSample*> First(size_t most) const;
  // The first one of each that ask for the same, in their order.
  std::vector<const WaitingSample*> FirstOfEach(size_t most) const;

 private:
  // One for each size of batch. At most one is empty: the last one that there was.
  std::list<std::deque<WaitingSample>> kinds_;
  size_t size_ = 0;
};

}  // namespace waggle
