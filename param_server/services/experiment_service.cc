#include "param_server/services/experiment_service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"
#include "common/net/raw_codec.h"
#include "common/net/security/audit.h"
#include "common/net/security/security.h"
#include "common/net/status_convert.h"
#include "common/net/unary_method.h"
#include "common/net/write_reactor.h"

namespace waggle {
namespace {

constexpr int kWaiters = 4;
constexpr size_t kMaxWaiting = 1'000;
constexpr int64_t kMaxListed = 1'000;
// A thousand members have 5 MB or so.
constexpr size_t kMaxSubmissionBytes = size_t{32} << 20;

// INVALID_ARGUMENT for a wrong state or token.
absl::StatusOr<ExperimentQuery> FromProto(const v1::ListExperimentsRequest& request) {
  ExperimentQuery query;
  query.limit = std::min<int64_t>(request.limit() == 0 ? query.limit : request.limit(), kMaxListed);
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &query.before)) {
    return absl::InvalidArgumentError(absl::StrCat("page_token: got \"", absl::CHexEscape(request.page_token()),
                                                   "\"; wanted the next_page_token of an answer"));
  }
  for (const int state : request.states()) {
    WAGGLE_ASSIGN_OR_RETURN(const RunState known, waggle::FromProto(static_cast<v1::RunState>(state)));
    query.states.insert(known);
  }
  query.group = request.group();
  query.tags.assign(request.tags().begin(), request.tags().end());
  query.owner = request.owner();
  query.name = request.name();
  query.fold_groups = request.fold_groups();
  return query;
}

Submission FromProto(const v1::SubmitRequest& request) {
  Submission submission{request.submitted_yaml(), request.effective_yaml(), request.priority(), request.request_id()};
  for (const v1::SubmitRequest::Member& member : request.members()) {
    submission.members.push_back({member.effective_yaml(), {member.settings().begin(), member.settings().end()}});
  }
  submission.tags.assign(request.tags().begin(), request.tags().end());
  submission.owner = request.owner();
  return submission;
}

// Logs a change, and returns its result.
absl::Status Audited(const char* what, const std::string& id, absl::Status result) {
  LogAudit(what, id, result);
  return result;
}

// Sends an experiment after each change of its state.
class ExperimentSource final : public WriteSource {
 public:
  ExperimentSource(ExperimentHost* host, std::string id) : host_(host), id_(std::move(id)) {}

  void OnOpen(std::function<void()> wake) override { subscription_ = host_->Watch(std::move(wake)); }

  Step Next() override {
    const absl::StatusOr<v1::ExperimentInfo> info = host_->Get(id_);
    if (!info.ok()) {
      return {std::nullopt, info.status()};
    }
    if (sent_ == info->state()) {
      return {};
    }
    sent_ = info->state();
    Step step;
    step.message = EncodeMessage(*info, ByteSlices());
    if (IsOver(*waggle::FromProto(sent_))) {
      step.end = absl::OkStatus();
    }
    return step;
  }

 private:
  ExperimentHost* const host_;
  const std::string id_;
  v1::RunState sent_ = v1::RUN_STATE_UNSPECIFIED;
  std::unique_ptr<Listeners::Subscription> subscription_;
};

}  // namespace

ExperimentService::ExperimentService(ExperimentHost* host)
    : host_(host),
      waiters_("experiment-calls", kWaiters, kMaxWaiting),
      closers_("closing-calls", kWaiters, kMaxWaiting) {}

grpc::ServerUnaryReactor* ExperimentService::Submit(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  // Quotas are those of the caller, not of the name in the request. Admins, and callers without a name, may name
  // another.
  const Caller caller = ProcessSecurity().CallerOf(*context);
  const std::string owner = caller.roles.Has(AccessRole::kAdmin) ? "" : caller.name;
  return AnswerLater<v1::SubmitRequest, v1::SubmitResponse>(
      &waiters_, context, *request, response, kMaxSubmissionBytes,
      [this, owner](const v1::SubmitRequest& decoded, v1::SubmitResponse* answer) -> absl::Status {
        Submission submission = FromProto(decoded);
        submission.owner = owner.empty() ? submission.owner : owner;
        const absl::StatusOr<std::vector<std::string>> submitted = host_->Submit(submission);
        LogAudit("submit", submitted.ok() ? absl::StrJoin(*submitted, ", ") : "", submitted.status());
        WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> ids, submitted);
        answer->set_id(ids.front());
        if (const absl::StatusOr<v1::ExperimentInfo> first = host_->Get(ids.front());
            first.ok() && !first->group().empty()) {
          answer->set_group(first->group());
          answer->mutable_members()->Add(ids.begin(), ids.end());
        }
        for (std::string& warning : host_->Impossible(ids)) {
          answer->add_warnings(std::move(warning));
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerUnary<v1::ListExperimentsRequest, v1::ListExperimentsResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::ListExperimentsRequest& decoded, v1::ListExperimentsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const ExperimentQuery query, FromProto(decoded));
        *answer = host_->List(query);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Get(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  const auto fill = [host = host_](const std::string& id, const ExperimentTexts& texts,
                                   v1::ExperimentInfo* answer) -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(*answer, host->Get(id));
    answer->set_submitted_yaml(texts.submitted_yaml);
    answer->set_effective_yaml(texts.effective_yaml);
    return absl::OkStatus();
  };
  v1::GetExperimentRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  // The status of a running experiment must not wait behind submissions, which wait for the disk.
  if (const std::shared_ptr<const ExperimentTexts> texts = host_->TextsOfRunning(decoded.id()); texts != nullptr) {
    return AnswerUnary<v1::GetExperimentRequest, v1::ExperimentInfo>(
        context, *request, response, kMaxUnaryBytes,
        [&](const v1::GetExperimentRequest& asked, auto* answer) { return fill(asked.id(), *texts, answer); });
  }
  return AnswerLater<v1::GetExperimentRequest, v1::ExperimentInfo>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this, fill](const v1::GetExperimentRequest& asked, v1::ExperimentInfo* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, host_->Texts(asked.id()));
        return fill(asked.id(), texts, answer);
      });
}

grpc::ServerUnaryReactor* ExperimentService::Stop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerLater<v1::StopExperimentRequest, v1::ExperimentInfo>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::StopExperimentRequest& decoded, v1::ExperimentInfo* answer) -> absl::Status {
        WAGGLE_RETURN_IF_ERROR(Audited("stop", decoded.id(), host_->Stop(decoded.id())));
        WAGGLE_ASSIGN_OR_RETURN(*answer, host_->Get(decoded.id()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Resume(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerLater<v1::ResumeExperimentRequest, v1::ExperimentInfo>(
      &closers_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::ResumeExperimentRequest& decoded, v1::ExperimentInfo* answer) -> absl::Status {
        SettingValues limits;
        for (const v1::SetNumbersRequest::Number& limit : decoded.limits()) {
          limits.emplace_back(limit.key(), limit.value());
        }
        WAGGLE_RETURN_IF_ERROR(Audited("resume", decoded.id(), host_->Resume(decoded.id(), limits, decoded.cut())));
        WAGGLE_ASSIGN_OR_RETURN(*answer, host_->Get(decoded.id()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Checkpoint(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::CheckpointExperimentRequest, v1::CheckpointExperimentResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::CheckpointExperimentRequest& decoded, v1::CheckpointExperimentResponse* answer) -> absl::Status {
        const absl::StatusOr<uint64_t> number = host_->BeginCut(decoded.id());
        LogAudit("make a cut of", decoded.id(), number.status());
        WAGGLE_RETURN_IF_ERROR(number.status());
        answer->set_number(*number);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Cuts(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerLater<v1::CutsRequest, v1::CutsResponse>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::CutsRequest& decoded, v1::CutsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(*answer, host_->Cuts(decoded.id()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::SetPriority(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerLater<v1::SetPriorityRequest, v1::ExperimentInfo>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::SetPriorityRequest& decoded, v1::ExperimentInfo* answer) -> absl::Status {
        WAGGLE_RETURN_IF_ERROR(
            Audited("set the priority of", decoded.id(), host_->SetPriority(decoded.id(), decoded.priority())));
        WAGGLE_ASSIGN_OR_RETURN(*answer, host_->Get(decoded.id()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Resolve(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::ResolveRequest, v1::ResolveResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::ResolveRequest& decoded, v1::ResolveResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(*answer, host_->Resolve(decoded.word()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Set(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return AnswerLater<v1::SetNumbersRequest, v1::SetNumbersResponse>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::SetNumbersRequest& decoded, v1::SetNumbersResponse* answer) -> absl::Status {
        std::vector<std::pair<std::string, std::string>> numbers;
        for (const v1::SetNumbersRequest::Number& number : decoded.numbers()) {
          numbers.emplace_back(number.key(), number.value());
        }
        const absl::StatusOr<std::vector<SettingChange>> set = host_->Set(decoded.id(), numbers, decoded.dry_run());
        LogAudit(decoded.dry_run() ? "try to set numbers of" : "set numbers of", decoded.id(), set.status());
        WAGGLE_ASSIGN_OR_RETURN(const std::vector<SettingChange> changes, set);
        for (const SettingChange& change : changes) {
          v1::SetNumbersResponse::Change* const proto = answer->add_changes();
          proto->set_key(change.key);
          proto->set_from(change.from);
          proto->set_to(change.to);
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Delete(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerLater<v1::DeleteExperimentRequest, v1::DeleteExperimentResponse>(
      &closers_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::DeleteExperimentRequest& decoded, v1::DeleteExperimentResponse* /*answer*/) {
        return Audited("delete", decoded.id(), host_->Delete(decoded.id()));
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ExperimentService::Watch(grpc::CallbackServerContext* /*context*/,
                                                                     const grpc::ByteBuffer* request) {
  v1::WatchExperimentRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
  }
  return new WriteReactor(std::make_unique<ExperimentSource>(host_, decoded.id()));
}

grpc::ServerUnaryReactor* ExperimentService::Events(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerLater<v1::EventsRequest, v1::EventsResponse>(
      &waiters_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::EventsRequest& decoded, v1::EventsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const std::vector<ExperimentEvent> events,
                                host_->Events(decoded.id(), decoded.after()));
        for (const ExperimentEvent& event : events) {
          v1::ExperimentEvent* const proto = answer->add_events();
          proto->set_number(event.number);
          proto->set_at_us(absl::ToUnixMicros(event.at));
          proto->set_text(event.text);
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ExperimentService::Pool(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerUnary<v1::PoolRequest, v1::PoolResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::PoolRequest& /*decoded*/, v1::PoolResponse* answer) {
        for (v1::PoolMember& member : host_->Members()) {
          *answer->add_members() = std::move(member);
        }
        answer->set_software_version(kVersion);
        return absl::OkStatus();
      });
}

}  // namespace waggle
