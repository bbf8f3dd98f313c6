#include "cli/run/cluster_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "common/base/check.h"
#include "common/base/deadline.h"

namespace waggle {

ClusterWatch::ClusterWatch(const std::string& param_server, const std::string& experiment_id, absl::Duration period,
                           absl::Duration timeout)
    : period_(period), timeout_(timeout), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  WAGGLE_CHECK(event_ >= 0, "the process has no file descriptor left for an event");
  thread_ = Thread("cluster-watch", [this, param_server, experiment_id] {
    ClusterClient client(param_server, experiment_id);
    Run(&client);
  });
}

ClusterWatch::~ClusterWatch() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    wake_.SignalAll();
  }
  thread_.Join();
  close(event_);
}

std::optional<absl::StatusOr<ClusterSnapshot>> ClusterWatch::Take() {
  MutexLock lock(&mutex_);
  // Under the lock: otherwise a result that comes in between would be taken here and still be announced.
  uint64_t count = 0;
  const ssize_t ignored = read(event_, &count, sizeof(count));
  static_cast<void>(ignored);
  return std::exchange(newest_, std::nullopt);
}

void ClusterWatch::Hurry() {
  MutexLock lock(&mutex_);
  hurry_ = true;
  wake_.SignalAll();
}

void ClusterWatch::Run(ClusterClient* client) {
  while (true) {
    const Deadline next(period_);
    absl::StatusOr<ClusterSnapshot> snapshot = client->Fetch(timeout_);
    MutexLock lock(&mutex_);
    newest_ = std::move(snapshot);
    const uint64_t one = 1;
    const ssize_t ignored = write(event_, &one, sizeof(one));
    static_cast<void>(ignored);
    while (!stopping_ && !hurry_ && next.Left() > absl::ZeroDuration()) {
      wake_.WaitFor(&mutex_, next.Left());
    }
    if (stopping_) {
      return;
    }
    hurry_ = false;
  }
}

}  // namespace waggle
