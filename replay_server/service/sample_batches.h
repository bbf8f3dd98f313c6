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
  uint32_t max_batch_items = 65536;             // Bounds the time under the table's lock.
  uint32_t max_credits = kMaxOutstandingDraws;  // Clients that give more at a time are refused.
  // Batches being gathered or sent. One batch is always allowed, even if it has more bytes.
  int64_t max_batches_in_flight = 16;
  int64_t max_bytes_in_flight = int64_t{32} << 20;
  // Larger batches are gathered on the executor, so that they do not block the transport's few threads.
  int64_t max_inline_bytes = int64_t{64} << 10;
  // Called with the number of items of each sampled batch; may be empty.
  std::function<void(uint64_t items)> on_sampled;

  // INVALID_ARGUMENT, naming every wrong field.
  absl::Status Validate() const;
};

// The resources that all sample streams of a server share. They must outlive the streams.
struct SampleResources {
  Executor* executor = nullptr;
  Executor* disk_executor = nullptr;      // For batches with rows on disk.
  std::shared_ptr<MemoryAccount> budget;  // Counts the batches' bytes.
  std::shared_ptr<BatchMemory> memory;    // Provides the batches' memory.
  std::shared_ptr<SampleReaders> readers;
};

// The batches of one sampler's stream. Draws as many as the client has given credits for and reads, gathers them on a
// thread that delays no other client, and sends them in the order of the requests. Thread-safe. Must be owned by a
// shared pointer, because callbacks of batches that wait in a table may come after the stream's end.
class SampleBatches : public std::enable_shared_from_this<SampleBatches> {
 public:
  using Peer = StreamPeer<Message<v1::SampleResponse>>;

  SampleBatches(SampleResources resources, SampleStreamOptions options);

  const SampleStreamOptions& options() const { return options_; }

  // Must be called before other functions.
  void Attach(std::shared_ptr<Peer> peer) { peer_ = std::move(peer); }
  void RequestNext() { peer_->RequestNext(); }

  // Opens the stream, once: a sampler of this name gets batches of `batch_size` items in this layout.
  void Opened(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout, int64_t batch_size, Codec codec,
              const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_);
  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a request's draws and credits. The stream must be open.
  absl::Status Add(const v1::SampleRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);

  // The client asks for no more: the stream ends when all requested batches are sent.
  void PeerDone() ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream with an error. The client gets it after the messages on their way; with Abort, which is for clients
  // that do not read, at once.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  void Abort(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  // The stream has ended: cancels the batches that wait for their table.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One requested batch. Guarded by mutex_, except for the fields that are set before the draw, and for `drawn` and
  // `share`, which the gathering thread owns.
  struct Request {
    DrawRequest draw;
    std::shared_ptr<const BatchLayout> layout;
    uint64_t number = 0;      // In the table, once known.
    bool reads_disk = false;  // True if rows may be on disk.
    bool answered = false;
    SampledBatch facts;               // The gathered batch without its bytes.
    std::vector<BatchPiece> pieces;   // At least one once it is gathered.
    std::optional<DrawnBatch> drawn;  // Until it is gathered.
    MemoryAccount::Share share;       // Until it is gathered or, if it is compressed, sent. Other pieces hold theirs.

    int64_t bytes() const { return static_cast<int64_t>(layout->total_bytes); }
  };

  // Draws as many batches as are wanted and have room. One thread does so at a time, so that draws are in the order of
  // sending. Other calls return at once: the first one checks again before it returns.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes a layout for a draw of fewer items than the stream's batch size.
  static absl::Status FitLayout(const TableConfig& config, Request* request);
  void Draw(const std::shared_ptr<Request>& request, Table* table, const std::shared_ptr<TableClient>& client)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Drawn(const std::shared_ptr<Request>& request, absl::StatusOr<DrawnBatch> drawn) ABSL_LOCKS_EXCLUDED(mutex_);
  // Large batches are gathered on the executor. The caller may be one of the transport's few threads that inserted the
  // awaited item for another client.
  void MayGather(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Batches with rows on disk are gathered on the disk executor, so that other batches do not wait.
  void GatherOrRead(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Gather(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Submit(TaskQueue* lane, const Request& request, std::function<void()> task);
  // Sends gathered batches, in the order of the requests.
  void SendReady() ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void Sent(const Request& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void MaybeClose() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  const SampleResources resources_;
  Executor::Lane lane_;
  Executor::Lane disk_lane_;
  const SampleStreamOptions options_;
  std::shared_ptr<Peer> peer_;                     // Set once, before other calls.
  std::shared_ptr<SampleReaders::Reader> reader_;  // Set once, before the first draw.
  mutable Mutex mutex_;
  std::shared_ptr<Table> table_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const BatchLayout> layout_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<BatchCutter> cutter_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<TableClient> client_ ABSL_GUARDED_BY(mutex_);
  TableClient::Connection connection_ ABSL_GUARDED_BY(mutex_);
  int64_t batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t max_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<DrawRequest> wanted_ ABSL_GUARDED_BY(mutex_);                 // Not yet requested from the table.
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;                          // Batches requested and not yet sent.
  std::deque<std::shared_ptr<Request>> requests_ ABSL_GUARDED_BY(mutex_);  // In order, until they are sent.
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;                          // Start runs.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                           // SendReady runs.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
