#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/replay/shards/shard.h"
#include "replay_server/store/replay_store.h"

namespace waggle::testing {

// Shards in this process, with faults. One thread runs everything between a shard and its clients, in order.
class LocalShards {
 public:
  explicit LocalShards(size_t count);
  ~LocalShards();

  std::vector<std::shared_ptr<Shard>> shards() const;

  // Ends the server, with its tables, and its clients' streams. Like Start, returns after that, so that repeated calls
  // stay in step.
  void Kill(size_t shard);
  // Starts another server; clients connect to it.
  void Start(size_t shard);
  // Delays everything to and from the server until Resume, without a sign.
  void Pause(size_t shard);
  void Resume(size_t shard);

  std::shared_ptr<Table> table(size_t shard, const std::string& name) const;

  // A client's stream to a server. The one thread makes its calls.
  class Client {
   public:
    virtual ~Client() = default;
    virtual void Connect(ReplayStore* store) = 0;
    virtual void Disconnect() = 0;
  };

  class Server {
   public:
    Server(std::string name, Executor* executor) : name_(std::move(name)), executor_(executor) {}

    const std::string& name() const { return name_; }
    // Runs `task` on the one thread, after a pause if there is one.
    void Pass(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);
    // Null while the server is down.
    std::shared_ptr<ReplayStore> store() const ABSL_LOCKS_EXCLUDED(mutex_);
    // Creates the table on this server and on each later one.
    void Want(const TableConfig& config) ABSL_LOCKS_EXCLUDED(mutex_);
    // Connects the client to this server and to each later one.
    void Add(const std::shared_ptr<Client>& client) ABSL_LOCKS_EXCLUDED(mutex_);

    void Kill() ABSL_LOCKS_EXCLUDED(mutex_);
    void Start() ABSL_LOCKS_EXCLUDED(mutex_);
    void SetPaused(bool paused) ABSL_LOCKS_EXCLUDED(mutex_);

   private:
    std::vector<std::shared_ptr<Client>> ClientsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
    void Submit(std::function<void()> task);
    void SubmitAndWait(const std::function<void()>& task);

    const std::string name_;
    Executor* const executor_;
    mutable Mutex mutex_;
    std::shared_ptr<ReplayStore> store_ ABSL_GUARDED_BY(mutex_) = std::make_shared<ReplayStore>(ReplayStoreOptions());
    bool paused_ ABSL_GUARDED_BY(mutex_) = false;
    std::deque<std::function<void()>> held_ ABSL_GUARDED_BY(mutex_);
    std::map<std::string, TableConfig> wanted_ ABSL_GUARDED_BY(mutex_);
    std::vector<std::weak_ptr<Client>> clients_ ABSL_GUARDED_BY(mutex_);
  };

 private:
  std::vector<std::shared_ptr<Server>> servers_;
  std::unique_ptr<Executor> executor_;  // Its tasks use the servers.
};

}  // namespace waggle::testing
