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
#include "common/base/metrics/metrics.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/config/experiment/sections.h"
#include "common/hub/inference/act_layout.h"
#include "common/hub/ports/model.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// Computes the actions of many actors in batches, with one policy, in its own thread. An actor asks through a stream,
// for its own lanes, one request at a time. A batch is computed when enough rows wait, when every stream waits, or when
// the oldest request has waited long enough, whichever comes first: a lost actor does not delay the others. Newer
// weights are loaded between batches. Thread-safe.
//
// Reports inference_batches, inference_rows and inference_rows_a_batch.
class InferenceBatcher {
 public:
  struct Parts {
    std::unique_ptr<Policy> policy;  // With `actors` * `lanes` slots.
    EnvironmentSpec environment;
    int64_t actors = 0;  // The number of possible actor indices.
    int64_t lanes = 0;   // Lanes per actor.
    // The number of lanes of all actors of the run, asked between batches. Null: as many as the policy was made for.
    std::function<int64_t()> all_lanes = nullptr;
    Metrics* metrics = nullptr;  // Must outlive the batcher.
    // Called before each batch: the policy may take other numbers then. May be null.
    std::function<void(Policy* policy)> take_settings = nullptr;
  };

  InferenceBatcher(const InferenceOptions& options, Parts parts);
  ~InferenceBatcher();
  InferenceBatcher(const InferenceBatcher&) = delete;
  InferenceBatcher& operator=(const InferenceBatcher&) = delete;

  // Ends the computation: waits for the running batch, answers waiting requests with CANCELLED, and refuses new ones.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  const ActLayout& layout() const { return layout_; }
  int64_t lanes() const { return lanes_; }

  // Sets the weights for the next batches. If the policy refuses them, the old ones are kept and the log says so. Until
  // the first weights, requests wait.
  void SetWeights(const ModelSnapshot& snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Answer {
    ModelVersion version;
    ByteSlices data;  // In the layout of an ActResponse.
  };
  using Done = std::function<void(absl::StatusOr<Answer> answer)>;

  // Opens a stream for the actor with this index, and returns its number. The recurrent state of its lanes begins anew.
  // An earlier stream of this index ends: its `replaced` is called, and its requests are dropped. RESOURCE_EXHAUSTED
  // for an index that is not below Parts::actors.
  absl::StatusOr<uint64_t> Open(int64_t index, std::function<void()> replaced) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(uint64_t stream) ABSL_LOCKS_EXCLUDED(mutex_);

  // Asks for actions in these lanes of the stream's actor; `data` has the layout of an ActRequest. `done` is called by
  // the batcher's thread, or by the caller of Stop; never if the stream ends first. INVALID_ARGUMENT for no lanes,
  // unknown or repeated lanes, or bytes of another size; FAILED_PRECONDITION while the stream's last request waits;
  // ABORTED if the stream has ended; CANCELLED after Stop.
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
    bool waits = false;            // Has a request that is queued or running.
    std::vector<bool> remembered;  // By lane: true if the stream has acted in it.
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a batch; empty at the end.
  std::vector<Request> NextBatch() ABSL_LOCKS_EXCLUDED(mutex_);
  // The time until the next batch is due; zero: now.
  absl::Duration UntilReadyLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeWeights() ABSL_LOCKS_EXCLUDED(mutex_);
  // Computes and answers. If the policy refuses a batch, each request is computed alone, so that only the wrong one is
  // refused.
  void Answers(std::vector<Request>* batch) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Answer>> Compute(const std::vector<Request>& batch);
  void Gather(const std::vector<Request>& batch, int64_t rows);
  // INVALID_ARGUMENT if a row of observations holds an unknown choice.
  absl::Status CheckChoices(int64_t rows) const;
  // Drops the requests of a stream that has ended.
  void DropRequestsLocked(uint64_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The larger of the run's number of lanes and the number that the open streams need.
  int64_t AllLanes() ABSL_LOCKS_EXCLUDED(mutex_);
  void Reply(Request* request, absl::StatusOr<Answer> answer) ABSL_LOCKS_EXCLUDED(mutex_);

  const InferenceOptions options_;
  const std::unique_ptr<Policy> policy_;  // This and the next members are used by thread_ only.
  const EnvironmentSpec environment_;
  const ActLayout layout_;
  const int64_t actors_;
  const int64_t lanes_;
  const std::function<int64_t()> all_lanes_;
  const std::function<void(Policy* policy)> take_settings_;
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

  Thread thread_;  // Last: it uses all members above.
};

}  // namespace waggle
