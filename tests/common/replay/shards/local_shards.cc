#include "tests/common/replay/shards/local_shards.h"

#include <atomic>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/byte_slices.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"

namespace waggle::testing {
namespace {

constexpr size_t kManyTasks = 1'000'000;

using Server = LocalShards::Server;

// Returns the value. Usable from any thread, unlike REQUIRE.
template <class T>
T Known(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), "a shard of a test gives what it is asked for");
  return *std::move(value);
}

// The stream of a sampler. The one thread makes all calls but Ask.
class SampleClient final : public LocalShards::Client, public std::enable_shared_from_this<SampleClient> {
 public:
  SampleClient(std::shared_ptr<Server> server, const ReplaySamplerOptions& options, size_t shard,
               std::shared_ptr<ShardSampleReceiver> receiver)
      : server_(std::move(server)), options_(options), shard_(shard), receiver_(std::move(receiver)) {}

  void Connect(ReplayStore* store) override {
    if (gone_) {
      return;
    }
    absl::StatusOr<std::shared_ptr<Table>> table = store->FindTable(options_.table.name);
    if (!table.ok()) {
      receiver_->Failed(shard_, table.status());
      return;
    }
    table_ = *std::move(table);
    open_stream_ = ++stream_;
    receiver_->Opened(shard_);
  }

  void Disconnect() override {
    ++stream_;
    open_stream_ = 0;
    if (std::exchange(table_, nullptr) != nullptr && !gone_) {
      receiver_->Closed(shard_);
    }
  }

  void Ask(absl::Span<const ShardAsk> asks) {
    for (const ShardAsk& ask : asks) {
      server_->Pass([self = shared_from_this(), stream = open_stream_.load(), ask] {
        if (self->stream_ == stream) {
          self->Draw(ask.items, ask.counted);
        }
      });
    }
  }

  // The sampler is being destroyed.
  void End() { gone_ = true; }

 private:
  void Draw(uint32_t items, uint32_t counted) {
    if (table_ == nullptr || gone_) {
      return;
    }
    auto layout = std::make_shared<const BatchLayout>();
    if (items > 0) {
      layout = std::make_shared<const BatchLayout>(Known(MakeBatchLayout(options_.table, items, size_t{1} << 30)));
    }
    table_->Draw(
        layout, {items, counted},
        [self = shared_from_this(), stream = stream_, layout](absl::StatusOr<DrawnBatch> drawn) {
          if (!drawn.ok()) {
            return;
          }
          self->server_->Pass([self, stream, batch = Known(drawn->Gather(AllocateBytes(layout->total_bytes + 1)))] {
            if (self->stream_ == stream && !self->gone_) {
              const absl::Status status = self->receiver_->Answered(self->shard_, batch);
              if (!status.ok()) {
                self->receiver_->Failed(self->shard_, status);
              }
            }
          });
        });
  }

  const std::shared_ptr<Server> server_;
  const ReplaySamplerOptions options_;
  const size_t shard_;
  const std::shared_ptr<ShardSampleReceiver> receiver_;
  std::shared_ptr<Table> table_;  // While connected.
  int stream_ = 0;
  std::atomic<int> open_stream_{0};  // The number of the open stream, for Ask.
  bool gone_ = false;
};

class LocalShardSampler final : public ShardSampler {
 public:
  LocalShardSampler(std::shared_ptr<SampleClient> client, std::shared_ptr<Server> server, Executor* executor)
      : client_(std::move(client)), server_(std::move(server)), executor_(executor) {}
  ~LocalShardSampler() override {
    // Runs on the thread of the events, so that no event follows.
    Mutex mutex;
    CondVar changed;
    bool done = false;
    REQUIRE_OK(executor_->Submit([&] {
      client_->End();
      MutexLock lock(&mutex);
      done = true;
      changed.SignalAll();
    }));
    MutexLock lock(&mutex);
    while (!done) {
      changed.Wait(&mutex);
    }
  }

  void Ask(absl::Span<const ShardAsk> asks) override { client_->Ask(asks); }

 private:
  const std::shared_ptr<SampleClient> client_;
  const std::shared_ptr<Server> server_;
  Executor* const executor_;
};

class WriteClient final : public LocalShards::Client, public std::enable_shared_from_this<WriteClient> {
 public:
  WriteClient(std::shared_ptr<Server> server, const ReplayWriterOptions& options, std::function<void()> changed)
      : server_(std::move(server)), options_(options), changed_(std::move(changed)) {
    std::random_device random;
    incarnation_ = (static_cast<uint64_t>(random()) << 32) | random();
  }

  absl::Status TryOpen(ReplayStore* store) {
    WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<WriterSession> session,
                            store->OpenWriter(options_.writer_id, options_.tables, options_.signature));
    WAGGLE_RETURN_IF_ERROR(session->Claim(incarnation_));
    MutexLock lock(&mutex_);
    session_ = std::move(session);
    sent_ = 0;
    first_ = session_->applied_sequence() + 1;
    state_.connected = true;
    return absl::OkStatus();
  }

  void Connect(ReplayStore* store) override {
    const absl::Status opened = TryOpen(store);
    if (!opened.ok()) {
      MutexLock lock(&mutex_);
      state_.failure = opened;
    }
    changed_();
    Send();
  }

  void Disconnect() override {
    {
      MutexLock lock(&mutex_);
      session_ = nullptr;
      state_.connected = false;
    }
    changed_();
  }

  absl::Status Offer(InsertBlock block) {
    WAGGLE_RETURN_IF_ERROR(
        CompressBlock(options_.signature, ColumnCodecs(options_.signature, options_.compression), &block));
    {
      MutexLock lock(&mutex_);
      if (!state_.failure.ok()) {
        return state_.failure;
      }
      ++state_.blocks;
      state_.bytes += static_cast<int64_t>(block.data.size());
      pending_.push_back(std::move(block));
    }
    server_->Pass([self = shared_from_this()] { self->Send(); });
    return absl::OkStatus();
  }

  ShardWriter::State state() const {
    MutexLock lock(&mutex_);
    return state_;
  }

 private:
  void Send() {
    for (;;) {
      std::shared_ptr<WriterSession> session;
      uint64_t sequence = 0;
      InsertBlock block;
      {
        MutexLock lock(&mutex_);
        if (session_ == nullptr || sent_ >= pending_.size()) {
          return;
        }
        session = session_;
        sequence = first_ + sent_;
        block = pending_[sent_++];
      }
      session->Insert(sequence, std::move(block),
                      [self = shared_from_this(), session](const absl::StatusOr<WriterSession::Result>& result) {
                        self->server_->Pass([self, session, result] { self->Done(session, result); });
                      });
    }
  }

  void Done(const std::shared_ptr<WriterSession>& session, const absl::StatusOr<WriterSession::Result>& result) {
    {
      MutexLock lock(&mutex_);
      if (session != session_) {
        return;
      }
      if (!result.ok()) {
        state_.failure.Update(result.status());
      } else {
        --state_.blocks;
        state_.bytes -= static_cast<int64_t>(pending_.front().data.size());
        ++state_.acknowledged;
        state_.items_inserted += result->items_inserted;
        state_.items_without_rows += result->items_without_rows;
        pending_.pop_front();
        --sent_;
        ++first_;
      }
    }
    changed_();
  }

  const std::shared_ptr<Server> server_;
  const ReplayWriterOptions options_;
  const std::function<void()> changed_;
  uint64_t incarnation_ = 0;
  mutable Mutex mutex_;
  std::shared_ptr<WriterSession> session_ ABSL_GUARDED_BY(mutex_);
  std::deque<InsertBlock> pending_ ABSL_GUARDED_BY(mutex_);
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // The sequence of the first pending block.
  ShardWriter::State state_ ABSL_GUARDED_BY(mutex_);
};

class LocalShardWriter final : public ShardWriter {
 public:
  explicit LocalShardWriter(std::shared_ptr<WriteClient> client) : client_(std::move(client)) {}
  absl::Status Offer(InsertBlock block) override { return client_->Offer(std::move(block)); }
  State state() const override { return client_->state(); }

 private:
  const std::shared_ptr<WriteClient> client_;
};

class LocalShardUpdater final : public PriorityUpdater {
 public:
  LocalShardUpdater(std::shared_ptr<Server> server, std::string table)
      : server_(std::move(server)), table_(std::move(table)) {}

  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override {
    const std::shared_ptr<ReplayStore> store = server_->store();
    if (store == nullptr) {
      counts_.unknown += keys.size();
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store->FindTable(table_));
    WAGGLE_ASSIGN_OR_RETURN(const PriorityUpdateCounts counts, table->UpdatePriorities(keys, generations, priorities));
    counts_.applied += counts.applied;
    counts_.stale += counts.stale;
    counts_.unknown += counts.unknown;
    return absl::OkStatus();
  }
  absl::Status Flush(absl::Duration /*timeout*/) override { return absl::OkStatus(); }
  PriorityUpdateCounts counts() const override { return counts_; }

 private:
  const std::shared_ptr<Server> server_;
  const std::string table_;
  PriorityUpdateCounts counts_;
};

class LocalShard final : public Shard {
 public:
  LocalShard(std::shared_ptr<Server> server, Executor* executor) : server_(std::move(server)), executor_(executor) {}

  std::string name() const override { return server_->name(); }

  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    for (;;) {
      if (const std::shared_ptr<ReplayStore> store = server_->store(); store != nullptr) {
        WAGGLE_RETURN_IF_ERROR(store->CreateTable(config).status());
        server_->Want(config);
        return absl::OkStatus();
      }
      if (stop.WaitFor(absl::Milliseconds(1))) {
        return absl::CancelledError("stopped");
      }
    }
  }
  void WantTable(const TableConfig& config) override { server_->Want(config); }

  absl::StatusOr<std::unique_ptr<ShardWriter>> NewWriter(const ReplayWriterOptions& options,
                                                         std::function<void()> changed) override {
    const auto client = std::make_shared<WriteClient>(server_, options, std::move(changed));
    if (const std::shared_ptr<ReplayStore> store = server_->store(); store != nullptr) {
      WAGGLE_RETURN_IF_ERROR(client->TryOpen(store.get()));
    }
    server_->Add(client);
    return std::unique_ptr<ShardWriter>(std::make_unique<LocalShardWriter>(client));
  }

  absl::StatusOr<std::unique_ptr<ShardSampler>> NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                           std::shared_ptr<ShardSampleReceiver> receiver) override {
    const auto client = std::make_shared<SampleClient>(server_, options, shard, std::move(receiver));
    server_->Add(client);
    return std::unique_ptr<ShardSampler>(std::make_unique<LocalShardSampler>(client, server_, executor_));
  }

  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override {
    return std::unique_ptr<PriorityUpdater>(std::make_unique<LocalShardUpdater>(server_, table));
  }

 private:
  const std::shared_ptr<Server> server_;
  Executor* const executor_;
};

}  // namespace

void LocalShards::Server::Submit(std::function<void()> task) {
  if (!executor_->Submit(std::move(task)).ok()) {
    std::abort();  // Far more than any test has.
  }
}

void LocalShards::Server::Pass(std::function<void()> task) {
  Submit([this, task = std::move(task)]() mutable {
    {
      MutexLock lock(&mutex_);
      if (paused_) {
        held_.push_back(std::move(task));
        return;
      }
    }
    task();
  });
}

std::shared_ptr<ReplayStore> LocalShards::Server::store() const {
  MutexLock lock(&mutex_);
  return store_;
}

void LocalShards::Server::Want(const TableConfig& config) {
  MutexLock lock(&mutex_);
  wanted_[config.name] = config;
}

std::vector<std::shared_ptr<LocalShards::Client>> LocalShards::Server::ClientsLocked() {
  std::vector<std::shared_ptr<Client>> clients;
  for (const std::weak_ptr<Client>& client : clients_) {
    if (std::shared_ptr<Client> alive = client.lock(); alive != nullptr) {
      clients.push_back(std::move(alive));
    }
  }
  return clients;
}

void LocalShards::Server::Add(const std::shared_ptr<Client>& client) {
  {
    MutexLock lock(&mutex_);
    clients_.push_back(client);
  }
  Pass([this, client] {
    if (const std::shared_ptr<ReplayStore> store = this->store(); store != nullptr) {
      client->Connect(store.get());
    }
  });
}

void LocalShards::Server::SubmitAndWait(const std::function<void()>& task) {
  Mutex mutex;
  CondVar changed;
  bool done = false;
  Submit([&] {
    task();
    MutexLock lock(&mutex);
    done = true;
    changed.SignalAll();
  });
  MutexLock lock(&mutex);
  while (!done) {
    changed.Wait(&mutex);
  }
}

void LocalShards::Server::Kill() {
  SubmitAndWait([this] {
    std::shared_ptr<ReplayStore> store;
    std::vector<std::shared_ptr<Client>> clients;
    std::deque<std::function<void()>> held;
    {
      MutexLock lock(&mutex_);
      store = std::exchange(store_, nullptr);
      clients = ClientsLocked();
      held.swap(held_);
      paused_ = false;
    }
    for (const std::shared_ptr<Client>& client : clients) {
      client->Disconnect();
    }
    if (store != nullptr) {
      store->Close();
    }
  });
}

void LocalShards::Server::Start() {
  SubmitAndWait([this] {
    std::vector<std::shared_ptr<Client>> clients;
    {
      MutexLock lock(&mutex_);
      store_ = std::make_shared<ReplayStore>(ReplayStoreOptions());
      for (const auto& [name, config] : wanted_) {
        if (!store_->CreateTable(config).ok()) {
          std::abort();
        }
      }
      clients = ClientsLocked();
    }
    for (const std::shared_ptr<Client>& client : clients) {
      client->Connect(store().get());
    }
  });
}

void LocalShards::Server::SetPaused(bool paused) {
  Submit([this, paused] {
    std::deque<std::function<void()>> held;
    {
      MutexLock lock(&mutex_);
      paused_ = paused;
      if (!paused) {
        held.swap(held_);
      }
    }
    for (const std::function<void()>& task : held) {
      task();
    }
  });
}

LocalShards::LocalShards(size_t count) : executor_(std::make_unique<Executor>("local-shards", 1, kManyTasks)) {
  for (size_t i = 0; i < count; ++i) {
    servers_.push_back(std::make_shared<Server>(absl::StrCat("local:", i + 1), executor_.get()));
  }
}

LocalShards::~LocalShards() {
  for (const std::shared_ptr<Server>& server : servers_) {
    server->Kill();
  }
  executor_.reset();
}

std::vector<std::shared_ptr<Shard>> LocalShards::shards() const {
  std::vector<std::shared_ptr<Shard>> shards;
  for (const std::shared_ptr<Server>& server : servers_) {
    shards.push_back(std::make_shared<LocalShard>(server, executor_.get()));
  }
  return shards;
}

void LocalShards::Kill(size_t shard) {
  servers_[shard]->Kill();
}
void LocalShards::Start(size_t shard) {
  servers_[shard]->Start();
}
void LocalShards::Pause(size_t shard) {
  servers_[shard]->SetPaused(true);
}
void LocalShards::Resume(size_t shard) {
  servers_[shard]->SetPaused(false);
}

std::shared_ptr<Table> LocalShards::table(size_t shard, const std::string& name) const {
  const std::shared_ptr<ReplayStore> store = servers_[shard]->store();
  return store == nullptr ? nullptr : ValueOf(store->FindTable(name));
}

}  // namespace waggle::testing
