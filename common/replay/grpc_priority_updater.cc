#include "common/replay/grpc_priority_updater.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/net/retry.h"
#include "common/net/unary_call.h"

namespace waggle {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);
// An update has 24 bytes.
constexpr int kMaxPending = 1 << 18;

}  // namespace

GrpcPriorityUpdater::GrpcPriorityUpdater(std::shared_ptr<ReplayLink> link, std::string table)
    : link_(std::move(link)), table_(std::move(table)), thread_("priorities", [this] { Run(); }) {}

GrpcPriorityUpdater::~GrpcPriorityUpdater() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  stop_.RequestStop();
}

absl::Status GrpcPriorityUpdater::Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                                         std::vector<double> priorities) {
  MutexLock lock(&mutex_);
  if (!failure_.ok()) {
    return failure_;
  }
  pending_.mutable_keys()->Add(keys.begin(), keys.end());
  pending_.mutable_generations()->Add(generations.begin(), generations.end());
  pending_.mutable_priorities()->Add(priorities.begin(), priorities.end());
  if (const int excess = pending_.keys_size() - kMaxPending; excess > 0) {
    counts_.unknown += excess;
    pending_.mutable_keys()->ExtractSubrange(0, excess, nullptr);
    pending_.mutable_generations()->ExtractSubrange(0, excess, nullptr);
    pending_.mutable_priorities()->ExtractSubrange(0, excess, nullptr);
  }
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status GrpcPriorityUpdater::Flush(absl::Duration timeout) {
  const Deadline deadline(timeout);
  MutexLock lock(&mutex_);
  while ((pending_.keys_size() > 0 || sending_) && failure_.ok()) {
    const absl::Duration left = deadline.Left();
    if (left == absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("priority updates are not answered after ", absl::FormatDuration(timeout)));
    }
    changed_.WaitFor(&mutex_, left);
  }
  return failure_;
}

PriorityUpdateCounts GrpcPriorityUpdater::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

void GrpcPriorityUpdater::Run() {
  for (;;) {
    v1::UpdatePrioritiesRequest request;
    {
      MutexLock lock(&mutex_);
      sending_ = false;
      changed_.SignalAll();
      while (pending_.keys_size() == 0 && !stopping_) {
        changed_.Wait(&mutex_);
      }
      if (stopping_) {
        return;
      }
      request.Swap(&pending_);
      sending_ = true;
    }
    request.set_table(link_->NameThere(table_));
    if (absl::Status status = SendUntilAnswered(request); !status.ok()) {
      MutexLock lock(&mutex_);
      failure_ = std::move(status);
      sending_ = false;
      changed_.SignalAll();
      return;
    }
  }
}

absl::Status GrpcPriorityUpdater::SendUntilAnswered(const v1::UpdatePrioritiesRequest& request) {
  Backoff backoff = NewReconnectBackoff();
  bool logged = false;
  for (;;) {
    const absl::StatusOr<v1::UpdatePrioritiesResponse> response =
        CallUnary(link_->stub().get(), &v1::ReplayService::StubInterface::UpdatePriorities, request, kTimeout, stop_);
    const absl::Status& status = response.status();
    PriorityUpdateCounts counts;
    if (response.ok()) {
      counts = {response->applied(), response->stale(), response->unknown()};
    } else if (absl::IsNotFound(status) && link_->HasCreated(table_)) {
      counts.unknown = request.keys_size();  // A restarted server lost the table with all its items.
    } else if (stop_.StopRequested()) {
      return absl::CancelledError("stopped");
    } else if (!MayPass(status)) {
      return Annotate(status, absl::StrCat("updating priorities at ", link_->address()));
    } else {
      if (!std::exchange(logged, true)) {
        LogWarning("updating priorities at ", link_->address(), ": ", status.message(), "; trying again");
      }
      stop_.WaitFor(backoff.Next());
      link_->FindAgain();
      continue;
    }
    MutexLock lock(&mutex_);
    counts_.applied += counts.applied;
    counts_.stale += counts.stale;
    counts_.unknown += counts.unknown;
    return absl::OkStatus();
  }
}

}  // namespace waggle
