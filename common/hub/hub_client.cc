#include "common/hub/hub_client.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/backoff.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_convert.h"
#include "common/hub/hub_requests.h"
#include "common/hub/hub_watch.h"
#include "common/hub/pending_reports.h"
#include "common/net/channel.h"
#include "common/net/retry.h"
#include "common/net/unary_call.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr absl::Duration kDefaultInterval = absl::Seconds(1);
// The pause between a young actor's heartbeats (HubLink::ReportFirstStep), some twenty in its life.
constexpr absl::Duration kLeastInterval = absl::Milliseconds(50);
constexpr double kLagOfAge = 0.25;

class GrpcHubLink final : public HubLink {
 public:
  GrpcHubLink(const HubClientOptions& options, const StopToken& stop)
      : options_(options),
        channel_(NewChannel(options.hub_address, "control")),
        stub_(v1::WorkerService::NewStub(channel_)),
        shared_(std::make_shared<Shared>()),
        on_stop_(stop, [shared = shared_, training_over = training_over_, run_over = run_over_] {
          training_over.RequestStop();
          run_over.RequestStop();
          MutexLock lock(&shared->mutex);
          shared->changed.SignalAll();
        }) {}

  ~GrpcHubLink() override {
    abandon_.RequestStop();
    {
      MutexLock lock(&shared_->mutex);
      shared_->ending = true;
      shared_->changed.SignalAll();
    }
    thread_.Join();
    watch_.reset();
  }

  absl::Status Start(const StopToken& stop) {
    Backoff backoff(kFirstPause, kLongestPause, Rng(std::random_device()()));
    absl::Status status = Join(stop);
    bool told = false;
    while (!status.ok()) {
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped before the parameter server was found");
      }
      if (!MayPass(status)) {
        return absl::IsUnimplemented(status)
                   ? Annotate(status, absl::StrCat("there is no parameter server at ", options_.hub_address))
                   : status;
      }
      if (!std::exchange(told, true)) {
        LogInfo("waiting for the parameter server at ", options_.hub_address, ": ", status.message());
      }
      stop.WaitFor(backoff.Next());
      status = Join(stop);
    }
    thread_ = Thread("heartbeats", [this] { Run(); });
    watch_.emplace(channel_, options_.experiment_id, options_.worker_id,
                   [this](const v1::Assignment& news) { return Take(news, /*joined=*/false); });
    return absl::OkStatus();
  }

  Assignment assignment() const override {
    MutexLock lock(&shared_->mutex);
    return shared_->assignment;
  }

  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    const StopToken::Callback wake(stop, [shared = shared_] {
      MutexLock lock(&shared->mutex);
      shared->changed.SignalAll();
    });
    int64_t seen = -1;
    while (true) {
      Assignment current;
      {
        MutexLock lock(&shared_->mutex);
        while (shared_->news == seen && shared_->refused.ok() && !shared_->ending && !stop.StopRequested()) {
          shared_->changed.Wait(&shared_->mutex);
        }
        seen = shared_->news;
        current = shared_->assignment;
        WAGGLE_RETURN_IF_ERROR(shared_->refused);
        if (shared_->ending) {
          return absl::CancelledError("the link to the parameter server has been ended");
        }
      }
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped while waiting for the parameter server");
      }
      if (condition(current)) {
        return current;
      }
      if (IsOver(current.run_state)) {
        return absl::CancelledError(absl::StrCat("the run is over: ", RunStateName(current.run_state)));
      }
    }
  }

  void ReportEnvironment(const EnvironmentSpec& environment) override {
    MutexLock lock(&shared_->mutex);
    reports_.SetEnvironment(environment);
    HurryLocked();
  }

  void ReportEvaluation(const Evaluation& evaluation) override {
    MutexLock lock(&shared_->mutex);
    reports_.AddEvaluation(evaluation, absl::Now());
    HurryLocked();
  }

  void ReportFinalVersion(const ModelVersion& version) override {
    MutexLock lock(&shared_->mutex);
    reports_.SetFinalVersion(version);
    HurryLocked();
  }

  void ReportFirstStep() override {
    MutexLock lock(&shared_->mutex);
    first_step_.emplace();
    HurryLocked();
  }
  void ReportTurnDone(uint64_t number) override {
    MutexLock lock(&shared_->mutex);
    reports_.SetTurnDone(number);
    HurryLocked();
  }

  void ReportBrokenGroup(uint64_t epoch) override {
    MutexLock lock(&shared_->mutex);
    reports_.SetBrokenGroup(epoch);
    HurryLocked();
  }

  void ReportFailure(const absl::Status& failure) override {
    MutexLock lock(&shared_->mutex);
    reports_.SetFailure(failure);
    HurryLocked();
  }

  absl::StatusOr<int64_t> TakeSteps(const StepRequest& steps, const StopToken& stop) override {
    v1::TakeStepsRequest request = ToProto(steps);
    request.set_experiment_id(options_.experiment_id);
    request.set_worker_id(options_.worker_id);
    const absl::StatusOr<v1::TakeStepsResponse> response =
        CallUnary(stub_.get(), &Stub::TakeSteps, request, kCallTimeout, stop);
    const absl::Status& status = response.status();
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped while asking for environment steps");
    }
    if (absl::IsNotFound(status)) {
      MutexLock lock(&shared_->mutex);
      HurryLocked();  // Hurries the heartbeat that joins again.
    }
    if (absl::IsNotFound(status) || MayPass(status)) {
      return absl::UnavailableError(status.message());
    }
    WAGGLE_RETURN_IF_ERROR(status);
    return static_cast<int64_t>(response->allowed());
  }

  const StopToken& run_over() const override { return run_over_; }
  const StopToken& training_over() const override { return training_over_; }

  void Leave(absl::Duration timeout) override {
    {
      const Deadline deadline(timeout);
      MutexLock lock(&shared_->mutex);
      leaving_ = true;
      shared_->ending = true;
      shared_->changed.SignalAll();
      while (!ended_) {
        const absl::Duration left = deadline.Left();
        if (left == absl::ZeroDuration()) {
          break;
        }
        shared_->changed.WaitFor(&shared_->mutex, left);
      }
    }
    abandon_.RequestStop();
    thread_.Join();
    watch_.reset();
  }

 private:
  using Stub = v1::WorkerService::Stub;

  // Shared with callbacks of stop tokens, which may outlive the link briefly.
  struct Shared {
    Mutex mutex;
    CondVar changed;  // Anything below, or something to report.
    Assignment assignment ABSL_GUARDED_BY(mutex);
    int64_t news ABSL_GUARDED_BY(mutex) = 0;  // Assignments received.
    absl::Status refused ABSL_GUARDED_BY(mutex);
    bool ending ABSL_GUARDED_BY(mutex) = false;  // No more heartbeats, except a last one before a goodbye.
  };

  void HurryLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
    hurried_ = true;
    shared_->changed.SignalAll();
  }

  // Joins the run; again with the place that the hub gave it first.
  absl::Status Join(const StopToken& stop) ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    v1::JoinRequest request;
    request.set_experiment_id(options_.experiment_id);
    request.set_worker_id(options_.worker_id);
    request.set_address(options_.address);
    if (joined_) {
      request.set_epoch(epoch_);
      request.set_life(life_);
    }
    WAGGLE_ASSIGN_OR_RETURN(const v1::JoinResponse response,
                            CallUnary(stub_.get(), &Stub::Join, request, kCallTimeout, stop));
    if (!std::exchange(joined_, true)) {
      index_ = response.index();
      epoch_ = response.epoch();
      life_ = response.life();
      earlier_env_steps_ = static_cast<int64_t>(response.env_steps());
    }
    interval_ =
        response.heartbeat_interval_ms() == 0 ? kDefaultInterval : absl::Milliseconds(response.heartbeat_interval_ms());
    return Take(response.assignment(), /*joined=*/true);
  }

  // Runs in the heartbeats' thread until the link ends or the hub refuses the worker.
  void Run() {
    bool lost = false;
    while (WaitUntilDue()) {
      const absl::Status status = BeatOrJoin();
      if (abandon_.StopRequested()) {
        break;
      }
      if (!status.ok() && !MayPass(status)) {
        Refuse(status);
        break;
      }
      if (lost != !status.ok()) {
        lost = !status.ok();
        lost ? LogWarning("the parameter server at ", options_.hub_address, " is lost: ", status.message())
             : LogInfo("the parameter server at ", options_.hub_address, " is back");
      }
    }
    SayGoodbye();
    MutexLock lock(&shared_->mutex);
    ended_ = true;
    shared_->changed.SignalAll();
  }

  bool WaitUntilDue() ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    const Stopwatch since_last;
    MutexLock lock(&shared_->mutex);
    while (!shared_->ending) {
      const absl::Duration left = IntervalLocked() - since_last.Elapsed();
      // Reports do not hurry the calls to an absent hub.
      if (left <= absl::ZeroDuration() || (hurried_ && !failing_)) {
        break;
      }
      shared_->changed.WaitFor(&shared_->mutex, left);
    }
    hurried_ = false;
    return !shared_->ending;
  }

  absl::Duration IntervalLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
    return first_step_.has_value() && !failing_
               ? std::min(interval_, std::max(kLeastInterval, first_step_->Elapsed() * kLagOfAge))
               : interval_;
  }

  absl::Status BeatOrJoin() ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    absl::Status status = Heartbeat();
    if (absl::IsNotFound(status)) {  // The hub was restarted, or counted this worker as dead.
      LogInfo("joining the parameter server at ", options_.hub_address, " again");
      status = Join(abandon_);
      if (status.ok()) {
        status = Heartbeat();
      }
      // The hub was restarted once more between the two calls.
      status = absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
    }
    MutexLock lock(&shared_->mutex);
    failing_ = !status.ok();
    return status;
  }

  absl::Status Heartbeat() ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    v1::HeartbeatRequest request;
    request.set_experiment_id(options_.experiment_id);
    request.set_worker_id(options_.worker_id);
    {
      MutexLock lock(&shared_->mutex);
      reports_.Fill(&request);
    }
    FillFigures(options_, &request);  // After the reports, so that the figures include a finished turn.
    WAGGLE_ASSIGN_OR_RETURN(const v1::HeartbeatResponse response,
                            CallUnary(stub_.get(), &Stub::Heartbeat, request, kCallTimeout, abandon_));
    {
      MutexLock lock(&shared_->mutex);
      reports_.Acknowledge(request);
    }
    return Take(response.assignment(), /*joined=*/false);
  }

  // Only the answer to a join has the experiment.
  absl::Status Take(const v1::Assignment& proto, bool joined) ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    absl::StatusOr<Assignment> assignment = FromProto(proto);
    WAGGLE_RETURN_IF_ERROR(Annotate(assignment.status(), "the parameter server's answer"));
    assignment->worker_id = options_.worker_id;
    assignment->index = index_;
    assignment->epoch = epoch_;
    assignment->life = life_;
    assignment->earlier_env_steps = earlier_env_steps_;
    const RunState state = assignment->run_state;
    {
      MutexLock lock(&shared_->mutex);
      // News may overtake a heartbeat's answer. A join's answer always holds: another hub has another clock.
      if (!joined && assignment->said_at < shared_->assignment.said_at) {
        return absl::OkStatus();
      }
      if (!joined) {
        assignment->experiment_yaml = std::move(shared_->assignment.experiment_yaml);
      }
      reports_.SetEnvironmentKnown(assignment->environment.has_value());
      shared_->assignment = *std::move(assignment);
      ++shared_->news;
      shared_->changed.SignalAll();
    }
    if (IsTrainingOver(state)) {
      training_over_.RequestStop();
    }
    if (IsOver(state)) {
      run_over_.RequestStop();
    }
    return absl::OkStatus();
  }

  void Refuse(const absl::Status& status) ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    LogError("the parameter server refuses this process: ", status.message());
    {
      MutexLock lock(&shared_->mutex);
      shared_->refused = status;
      shared_->changed.SignalAll();
    }
    training_over_.RequestStop();
    run_over_.RequestStop();
  }

  void SayGoodbye() ABSL_LOCKS_EXCLUDED(shared_->mutex) {
    {
      MutexLock lock(&shared_->mutex);
      if (!leaving_ || !shared_->refused.ok()) {
        return;
      }
    }
    if (const absl::Status status = BeatOrJoin(); !status.ok()) {
      LogWarning("the last report to the parameter server was lost: ", status.message());
      return;
    }
    v1::LeaveRequest request;
    request.set_experiment_id(options_.experiment_id);
    request.set_worker_id(options_.worker_id);
    const auto response = CallUnary(stub_.get(), &Stub::Leave, request, kCallTimeout, abandon_);
    if (!response.ok()) {
      LogWarning("the goodbye to the parameter server was lost: ", response.status().message());
    }
  }

  const HubClientOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_;
  const std::shared_ptr<Shared> shared_;
  const StopToken training_over_;
  const StopToken run_over_;
  const StopToken abandon_;  // Ends the present call.

  // Owned by the thread that calls Start, and constant once it has joined: other threads read them then.
  bool joined_ = false;
  int64_t index_ = 0;
  uint64_t epoch_ = 0;
  uint64_t life_ = 0;
  int64_t earlier_env_steps_ = 0;
  // Owned by the thread that calls Start, then by the heartbeats' thread.
  absl::Duration interval_ = kDefaultInterval;

  PendingReports reports_ ABSL_GUARDED_BY(shared_->mutex);
  bool hurried_ ABSL_GUARDED_BY(shared_->mutex) = false;
  std::optional<Stopwatch> first_step_ ABSL_GUARDED_BY(shared_->mutex);  // Since this actor's first step.
  bool failing_ ABSL_GUARDED_BY(shared_->mutex) = false;                 // The last heartbeat was not answered.
  bool leaving_ ABSL_GUARDED_BY(shared_->mutex) = false;
  bool ended_ ABSL_GUARDED_BY(shared_->mutex) = false;  // The thread has ended.

  const StopToken::Callback on_stop_;
  Thread thread_;
  std::optional<HubWatch> watch_;  // Last: its thread uses everything above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<HubLink>> JoinHub(const HubClientOptions& options, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(options.Validate());
  auto link = std::make_unique<GrpcHubLink>(options, stop);
  WAGGLE_RETURN_IF_ERROR(link->Start(stop));
  return std::unique_ptr<HubLink>(std::move(link));
}

}  // namespace waggle
