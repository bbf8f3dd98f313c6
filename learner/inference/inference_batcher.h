#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "common/experiment/sections.h"
#include "common/inference/act_layout.h"
#include "common/metrics/metrics.h"
#include "common/rl/policy.h"
#include "common/tensor/byte_slices.h"

namespace waggle {

// Computes the actions of many actors in batches, by one policy, in a thread of its own. An actor asks by a stream, for
// its own lanes, one request at a time. A batch is computed when as many rows wait as are wanted, when every stream
// waits, or when the oldest request has waited long enough, whichever comes first: an actor that has gone holds nobody
// up. Newer weights are taken between batches. Thread-safe.
//
// Reports inference_batches, inference_rows and inference_rows_a_batch.
class InferenceBatcher {
 public:
  struct Parts {
    std::unique_ptr<Policy> policy;  // With `actors` * `lanes` slots.
    EnvironmentSpec environment;
    int64_t actors = 0;  // As many indices there may be.
    int64_t lanes = 0;   // Of each.
    // How many lanes all actors of the run have by now; asked between batches. Null: as many as the policy was made
    // for.
    std::function<int64_t()> all_lanes = nullptr;
    Metrics* metrics = nullptr;  // Outlives the batcher.
  };

  InferenceBatcher(const InferenceOptions& options, Parts parts);
  ~InferenceBatcher();
  InferenceBatcher(const InferenceBatcher&) = delete;
  InferenceBatcher& operator=(const InferenceBatcher&) = delete;

  // Computes no more: waits for the batch under way; requests that still wait are answered with CANCELLED, and none is
  // taken any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  const ActLayout& layout() const { return layout_; }
  int64_t lanes() const { return lanes_; }

  // For the batches that come. Kept, with a line in the log, where the policy does not take it. Until the first,
  // requests wait.
  void SetWeights(const ModelSnapshot& snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Answer {
    ModelVersion version;
    ByteSlices data;  // As an ActResponse has it.
  };
  using Done = std::function<void(absl::StatusOr<Answer> answer)>;

  // Opens the stream of the actor with this index; what is remembered of its lanes begins anew. An earlier stream of
  // the same index is over: `replaced` of it is called, and its requests are dropped. RESOURCE_EXHAUSTED for an index
  // beyond those that there may be. Returns the stream's number.
  absl::StatusOr<uint64_t> Open(int64_t index, std::function<void()> replaced) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(uint64_t stream) ABSL_LOCKS_EXCLUDED(mutex_);

  // Asks for actions in these lanes of the stream's actor; `data` as an ActRequest has it. `done` is called from the
  // batcher's thread, unless the stream is closed first. INVALID_ARGUMENT for lanes that the actor does not have, or
  // twice, or bytes of another size; FAILED_PRECONDITION while the stream's last request waits.
  absl::Status Ask(uint64_t stream, std::vector<int64_t> lanes, ByteSlices data, Done done) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    uint64_t stream = 0;
    std::vector<int64_t> slots;
    ByteSlices data;
    Done done;
    absl::Time arrived;
  };
  struct Stream {
    int64_t first_slot = 0;
    std::function<void()> replaced;
    bool waits = false;            // A request of it is queued or under way.
    std::vector<bool> remembered;  // By lane: acted in since the stream was opened.
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a batch; empty at the end.
  std::vector<Request> NextBatch() ABSL_LOCKS_EXCLUDED(mutex_);
  // How long until a batch is to be computed; zero: now.
  absl::Duration UntilReadyLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeWeights() ABSL_LOCKS_EXCLUDED(mutex_);
  // Computes and answers. Where the policy refuses a batch each of its requests is computed alone, so that the one that
  // is wrong is refused and no other.
  void Answers(std::vector<Request>* batch) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Answer>> Compute(const std::vector<Request>& batch);
  void Gather(const std::vector<Request>& batch, int64_t rows);
  // INVALID_ARGUMENT where a row of observations holds a choice that there is not.
  absl::Status CheckChoices(int64_t rows) const;
  // Drops what a stream that is over has asked for.
  void DropRequestsLocked(uint64_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many lanes there are: of the run, and of the streams here.
  int64_t AllLanes() ABSL_LOCKS_EXCLUDED(mutex_);
  void Reply(Request* request, absl::StatusOr<Answer> answer) ABSL_LOCKS_EXCLUDED(mutex_);

  const InferenceOptions options_;
  const std::unique_ptr<Policy> policy_;  // Used by thread_ only, as what follows.
  const EnvironmentSpec environment_;
  const ActLayout layout_;
  const int64_t actors_;
  const int64_t lanes_;
  const std::function<int64_t()> all_lanes_;
  Metrics* const metrics_;
  ModelVersion version_;
  std::vector<int64_t> slots_;
  std::vector<uint8_t> first_;
  std::vector<std::vector<char>> observations_, actions_, columns_;  // By leaf, [rows, …].
  std::vector<float> private_values_;

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_weights_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<ModelSnapshot> newer_ ABSL_GUARDED_BY(mutex_);
  std::deque<Request> queue_ ABSL_GUARDED_BY(mutex_);  // At most one of each stream.
  int64_t queued_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_stream_ ABSL_GUARDED_BY(mutex_) = 1;

  Thread thread_;  // Last: it uses all of the above.
};

}  // namespace waggle
