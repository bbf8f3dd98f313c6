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
#include "common/hub/hub_news.h"
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
        on_stop_(stop, [news = news_] { news->Stop(); }) {}

  ~GrpcHubLink() override {
    abandon_.RequestStop();
    {
      MutexLock lock(&mutex_);
      EndLocked();
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

  Assignment assignment() const override { return news_->assignment(); }

  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    const StopToken::Callback wake(stop, [news = news_] { news->Wake(); });
    return news_->WaitUntil(condition, stop);
  }

  void ReportEnvironment(const EnvironmentSpec& environment) override {
    Report(&PendingReports::SetEnvironment, environment);
  }
  void ReportEvaluation(const Evaluation& evaluation) override {
    Report(&PendingReports::AddEvaluation, evaluation, absl::Now());
  }
  void ReportFinalVersion(const ModelVersion& version) override { Report(&PendingReports::SetFinalVersion, version); }
  void ReportTurnDone(uint64_t number) override { Report(&PendingReports::SetTurnDone, number); }
  void ReportCut(const CutReport& report) override { Report(&PendingReports::SetCut, report); }
  void ReportBrokenGroup(uint64_t epoch) override { Report(&PendingReports::SetBrokenGroup, epoch); }
  void ReportFailure(const absl::Status& failure) override { Report(&PendingReports::SetFailure, failure); }
  void ReportFirstStep() override {
    MutexLock lock(&mutex_);
    first_step_.emplace();
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
      MutexLock lock(&mutex_);
      HurryLocked();  // Hurries the heartbeat that joins again.
    }
    if (absl::IsNotFound(status) || MayPass(status)) {
      return absl::UnavailableError(status.message());
    }
    WAGGLE_RETURN_IF_ERROR(status);
    return static_cast<int64_t>(response->allowed());
  }

  const StopToken& run_over() const override { return news_->run_over(); }
  const StopToken& training_over() const override { return news_->training_over(); }

  void Leave(absl::Duration timeout) override {
    {
      const Deadline deadline(timeout);
      MutexLock lock(&mutex_);
      leaving_ = true;
      EndLocked();
      while (!ended_ && deadline.Left() > absl::ZeroDuration()) {
        changed_.WaitFor(&mutex_, deadline.Left());
      }
    }
    abandon_.RequestStop();
    thread_.Join();
    watch_.reset();
  }

 private:
  using Stub = v1::WorkerService::Stub;

  // Passes values to a function of `reports_`, and hurries the next heartbeat.
  template <class Setter, class... Values>
  void Report(Setter setter, const Values&... values) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    (reports_.*setter)(values...);
    HurryLocked();
  }

  void HurryLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    hurried_ = true;
    changed_.SignalAll();
  }

  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ending_ = true;
    changed_.SignalAll();
    news_->End();
  }

  // Joins the run; again with the place that the hub gave it first.
  absl::Status Join(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
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
    bool refused = false;
    while (WaitUntilDue()) {
      const absl::Status status = BeatOrJoin();
      if (abandon_.StopRequested()) {
        break;
      }
      if (!status.ok() && !MayPass(status)) {
        LogError("the parameter server refuses this process: ", status.message());
        news_->Refuse(status);
        refused = true;
        break;
      }
      if (lost != !status.ok()) {
        lost = !status.ok();
        lost ? LogWarning("the parameter server at ", options_.hub_address, " is lost: ", status.message())
             : LogInfo("the parameter server at ", options_.hub_address, " is back");
      }
    }
    if (!refused) {
      SayGoodbye();
    }
    MutexLock lock(&mutex_);
    ended_ = true;
    changed_.SignalAll();
  }

  // Returns false once the link must end.
  bool WaitUntilDue() ABSL_LOCKS_EXCLUDED(mutex_) {
    const Stopwatch since_last;
    MutexLock lock(&mutex_);
    while (!ending_) {
      const absl::Duration left = IntervalLocked() - since_last.Elapsed();
      // Reports do not hurry the calls to an absent hub.
      if (left <= absl::ZeroDuration() || (hurried_ && !failing_)) {
        break;
      }
      changed_.WaitFor(&mutex_, left);
    }
    hurried_ = false;
    return !ending_;
  }

  absl::Duration IntervalLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return first_step_.has_value() && !failing_
               ? std::min(interval_, std::max(kLeastInterval, first_step_->Elapsed() * kLagOfAge))
               : interval_;
  }

  absl::Status BeatOrJoin() ABSL_LOCKS_EXCLUDED(mutex_) {
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
    MutexLock lock(&mutex_);
    failing_ = !status.ok();
    return status;
  }

  absl::Status Heartbeat() ABSL_LOCKS_EXCLUDED(mutex_) {
    v1::HeartbeatRequest request;
    request.set_experiment_id(options_.experiment_id);
    request.set_worker_id(options_.worker_id);
    {
      MutexLock lock(&mutex_);
      reports_.Fill(&request);
    }
    FillFigures(options_, &request);  // After the reports, so that the figures include a finished turn.
    WAGGLE_ASSIGN_OR_RETURN(const v1::HeartbeatResponse response,
                            CallUnary(stub_.get(), &Stub::Heartbeat, request, kCallTimeout, abandon_));
    {
      MutexLock lock(&mutex_);
      reports_.Acknowledge(request);
    }
    return Take(response.assignment(), /*joined=*/false);
  }

  // Only the answer to a join has the experiment.
  absl::Status Take(const v1::Assignment& proto, bool joined) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::StatusOr<Assignment> assignment = FromProto(proto);
    WAGGLE_RETURN_IF_ERROR(Annotate(assignment.status(), "the parameter server's answer"));
    assignment->worker_id = options_.worker_id;
    assignment->index = index_;
    assignment->epoch = epoch_;
    assignment->life = life_;
    assignment->earlier_env_steps = earlier_env_steps_;
    const bool environment_known = assignment->environment.has_value();
    if (news_->Take(*std::move(assignment), joined)) {
      MutexLock lock(&mutex_);
      reports_.SetEnvironmentKnown(environment_known);
    }
    return absl::OkStatus();
  }

  // Sends the last figures and reports, then the goodbye.
  void SayGoodbye() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (!leaving_) {
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
  const std::shared_ptr<HubNews> news_ = std::make_shared<HubNews>();  // Callbacks of stop tokens may outlive the link.
  const StopToken abandon_;                                            // Ends the present call.

  // Owned by the thread that calls Start, and constant once it has joined: other threads read them then.
  bool joined_ = false;
  int64_t index_ = 0;
  uint64_t epoch_ = 0;
  uint64_t life_ = 0;
  int64_t earlier_env_steps_ = 0;
  // Owned by the thread that calls Start, then by the heartbeats' thread.
  absl::Duration interval_ = kDefaultInterval;

  Mutex mutex_;
  CondVar changed_;  // Something to report, or an end.
  PendingReports reports_ ABSL_GUARDED_BY(mutex_);
  bool hurried_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Stopwatch> first_step_ ABSL_GUARDED_BY(mutex_);  // Since this actor's first step.
  bool failing_ ABSL_GUARDED_BY(mutex_) = false;                 // The last heartbeat was not answered.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;  // No more heartbeats, except a last one before a goodbye.
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // The thread has ended.

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
