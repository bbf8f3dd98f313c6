#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/threads/executor.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/store/replay_store.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

struct InsertStreamOptions {
  // The next block is read while fewer than these wait to be applied. Enough to read a block while another is applied.
  int64_t max_blocks_in_flight = 8;
  int64_t max_bytes_in_flight = int64_t{16} << 20;
  // Larger blocks are applied on the executor, by default all. Smaller ones are applied in the transport's few threads:
  // other connections wait meanwhile, those of samplers too.
  int64_t max_inline_bytes = 0;
  // Bytes of a stream's blocks that are applied in one turn, before other streams: at least one block.
  int64_t turn_bytes = int64_t{64} << 10;
  // Called with the number of items of each applied block; may be empty.
  std::function<void(uint64_t items)> on_inserted;
};

// One writer's stream: opens its session, applies its blocks in order and acknowledges them together. Stops reading
// while as many blocks as the options allow are not applied, for example because a table has no room, or while the
// blocks of all streams have used up their budget. A stream without such a block may always read one, so that it never
// waits for streams that do not finish. One acknowledgement is sent at a time; the next covers all blocks since.
class InsertStream final : public StreamHandler<Message<v1::InsertRequest>, Message<v1::InsertResponse>> {
 public:
  // Store and executor must outlive the handler. `budget` counts the blocks of all streams until they are applied.
  InsertStream(ReplayStore* store, Executor* executor, InsertStreamOptions options,
               std::shared_ptr<MemoryAccount> budget = std::make_shared<MemoryAccount>());
  ~InsertStream() override;

  void OnOpen(std::shared_ptr<StreamPeer<Message<v1::InsertResponse>>> peer) override;
  void OnMessage(Message<v1::InsertRequest> message) override;
  void OnPeerDone() override;

 private:
  class State;

  absl::Status Open(const v1::InsertOpen& open);

  ReplayStore* const store_;
  // Shared with the callbacks of blocks that wait in tables, which may come after the stream's end.
  const std::shared_ptr<State> state_;
};

}  // namespace waggle
