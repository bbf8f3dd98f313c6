#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "tests/integration/replay_crew.h"
#include "tests/support/catch.h"
#include "tests/support/delivery_history.h"
#include "waggle/v1/replay.grpc.pb.h"

// A client that knows which items outlive a crash, and the contents of a server's folder after one.

namespace waggle::testing {

// Writes, and waits for each block to know which server acknowledged it. Makes checkpoints meanwhile.
class CheckpointedProducer {
 public:
  // `epoch` counts the servers: it changes between two of them.
  CheckpointedProducer(ReplayConnection* connection, const std::string& address, std::vector<std::string> tables,
                       const std::atomic<int>* epoch)
      : tables_(static_cast<uint32_t>(tables.size())),
        epoch_(epoch),
        stub_(v1::ReplayService::NewStub(NewChannel(address, "checkpoints"))) {
    ReplayWriterOptions options;
    options.writer_id = "saved";
    options.tables = std::move(tables);
    options.signature = Queue().signature;
    writer_ = ValueOf(connection->NewWriter(options));
    thread_ = std::thread([this] { Run(); });
  }
  ~CheckpointedProducer() {
    give_up_.RequestStop();
    Finish().IgnoreError();
  }

  absl::Status Finish() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    return status_;
  }
  int checkpoints() const { return checkpoints_; }
  // After it has finished.
  int64_t appended() const { return appended_; }
  const std::set<int64_t>& durable() const { return durable_; }

 private:
  void Run() {
    int known = -1;
    std::set<int64_t> acknowledged;  // By the server of epoch `known`.
    for (int i = 0; !stop_ && status_.ok(); ++i) {
      const int epoch = *epoch_;
      if (epoch != known) {
        known = epoch;
        acknowledged.clear();
      }
      // Windows of one row: a crash may lose the rows before.
      status_ = writer_->Append(Block(static_cast<uint64_t>(appended_), tables_, 1), give_up_);
      appended_ += kBlockRows;
      if (status_.ok()) {
        status_ = FlushUnless(give_up_, writer_.get());
      }
      if (*epoch_ != epoch) {
        continue;
      }
      for (int64_t id = appended_ - kBlockRows; id < appended_; ++id) {
        acknowledged.insert(id);
      }
      if (i % 8 == 0) {
        const auto response = CallUnary(stub_.get(), &v1::ReplayService::Stub::Checkpoint, v1::CheckpointRequest(),
                                        absl::Seconds(20), give_up_);
        if (response.ok() && *epoch_ == epoch) {
          durable_.insert(acknowledged.begin(), acknowledged.end());
          ++checkpoints_;
        }
      }
    }
  }

  const uint32_t tables_;
  const std::atomic<int>* const epoch_;
  const StopToken give_up_;
  const std::unique_ptr<v1::ReplayService::Stub> stub_;
  std::unique_ptr<ReplayWriter> writer_;
  std::atomic<bool> stop_{false};
  std::atomic<int> checkpoints_{0};
  int64_t appended_ = 0;
  std::set<int64_t> durable_;
  absl::Status status_;
  std::thread thread_;
};

// The contents of a server's folder. Rows past a memory_limit are read from there.
class Saved {
 public:
  explicit Saved(const std::string& path, bool tiered = false) {
    DataFolderOptions options;
    options.path = path;
    opened_ = ValueOf(DataFolder::Open(options));
    tiers_ = std::make_unique<ChunkTiers>(std::make_shared<DiskRows>(
        std::shared_ptr<Database>(std::move(opened_.database)), opened_.folder->cold_path()));
    for (const SavedTable& table : opened_.state.tables) {
      REQUIRE((table.tier != nullptr) == tiered);
      if (table.tier != nullptr) {
        tiers_->Attach(table.tier);
      }
    }
  }

  const SavedTable& Find(const std::string& name) const {
    const auto found = std::find_if(opened_.state.tables.begin(), opened_.state.tables.end(),
                                    [&name](const SavedTable& table) { return table.created.name == name; });
    REQUIRE(found != opened_.state.tables.end());
    return *found;
  }

 private:
  DataFolder::Opened opened_;
  std::unique_ptr<ChunkTiers> tiers_;
};

// Checks the rows of an item. Returns the last one's number.
inline int64_t IdOf(const RowLayout& layout, const ItemRecord& item) {
  PinnedRows pinned;
  REQUIRE_OK(pinned.Pin(Window{item.chunks, item.offset, item.rows, item.context}));
  int64_t last = -1;
  size_t row = item.offset;
  size_t chunk = 0;
  for (uint32_t i = 0; i < item.rows; ++i, ++row) {
    while (row >= item.chunks[chunk]->rows()) {
      row -= item.chunks[chunk]->rows();
      ++chunk;
    }
    int64_t id = 0;
    std::memcpy(&id, item.chunks[chunk]->Row(layout, 0, row), sizeof(id));
    REQUIRE((last == -1 || id == last + 1));
    REQUIRE(absl::string_view(item.chunks[chunk]->Row(layout, 1, row), 64) ==
            std::string(64, static_cast<char>(id & 0xff)));
    last = id;
  }
  return last;
}

inline std::vector<int64_t> IdsOf(const SavedTable& table) {
  const RowLayout layout(table.created.signature);
  std::vector<int64_t> ids;
  for (const ItemRecord& item : table.items) {
    ids.push_back(IdOf(layout, item));
  }
  return ids;
}

// Adds the folder's contents of a table.
inline void AddTable(const SavedTable& table, DeliveryHistory* history) {
  history->left = IdsOf(table);
  history->inserted = table.counters.inserted;
  history->sampled = table.counters.sampled;
}

}  // namespace waggle::testing
