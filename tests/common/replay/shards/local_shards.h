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

// Shards in this process, over what replay servers hold, with faults as the test says. Everything between a shard and
// its clients passes through one thread, in order.
class LocalShards {
 public:
  explicit LocalShards(size_t count);
  ~LocalShards();

  std::vector<std::shared_ptr<Shard>> shards() const;

  // The server is gone, with its tables; clients' streams end. This and Start return once that is so: a test that does
  // it over and over must not be ahead of what happens.
  void Kill(size_t shard);
  // Another one is there; clients connect to it.
  void Start(size_t shard);
  // It stands still: nothing comes to it or from it, and nobody knows. Then it goes on.
  void Pause(size_t shard);
  void Resume(size_t shard);

  std::shared_ptr<Table> table(size_t shard, const std::string& name) const;

  // A client's stream to a server, on the one thread.
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
    // Has `task` run on the one thread, once the server does not stand still.
    void Pass(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);
    // Null while it is gone.
    std::shared_ptr<ReplayStore> store() const ABSL_LOCKS_EXCLUDED(mutex_);
    // Has the table be there, whenever there is a server.
    void Want(const TableConfig& config) ABSL_LOCKS_EXCLUDED(mutex_);
    // Connects it if there is a server, and whenever there is a new one.
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
