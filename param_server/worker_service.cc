#include "param_server/worker_service.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "common/rpc/raw_codec.h"
#include "common/rpc/status_convert.h"
#include "common/rpc/unary_method.h"
#include "common/rpc/write_reactor.h"
#include "param_server/metrics/run_figures.h"

namespace waggle {
namespace {

constexpr size_t kMaxJoins = 1'000;

template <class Map>
std::map<std::string, double> ToMap(const Map& proto) {
  return std::map<std::string, double>(proto.begin(), proto.end());
}

absl::StatusOr<WorkerIntroduction> IntroductionOf(const v1::JoinRequest& request) {
  if (request.software_version() != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this worker is of version ", absl::CHexEscape(request.software_version()),
        ", the parameter server of version ", kVersion, "; all processes of a run must be of one version"));
  }
  WorkerIntroduction introduction;
  introduction.worker_id = request.worker_id();
  WAGGLE_ASSIGN_OR_RETURN(introduction.role, FromProto(request.role()));
  introduction.address = request.address();
  introduction.process_id = request.process_id();
  introduction.host = request.host();
  if (request.has_index()) {
    introduction.index = request.index();
  }
  if (request.has_own_index()) {
    introduction.own_index = request.own_index();
  }
  introduction.epoch = request.epoch();
  if (request.has_life()) {
    introduction.life = request.life();
  }
  return introduction;
}

absl::StatusOr<WorkerReport> ReportOf(const v1::HeartbeatRequest& request) {
  WorkerReport report;
  report.worker_id = request.worker_id();
  report.figures.activity = request.activity();
  report.figures.counters = ToMap(request.counters());
  report.figures.gauges = ToMap(request.gauges());
  report.figures.taken_at = absl::Microseconds(request.taken_at_us());
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
  report.failure = request.failure();
  return report;
}

v1::WorkerInfo InfoOf(const WorkerView& worker) {
  v1::WorkerInfo info;
  info.set_worker_id(worker.introduction.worker_id);
  info.set_role(ToProto(worker.introduction.role));
  info.set_index(static_cast<uint32_t>(worker.index));
  info.set_address(worker.introduction.address);
  info.set_process_id(worker.introduction.process_id);
  info.set_host(worker.introduction.host);
  info.set_joined_at_us(absl::ToUnixMicros(worker.joined));
  info.set_silent_ms(absl::ToInt64Milliseconds(worker.silent));
  info.set_activity(worker.figures.activity);
  info.mutable_counters()->insert(worker.figures.counters.begin(), worker.figures.counters.end());
  info.mutable_gauges()->insert(worker.figures.gauges.begin(), worker.figures.gauges.end());
  info.mutable_rates()->insert(worker.rates.begin(), worker.rates.end());
  info.set_alive(worker.alive);
  info.set_gone(worker.gone);
  info.set_failure(worker.failure);
  return info;
}

void Fill(const HubOverview& overview, v1::OverviewResponse* response) {
  response->set_run_state(ToProto(overview.run_state));
  response->set_outcome_reason(overview.outcome_reason);
  response->set_experiment_name(overview.experiment_name);
  response->set_experiment_yaml(overview.experiment_yaml);
  response->set_started_at_us(overview.started.has_value() ? absl::ToUnixMicros(*overview.started) : 0);
  for (const WorkerView& worker : overview.workers) {
    *response->add_workers() = InfoOf(worker);
  }
  response->set_model(overview.model);
  if (overview.model_version.has_value()) {
    *response->mutable_model_version() = ToProto(*overview.model_version);
  }
  response->set_model_bytes(overview.model_bytes);
  for (const DatedEvaluation& dated : overview.evaluations) {
    v1::Evaluation* const evaluation = response->add_evaluations();
    *evaluation = ToProto(dated.evaluation);
    evaluation->set_finished_at_us(absl::ToUnixMicros(dated.finished));
  }
  response->set_env_steps(overview.env_steps);
  response->set_learner_steps(overview.learner_steps);
  if (overview.environment.has_value()) {
    *response->mutable_environment() = ToProto(*overview.environment);
  }
  response->set_software_version(kVersion);
  if (overview.result.has_value()) {
    *response->mutable_result() = ToProto(*overview.result);
  }
  response->set_weights_unsaved(overview.weights_unsaved);
  const Figures figures = RunFigures(overview);
  response->mutable_figures()->insert(figures.begin(), figures.end());
  response->set_figures_unrecorded(overview.figures_unrecorded);
  if (overview.turn.has_value()) {
    *response->mutable_turn() = ToProto(*overview.turn);
  }
}

// Sends a worker's assignment whenever there is news for it.
class AssignmentSource final : public WriteSource {
 public:
  AssignmentSource(Hub* hub, std::string worker_id) : hub_(hub), worker_id_(std::move(worker_id)) {}

  void OnOpen(std::function<void()> wake) override { subscription_ = hub_->Watch(std::move(wake)); }

  Step Next() override {
    const absl::StatusOr<std::optional<Assignment>> news = hub_->News(worker_id_, &seen_);
    if (!news.ok()) {
      return {std::nullopt, news.status()};
    }
    if (!news->has_value()) {
      return {};
    }
    return {EncodeMessage(ToProto(**news), ByteSlices()), std::nullopt};
  }

 private:
  Hub* const hub_;
  const std::string worker_id_;
  std::optional<int64_t> seen_;
  std::unique_ptr<Listeners::Subscription> subscription_;
};

}  // namespace

WorkerService::WorkerService(Hub* hub, absl::Duration heartbeat_interval)
    : hub_(hub), heartbeat_interval_(heartbeat_interval), joins_("joins", 1, kMaxJoins) {}

grpc::ServerUnaryReactor* WorkerService::Join(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  v1::JoinRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  const absl::StatusOr<WorkerIntroduction> introduction = IntroductionOf(decoded);
  if (!introduction.ok()) {
    return FinishUnary(context, introduction.status());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto join = [this, introduction = *introduction, response, reactor] {
    v1::JoinResponse answer;
    const absl::Status status = Join(introduction, &answer);
    *response = EncodeMessage(answer, ByteSlices());
    reactor->Finish(ToGrpcStatus(status));
  };
  if (introduction->role == Role::kReplayServer) {
    join();
  } else if (!joins_.Submit(join).ok()) {
    reactor->Finish(ToGrpcStatus(
        absl::UnavailableError(absl::StrCat("this server is busy with ", kMaxJoins, " others that join"))));
  }
  return reactor;
}

absl::Status WorkerService::Join(const WorkerIntroduction& introduction, v1::JoinResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const Hub::Seat seat, hub_->Join(introduction));
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
  WAGGLE_ASSIGN_OR_RETURN(const WorkerReport report, ReportOf(request));
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment, hub_->Heartbeat(report));
  *response->mutable_assignment() = ToProto(assignment);
  response->set_experiment_known(request.experiment_checksum() == hub_->experiment_checksum());
  if (!response->experiment_known()) {
    response->mutable_assignment()->set_experiment_yaml(hub_->experiment_yaml());
  }
  return absl::OkStatus();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* WorkerService::Watch(grpc::CallbackServerContext* /*context*/,
                                                                 const grpc::ByteBuffer* request) {
  v1::WatchWorkerRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
  }
  return new WriteReactor(std::make_unique<AssignmentSource>(hub_, decoded.worker_id()));
}

grpc::ServerUnaryReactor* WorkerService::TakeSteps(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::TakeStepsRequest, v1::TakeStepsResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::TakeStepsRequest& decoded, v1::TakeStepsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const int64_t allowed, hub_->TakeSteps(decoded.worker_id(), FromProto(decoded)));
        answer->set_allowed(static_cast<uint64_t>(allowed));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* WorkerService::Leave(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return AnswerUnary<v1::LeaveRequest, v1::LeaveResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::LeaveRequest& decoded, v1::LeaveResponse* /*answer*/) {
        hub_->Leave(decoded.worker_id());
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* WorkerService::Overview(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerUnary<v1::OverviewRequest, v1::OverviewResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::OverviewRequest& /*decoded*/, v1::OverviewResponse* answer) {
        Fill(hub_->Overview(), answer);
        return absl::OkStatus();
      });
}

}  // namespace waggle
