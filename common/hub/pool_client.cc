#include "common/hub/pool_client.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/backoff.h"
#include "common/base/build_info.h"
#include "common/base/deadline.h"
#include "common/base/guard.h"
#include "common/base/log.h"
#include "common/base/log_context.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/base/utf8.h"
#include "common/hub/hub_requests.h"
#include "common/hub/pool_convert.h"
#include "common/net/channel.h"
#include "common/net/retry.h"
#include "common/net/unary_call.h"
#include "waggle/v1/pool.grpc.pb.h"

namespace waggle {
namespace {

// Longer than the two seconds after which a hub without news answers.
constexpr absl::Duration kCallTimeout = absl::Seconds(6);
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(1);
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
// All workers must be back within seconds of a hub's restart.
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// The pause after an answer without news, which a hub that waits for an order's end gives at once.
constexpr absl::Duration kLeastInterval = absl::Milliseconds(100);

// An order, until the hub knows its end.
struct Held {
  explicit Held(WorkOrder given) : order(std::move(given)) {}
  const WorkOrder order;
  const StopToken stop;
  bool reported_ended = false;  // In the present or the last call.
  Thread thread;                // Last: it uses everything above.
};

std::string InWords(const WorkOrder& order) {
  return absl::StrCat("order ", order.number, ", ", RoleName(order.role), " ", order.index, " of experiment ",
                      order.experiment_id);
}

class PoolWorker {
 public:
  PoolWorker(const PoolClientOptions& options, PoolWork* work)
      : options_(options),
        work_(work),
        worker_id_(NewWorkerId(WorkerKindName(options.kind))),
        stub_(v1::PoolService::NewStub(NewChannel(options.hub_address, "control"))),
        backoff_(kFirstPause, kLongestPause, Rng(std::random_device()())) {
    introduction_.set_worker_id(worker_id_);
    introduction_.set_kind(ToProto(options.kind));
    introduction_.set_address(options.address);
    introduction_.set_process_id(getpid());
    introduction_.set_host(HostName());
    introduction_.set_software_version(kVersion);
    introduction_.set_storage_id(options.storage_id);
    if (options.wanted_index.has_value()) {
      introduction_.set_wanted_index(static_cast<uint32_t>(*options.wanted_index));
    }
    introduction_.set_capacity(static_cast<uint32_t>(options.capacity));
    *introduction_.mutable_resources() = ToProto(options.resources);
  }

  ~PoolWorker() { StopAll(); }  // Joins their threads.

  absl::Status Run(const StopToken& stop) {
    const StopToken::Callback on_stop(stop, [this] { Hurry(); });
    while (!stop.StopRequested()) {
      WAGGLE_RETURN_IF_ERROR(AttendOrPause(kCallTimeout, /*leaving=*/false));
    }
    StopAll();
    const Deadline grace(options_.grace);
    while (AnyRuns() && grace.Left() > absl::ZeroDuration()) {
      if (!AttendOrPause(std::min(kCallTimeout, grace.Left()), /*leaving=*/true).ok()) {
        return absl::OkStatus();  // The hub knows of the end; its refusal does not matter.
      }
    }
    SayGoodbye();
    return absl::OkStatus();
  }

 private:
  // Ends the present call or pause, because there is news for the hub.
  void Hurry() ABSL_LOCKS_EXCLUDED(mutex_) {
    StopToken call;
    {
      MutexLock lock(&mutex_);
      news_ = true;
      changed_.SignalAll();
      call = call_;
    }
    call.RequestStop();
  }

  void WaitForNews(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Deadline deadline(timeout);
    MutexLock lock(&mutex_);
    while (!news_ && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
  }

  absl::Status AttendOrPause(absl::Duration timeout, bool leaving) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Stopwatch since;
    StopToken call;
    v1::AttendRequest request = introduction_;
    request.set_leaving(leaving);
    {
      MutexLock lock(&mutex_);
      call_ = call;
      news_ = false;
      FillHeld(&request);
    }
    // The hub hears of the rest once these are dropped.
    for (const std::string& id : work_->Kept()) {
      if (static_cast<size_t>(request.kept_size()) < kMaxPoolKept) {
        request.add_kept(id);
      }
    }
    const absl::StatusOr<v1::AttendResponse> response = Attend(request, timeout, call);
    if (options_.attended != nullptr) {
      options_.attended(response.ok() || call.StopRequested()
                            ? ""
                            : absl::StrCat("the parameter server does not answer: ", response.status().message()));
    }
    if (absl::IsCancelled(response.status()) && call.StopRequested()) {
      return absl::OkStatus();
    }
    if (!response.ok()) {
      return PauseAfter(response.status());
    }
    if (const bool first = !std::exchange(found_, true); std::exchange(lost_, false) || first) {
      LogInfo("takes orders of the parameter server at ", options_.hub_address, first ? "" : " again");
    }
    backoff_.Reset();
    const absl::StatusOr<bool> changed = Obey(*response, leaving);
    if (!changed.ok()) {
      const absl::Status wrong = Annotate(changed.status(), "the parameter server's answer");
      LogError(wrong.message());
      return wrong;
    }
    if (!*changed) {
      WaitForNews(kLeastInterval - since.Elapsed());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::AttendResponse> Attend(const v1::AttendRequest& request, absl::Duration timeout,
                                            const StopToken& stop) {
    return CallUnary(stub_.get(), &v1::PoolService::Stub::Attend, request, timeout, stop);
  }

  // OK after a pause if the error may pass.
  absl::Status PauseAfter(const absl::Status& status) {
    if (!MayPass(status)) {
      LogError("the parameter server at ", options_.hub_address, " refuses this process: ", status.message());
      return absl::IsUnimplemented(status)
                 ? Annotate(status, absl::StrCat("there is no parameter server at ", options_.hub_address))
                 : status;
    }
    if (!std::exchange(lost_, true)) {
      found_ ? LogWarning("no orders come from the parameter server at ", options_.hub_address,
                          " for now: ", status.message())
             : LogInfo("waiting for the parameter server at ", options_.hub_address, ": ", status.message());
    }
    WaitForNews(backoff_.Next());
    return absl::OkStatus();
  }

  void FillHeld(v1::AttendRequest* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& [number, held] : held_) {
      const auto ending = endings_.find(number);
      held->reported_ended = ending != endings_.end();
      v1::HeldOrder* const proto = request->add_held();
      *proto->mutable_order() = ToProto(held->order);
      proto->set_ended(held->reported_ended);
      if (held->reported_ended) {
        proto->set_failure(ending->second);
      }
    }
  }

  // Returns true if the answer changed what this process works on.
  absl::StatusOr<bool> Obey(const v1::AttendResponse& response, bool leaving) ABSL_LOCKS_EXCLUDED(mutex_) {
    WAGGLE_ASSIGN_OR_RETURN(const auto wanted, OrdersIn(response));
    bool changed = false;
    for (auto it = held_.begin(); it != held_.end();) {
      Held* const held = it->second.get();
      const auto found = wanted.find(it->first);
      if (found != wanted.end() && found->second == held->order) {
        ++it;
      } else if (held->reported_ended) {
        Forget(held);
        it = held_.erase(it);
        changed = true;
      } else {
        if (!held->stop.StopRequested()) {
          LogInfo("the parameter server takes back ", InWords(held->order));
          held->stop.RequestStop();
          changed = true;
        }
        ++it;
      }
    }
    for (const auto& [number, order] : wanted) {
      // An order that was taken back may hold what the next one needs until it ends.
      if (!leaving && held_.count(number) == 0 && Running() < options_.capacity) {
        Begin(order);
        changed = true;
      }
    }
    for (const std::string& id : response.discarded()) {
      if (!IsWorkedOn(id)) {
        work_->Discard(id);
      }
    }
    return changed;
  }

  absl::StatusOr<std::map<uint64_t, WorkOrder>> OrdersIn(const v1::AttendResponse& response) const {
    if (response.orders_size() > options_.capacity) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", response.orders_size(), " orders; wanted at most ", options_.capacity));
    }
    std::map<uint64_t, WorkOrder> orders;
    for (const v1::WorkOrder& proto : response.orders()) {
      WAGGLE_ASSIGN_OR_RETURN(WorkOrder order, FromProto(proto));
      if (!CanWorkAs(options_.kind, order.role)) {
        return absl::InvalidArgumentError(
            absl::StrCat("has ", InWords(order), " for a ", WorkerKindName(options_.kind)));
      }
      if (!orders.emplace(order.number, order).second) {
        return absl::InvalidArgumentError(absl::StrCat("has order ", order.number, " twice"));
      }
    }
    return orders;
  }

  void Begin(const WorkOrder& order) ABSL_LOCKS_EXCLUDED(mutex_) {
    LogInfo("begins ", InWords(order));
    std::unique_ptr<Held>& held = held_[order.number];
    held = std::make_unique<Held>(order);
    // The system may have no thread for it.
    const absl::Status begun =
        Guarded([&, held = held.get()] { held->thread = Thread("order", [this, held] { Do(*held); }); });
    if (!begun.ok()) {
      End(order, begun, /*stopped=*/false);
    }
  }

  // Runs in the order's thread.
  void Do(const Held& held) ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::string run_worker_id = RunWorkerId(worker_id_, held.order.number);
    const LogContext context{held.order.experiment_id, run_worker_id, ""};
    const LogScope scope(context);
    if (options_.capacity == 1) {
      SetProcessLogContext(context);  // For the order's other threads.
    }
    const absl::Status status = GuardedStatus([&] { return work_->Do(held.order, run_worker_id, held.stop); });
    if (options_.capacity == 1) {
      SetProcessLogContext({});
    }
    End(held.order, status, held.stop.StopRequested());
    Hurry();
  }

  void End(const WorkOrder& order, const absl::Status& status, bool stopped) ABSL_LOCKS_EXCLUDED(mutex_) {
    const bool failed = !status.ok() && !stopped;
    if (failed) {
      LogError("gives up ", InWords(order), ": ", status.ToString());
    } else if (!status.ok() && !absl::IsCancelled(status)) {
      LogWarning("ends ", InWords(order), ", which was stopped, with: ", status.ToString());
    } else {
      LogInfo("ends ", InWords(order));
    }
    MutexLock lock(&mutex_);
    endings_[order.number] = failed ? std::string(Utf8Prefix(status.ToString(), kMaxFailureBytes)) : "";
  }

  void Forget(Held* held) ABSL_LOCKS_EXCLUDED(mutex_) {
    held->thread.Join();
    MutexLock lock(&mutex_);
    endings_.erase(held->order.number);
  }

  int64_t Running() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return static_cast<int64_t>(held_.size()) - static_cast<int64_t>(endings_.size());
  }
  bool AnyRuns() const { return Running() > 0; }

  bool IsWorkedOn(const std::string& experiment_id) const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return std::any_of(held_.begin(), held_.end(), [&](const auto& each) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return each.second->order.experiment_id == experiment_id && endings_.count(each.first) == 0;
    });
  }

  void StopAll() {
    for (const auto& [number, held] : held_) {
      held->stop.RequestStop();
    }
  }

  void SayGoodbye() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (const auto& [number, held] : held_) {
      MutexLock lock(&mutex_);
      if (endings_.count(number) == 0) {
        LogWarning(InWords(held->order), " has not ended ", absl::FormatDuration(options_.grace), " after the stop");
      }
    }
    v1::AttendRequest request = introduction_;
    request.set_leaving(true);
    if (const absl::Status status = Attend(request, kGoodbyeTimeout, StopToken()).status(); !status.ok()) {
      LogWarning("the goodbye to the parameter server was lost: ", status.message());
    }
  }

  const PoolClientOptions options_;
  PoolWork* const work_;
  const std::string worker_id_;
  const std::unique_ptr<v1::PoolService::Stub> stub_;
  v1::AttendRequest introduction_;  // The same in each call.

  // Owned by the thread that calls Run.
  Backoff backoff_;
  bool found_ = false;  // The hub has answered once.
  bool lost_ = false;   // The hub did not answer last.

  mutable Mutex mutex_;
  CondVar changed_;
  bool news_ ABSL_GUARDED_BY(mutex_) = false;  // For the hub, since the last call began.
  StopToken call_ ABSL_GUARDED_BY(mutex_);     // Ends the present call.
  // By number, each ended order's failure; empty without one.
  std::map<uint64_t, std::string> endings_ ABSL_GUARDED_BY(mutex_);

  // By number; owned by the thread that calls Run. Last: their threads use everything above.
  std::map<uint64_t, std::unique_ptr<Held>> held_;
};

}  // namespace

absl::Status WorkForPool(const PoolClientOptions& options, PoolWork* work, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(options.Validate());
  return PoolWorker(options, work).Run(stop);
}

}  // namespace waggle
