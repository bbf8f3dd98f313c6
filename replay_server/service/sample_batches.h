#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"
#include "common/replay/ports/sampler_options.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/service/batch_cutter.h"
#include "replay_server/service/batch_memory.h"
#include "replay_server/service/sample_readers.h"
#include "replay_server/table/table.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

struct SampleStreamOptions {
  int64_t max_batch_bytes = int64_t{512} << 20;
  uint32_t max_batch_items = 65536;             // Drawing is done under the table's lock.
  uint32_t max_credits = kMaxOutstandingDraws;  // A client that gives more at a time is refused.
  // Batches being gathered or sent. One is always allowed, so that a batch larger than the bytes can pass.
  int64_t max_batches_in_flight = 16;
  int64_t max_bytes_in_flight = int64_t{32} << 20;
  // Larger batches are gathered on the executor, so that this does not hold up the transport's few threads.
  int64_t max_inline_bytes = int64_t{64} << 10;
  // Called with the number of items of each batch that was sampled; may be empty.
  std::function<void(uint64_t items)> on_sampled;

  // INVALID_ARGUMENT naming every field that is wrong.
  absl::Status Validate() const;
};

// What all sample streams of a server share; each outlives them.
struct SampleResources {
  Executor* executor = nullptr;
  Executor* disk_executor = nullptr;      // For batches with rows on disk.
  std::shared_ptr<MemoryAccount> budget;  // Counts the batches' bytes.
  std::shared_ptr<BatchMemory> memory;    // Has their blocks.
  std::shared_ptr<SampleReaders> readers;
};

// The batches of one sampler's stream: draws as many as the client has given credits for and reads, gathers them where
// nobody else waits for that, and sends them in the order in which they were asked for. Thread-safe. The callbacks of
// batches that wait in a table may come after the stream's end: to be owned by a shared pointer.
class SampleBatches : public std::enable_shared_from_this<SampleBatches> {
 public:
  using Peer = StreamPeer<Message<v1::SampleResponse>>;

  SampleBatches(SampleResources resources, SampleStreamOptions options);

  const SampleStreamOptions& options() const { return options_; }

  // Called before anything else.
  void Attach(std::shared_ptr<Peer> peer) { peer_ = std::move(peer); }
  void RequestNext() { peer_->RequestNext(); }

  // What the stream is for, once: `who` samples batches of so many items in this layout.
  void Opened(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout, int64_t batch_size, Codec codec,
              const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_);
  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the draws and credits of a request of the open stream in.
  absl::Status Add(const v1::SampleRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);

  // The client asks for no more: the stream ends when it has what it asked for.
  void PeerDone() ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream with an error, which the client learns when it has read what is on its way; or at once, for a
  // client that does not read.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  void Abort(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  // The stream has ended: cancels the batches that wait for their table.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One batch that the table was asked for. Guarded by mutex_, but for what is set at first, and for `drawn` and
  // `share`, which belong to the thread that gathers.
  struct Request {
    DrawRequest draw;
    std::shared_ptr<const BatchLayout> layout;
    uint64_t number = 0;      // In the table, once known.
    bool reads_disk = false;  // May have to, for its rows.
    bool answered = false;
    SampledBatch facts;               // Of the batch, without its bytes,
    std::vector<BatchPiece> pieces;   // and these, once it is gathered: at least one.
    std::optional<DrawnBatch> drawn;  // Until it is gathered.
    MemoryAccount::Share share;  // The same; of compressed pieces until they are sent. Other pieces have their own.

    int64_t bytes() const { return static_cast<int64_t>(layout->total_bytes); }
  };

  // Asks the table for as many batches as are wanted and there is room for. One call does that at a time, so that the
  // table is asked in the order in which batches go out: whoever comes meanwhile leaves it to that one, which looks
  // again before it ends.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream's layout is that of a whole batch.
  static absl::Status FitLayout(const TableConfig& config, Request* request);
  void Draw(const std::shared_ptr<Request>& request, Table* table, const std::shared_ptr<TableClient>& client)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Drawn(const std::shared_ptr<Request>& request, absl::StatusOr<DrawnBatch> drawn) ABSL_LOCKS_EXCLUDED(mutex_);
  // Large batches are gathered on the executor: whoever called may be one of the transport's few threads, and has
  // perhaps only inserted the item that this batch waited for.
  void MayGather(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Batches some of whose rows are on disk wait for them elsewhere, so that no others do.
  void GatherOrRead(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Gather(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Submit(TaskQueue* lane, const Request& request, std::function<void()> task);
  // Batches go in the order in which they were asked for.
  void SendReady() ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Sent(const Request& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void MaybeClose() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  const SampleResources resources_;
  Executor::Lane lane_;
  Executor::Lane disk_lane_;
  const SampleStreamOptions options_;
  std::shared_ptr<Peer> peer_;                     // Set once, before anything else,
  std::shared_ptr<SampleReaders::Reader> reader_;  // and this before anything is drawn.
  mutable Mutex mutex_;
  std::shared_ptr<Table> table_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const BatchLayout> layout_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<BatchCutter> cutter_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<TableClient> client_ ABSL_GUARDED_BY(mutex_);
  TableClient::Connection connection_ ABSL_GUARDED_BY(mutex_);
  int64_t batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t max_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<DrawRequest> wanted_ ABSL_GUARDED_BY(mutex_);                 // That the table was not asked for.
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;                          // Batches asked for, and not yet sent.
  std::deque<std::shared_ptr<Request>> requests_ ABSL_GUARDED_BY(mutex_);  // Those, in their order, until they go.
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;                          // Start is under way.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                           // SendReady is under way.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
