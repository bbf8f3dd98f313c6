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

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/replay/replay_client.h"
#include "tests/support/catch.h"

// Clients that write numbered items to a replay server and sample them, through all faults, and remember what they have
// seen.

namespace waggle::testing {

inline constexpr int64_t kBatch = 4;
inline constexpr int64_t kPrefetch = 2;
inline constexpr uint32_t kBlockRows = 5;
inline constexpr int64_t kQueueItems = 40;

inline TableConfig Config(const std::string& name, Durability durability) {
  TableConfig config;
  config.name = name;
  config.signature = {{"id", DType::kInt64, {}}, {"pixels", DType::kUint8, {64}}};
  config.view = {{"id", "id", ViewField::Rows::kLast}, {"pixels", "pixels", ViewField::Rows::kLast}};
  config.max_window = 3;
  config.max_items = 10'000'000;
  config.max_bytes = int64_t{1} << 34;
  config.durability = durability;
  return config;
}

inline TableConfig Queue(const std::string& name = "queue", Durability durability = Durability::kLog) {
  TableConfig config = Config(name, durability);
  MakeQueue(kQueueItems, &config);
  return config;
}

// Rows [first, first + kBlockRows) of stream 0. For each table an item ends at each row. It has up to `longest` rows,
// and reaches back into earlier blocks.
inline InsertBlock Block(uint64_t first, uint32_t tables, int64_t longest) {
  InsertBlock block;
  block.chunks.push_back({0, first, kBlockRows});
  const auto bytes = std::make_shared<std::vector<char>>(kBlockRows * 72);
  for (uint32_t i = 0; i < kBlockRows; ++i) {
    const auto id = static_cast<int64_t>(first + i);
    std::memcpy(bytes->data() + i * 8, &id, 8);
    std::memset(bytes->data() + kBlockRows * 8 + i * 64, static_cast<int>(id & 0xff), 64);
    const uint32_t rows = static_cast<uint32_t>(std::min<int64_t>(longest, id + 1));
    for (uint32_t table = 0; table < tables; ++table) {
      block.items.push_back({table, 0, first + i + 1 - rows, rows, 1.0});
    }
  }
  block.data = ByteSlices({bytes->data(), bytes->size(), bytes});
  return block;
}

// Waits until all blocks are acknowledged, also by a server that crashes again and again.
inline absl::Status FlushUnless(const StopToken& give_up, ReplayWriter* writer) {
  const absl::Time deadline = absl::Now() + absl::Minutes(5);
  for (;;) {
    const absl::Status status = writer->Flush(absl::Seconds(1));
    if (!absl::IsDeadlineExceeded(status) || give_up.StopRequested() || absl::Now() > deadline) {
      return status;
    }
  }
}

// Writes until Finish, then waits until all blocks are acknowledged.
class Producer {
 public:
  Producer(ReplayConnection* connection, const std::string& id, std::vector<std::string> tables)
      : tables_(static_cast<uint32_t>(tables.size())) {
    ReplayWriterOptions options;
    options.writer_id = id;
    options.tables = std::move(tables);
    options.signature = Queue().signature;
    options.max_unacknowledged_blocks = 8;
    writer_ = ValueOf(connection->NewWriter(options));
    thread_ = std::thread([this] { Run(); });
  }
  // If a check has failed there may be no server to wait for.
  ~Producer() {
    give_up_.RequestStop();
    Finish().IgnoreError();
  }

  int64_t appended() const { return appended_; }
  ReplayWriter::Stats stats() const { return writer_->stats(); }
  absl::Status Finish() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    return status_;
  }

 private:
  void Run() {
    while (!stop_ && status_.ok()) {
      status_ = writer_->Append(Block(static_cast<uint64_t>(appended_), tables_, 3), give_up_);
      appended_ += status_.ok() ? kBlockRows : 0;
    }
    if (status_.ok()) {
      status_ = FlushUnless(give_up_, writer_.get());
    }
  }

  const uint32_t tables_;
  const StopToken give_up_;
  std::unique_ptr<ReplayWriter> writer_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> appended_{0};
  absl::Status status_;
  std::thread thread_;
};

// Samples until Finish, and checks every row.
class Consumer {
 public:
  Consumer(ReplayConnection* connection, const TableConfig& table, int64_t batch_size = kBatch,
           int64_t prefetch = kPrefetch)
      : batch_size_(batch_size) {
    ReplaySamplerOptions options;
    options.table = table;
    options.batch_size = batch_size;
    options.prefetch = prefetch;
    sampler_ = ValueOf(connection->NewSampler(options));
    thread_ = std::thread([this] { Run(); });
  }
  ~Consumer() { Finish(); }

  void Finish() {
    stop_.RequestStop();
    if (thread_.joinable()) {
      thread_.join();
    }
    sampler_ = nullptr;  // Cancels its outstanding requests.
  }
  int64_t count() const { return count_; }
  // After it has finished.
  const std::vector<int64_t>& delivered() const { return delivered_; }
  const absl::Status& status() const { return status_; }

 private:
  void Run() {
    while (!stop_.StopRequested()) {
      const absl::StatusOr<SampledBatch> batch = sampler_->Next(stop_);
      if (!batch.ok()) {
        status_ = absl::IsCancelled(batch.status()) ? absl::OkStatus() : batch.status();
        return;
      }
      const auto* const ids = static_cast<const int64_t*>(batch->Data("id"));
      const auto* const pixels = static_cast<const char*>(batch->Data("pixels"));
      for (int64_t i = 0; i < batch_size_; ++i) {
        if (absl::string_view(pixels + i * 64, 64) != std::string(64, static_cast<char>(ids[i] & 0xff))) {
          status_ = absl::DataLossError(absl::StrCat("item ", ids[i], " came with other rows"));
          return;
        }
      }
      delivered_.insert(delivered_.end(), ids, ids + batch_size_);
      count_ += batch_size_;
    }
  }

  const int64_t batch_size_;
  const StopToken stop_;
  std::atomic<int64_t> count_{0};
  std::unique_ptr<ReplaySampler> sampler_;
  std::vector<int64_t> delivered_;
  absl::Status status_;
  std::thread thread_;
};

inline std::set<int64_t> FirstNumbers(int64_t count) {
  std::set<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.insert(numbers.end(), i);
  }
  return numbers;
}

}  // namespace waggle::testing
