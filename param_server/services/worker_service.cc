#include "param_server/services/worker_service.h"

#include <google/protobuf/arena.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/hub/hub_convert.h"
#include "common/net/raw_codec.h"
#include "common/net/status_convert.h"
#include "common/net/unary_method.h"
#include "common/net/write_reactor.h"
#include "param_server/services/overview_convert.h"

namespace waggle {
namespace {

constexpr size_t kMaxJoins = 1'000;
constexpr size_t kMaxPastCalls = 1'000;

template <class Map>
std::map<std::string, double> ToMap(const Map& proto) {
  return std::map<std::string, double>(proto.begin(), proto.end());
}

WorkerArrival ArrivalOf(const v1::JoinRequest& request) {
  return {request.worker_id(), request.address(), request.epoch(),
          request.has_life() ? std::optional<uint64_t>(request.life()) : std::nullopt};
}

absl::StatusOr<WorkerReport> ReportOf(const v1::HeartbeatRequest& request) {
  WorkerReport report;
  report.worker_id = request.worker_id();
  report.figures.activity = request.activity();
  report.figures.counters = ToMap(request.counters());
  report.figures.gauges = ToMap(request.gauges());
  report.figures.taken_at = absl::Microseconds(request.taken_at_us());
  report.figures.last_error = std::string(Utf8Prefix(request.last_error(), kMaxFailureBytes));
  if (request.has_environment()) {
    WAGGLE_ASSIGN_OR_RETURN(report.environment, FromProto(request.environment()));
  }
  for (const v1::Evaluation& evaluation : request.evaluations()) {
    report.evaluations.push_back(
        {FromProto(evaluation), absl::FromUnixMicros(evaluation.finished_at_us()), request.worker_id()});
  }
  if (request.has_final_version()) {
    report.final_version = FromProto(request.final_version());
  }
  report.turn_done = request.turn_done();
  report.broken_group = request.broken_group();
  if (request.has_cut()) {
    report.cut = CutReport{request.cut().number(), static_cast<int64_t>(request.cut().learner_steps()),
                           std::string(Utf8Prefix(request.cut().failure(), kMaxFailureBytes))};
  }
  report.failure = request.failure();
  return report;
}

// Sends a worker's assignment after each announcement of its hub.
class AssignmentSource final : public WriteSource {
 public:
  AssignmentSource(std::shared_ptr<RunServices> run, std::string worker_id)
      : run_(std::move(run)), worker_id_(std::move(worker_id)) {}

  void OnOpen(std::function<void()> wake) override { subscription_ = run_->hub->Watch(std::move(wake)); }

  Step Next() override {
    if (run_->closed) {
      return {std::nullopt, ClosedError()};
    }
    const absl::StatusOr<std::optional<Assignment>> news = run_->hub->News(worker_id_, &seen_);
    if (!news.ok()) {
      return {std::nullopt, news.status()};
    }
    if (!news->has_value()) {
      return {};
    }
    return {EncodeMessage(ToProto(**news), ByteSlices()), std::nullopt};
  }

 private:
  const std::shared_ptr<RunServices> run_;
  const std::string worker_id_;
  std::optional<int64_t> seen_;
  std::unique_ptr<Listeners::Subscription> subscription_;
};

}  // namespace

WorkerService::WorkerService(FindRun find, absl::Duration heartbeat_interval, PastOverview past)
    : find_(std::move(find)),
      past_(std::move(past)),
      heartbeat_interval_(heartbeat_interval),
      joins_("joins", 1, kMaxJoins),
      past_calls_("past-overviews", 1, kMaxPastCalls) {}

grpc::ServerUnaryReactor* WorkerService::Join(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  v1::JoinRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  auto run = find_(decoded.experiment_id());
  if (!run.ok()) {  // NOT_FOUND would make the worker try again, which is of no use if the run does not exist any more.
    return FinishUnary(
        context, absl::IsNotFound(run.status()) ? absl::FailedPreconditionError(run.status().message()) : run.status());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const WorkerArrival arrival = ArrivalOf(decoded);
  const std::optional<Role> role = (*run)->hub->RoleOf(arrival.worker_id);
  const auto join = [this, run = *std::move(run), arrival, response, reactor] {
    v1::JoinResponse answer;
    const absl::Status status = Join(run->hub, arrival, &answer);
    *response = EncodeMessage(answer, ByteSlices());
    reactor->Finish(ToGrpcStatus(status));
  };
  if (role == Role::kReplayServer) {
    join();
  } else if (!joins_.Submit(join).ok()) {
    reactor->Finish(ToGrpcStatus(
        absl::UnavailableError(absl::StrCat("this server is busy with ", kMaxJoins, " other workers that join"))));
  }
  return reactor;
}

absl::Status WorkerService::Join(Hub* hub, const WorkerArrival& arrival, v1::JoinResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const Hub::Seat seat, hub->Join(arrival));
  response->set_index(static_cast<uint32_t>(seat.index));
  response->set_epoch(seat.epoch);
  response->set_life(seat.life);
  response->set_env_steps(static_cast<uint64_t>(seat.env_steps));
  response->set_heartbeat_interval_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(heartbeat_interval_)));
  *response->mutable_assignment() = ToProto(seat.assignment);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* WorkerService::Heartbeat(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::HeartbeatRequest, v1::HeartbeatResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::HeartbeatRequest& decoded, v1::HeartbeatResponse* answer) {
        return Heartbeat(decoded, answer);
      });
}

absl::Status WorkerService::Heartbeat(const v1::HeartbeatRequest& request, v1::HeartbeatResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const auto run, find_(request.experiment_id()));
  WAGGLE_ASSIGN_OR_RETURN(const WorkerReport report, ReportOf(request));
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment, run->hub->Heartbeat(report));
  *response->mutable_assignment() = ToProto(assignment);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* WorkerService::Watch(grpc::CallbackServerContext* /*context*/,
                                                                 const grpc::ByteBuffer* request) {
  v1::WatchWorkerRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
  }
  auto run = find_(decoded.experiment_id());
  if (!run.ok()) {
    return new WriteReactor(std::make_unique<EndedSource>(run.status()));
  }
  return new WriteReactor(std::make_unique<AssignmentSource>(*std::move(run), decoded.worker_id()));
}

grpc::ServerUnaryReactor* WorkerService::TakeSteps(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::TakeStepsRequest, v1::TakeStepsResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::TakeStepsRequest& decoded, v1::TakeStepsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const auto run, find_(decoded.experiment_id()));
        WAGGLE_ASSIGN_OR_RETURN(const int64_t allowed, run->hub->TakeSteps(decoded.worker_id(), FromProto(decoded)));
        answer->set_allowed(static_cast<uint64_t>(allowed));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* WorkerService::Leave(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return AnswerUnary<v1::LeaveRequest, v1::LeaveResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::LeaveRequest& decoded, v1::LeaveResponse* /*answer*/) {
        if (const auto run = find_(decoded.experiment_id()); run.ok()) {
          (*run)->hub->Leave(decoded.worker_id());
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* WorkerService::Overview(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  v1::OverviewRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  const absl::StatusOr<std::shared_ptr<RunServices>> run = find_(decoded.experiment_id());
  if (run.ok()) {
    return FinishUnary(context, GuardedStatus([&]() -> absl::Status {
                         // An arena frees the tens of thousands of map entries of a thousand workers at once.
                         google::protobuf::Arena arena;
                         auto* const answer = google::protobuf::Arena::CreateMessage<v1::OverviewResponse>(&arena);
                         ToProto((*run)->hub->Overview(), answer);
                         answer->set_experiment_id((*run)->experiment_id);
                         *response = EncodeMessage(*answer, ByteSlices());
                         return absl::OkStatus();
                       }));
  }
  if (past_ == nullptr) {
    return FinishUnary(context, run.status());
  }
  return AnswerLater<v1::OverviewRequest, v1::OverviewResponse>(
      &past_calls_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::OverviewRequest& asked, v1::OverviewResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(*answer, past_(asked.experiment_id()));
        return absl::OkStatus();
      });
}

}  // namespace waggle
