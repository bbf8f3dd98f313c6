#include "actor/environments/rpc/environment_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/rpc/served_properties.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

constexpr size_t kMaxExtensionBytes = size_t{64} << 10;

absl::Status NotJoined() {
  return absl::FailedPreconditionError("no world has been joined; wanted join_world before");
}

}  // namespace

EnvironmentSession::~EnvironmentSession() {
  Leave();
}

void EnvironmentSession::OnMessage(Message<dm::EnvironmentRequest> message) {
  Message<dm::EnvironmentResponse> response;
  if (const absl::Status status = Answer(message, &response.header); !status.ok()) {
    dm::ErrorStatus* const error = response.header.mutable_error();
    error->set_code(static_cast<int32_t>(status.code()));
    error->set_message(AsUtf8(status.message()));
  }
  // No request is read until the response is sent, so a client must read its responses.
  peer_->Send(std::move(response), [peer = peer_] { peer->RequestNext(); });
}

absl::Status EnvironmentSession::Answer(const Message<dm::EnvironmentRequest>& message,
                                        dm::EnvironmentResponse* response) {
  const dm::EnvironmentRequest& request = message.header;
  if (message.data.size() > 0) {
    if (message.data.size() > kMaxExtensionBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("extension: got ", message.data.size(), " bytes; wanted at most ", kMaxExtensionBytes));
    }
    std::string bytes(message.data.size(), '\0');
    message.data.CopyTo(bytes.data());
    return Extension(bytes, response->mutable_extension());
  }
  switch (request.payload_case()) {
    case dm::EnvironmentRequest::kCreateWorld: {
      WAGGLE_ASSIGN_OR_RETURN(const std::string name, worlds_->CreateWorld(request.create_world().settings()));
      response->mutable_create_world()->set_world_name(name);
      return absl::OkStatus();
    }
    case dm::EnvironmentRequest::kJoinWorld:
      return Join(request.join_world(), response->mutable_join_world());
    case dm::EnvironmentRequest::kStep:
      return Step(request.step(), response->mutable_step());
    case dm::EnvironmentRequest::kReset:
      return Reset(request.reset(), response->mutable_reset());
    case dm::EnvironmentRequest::kResetWorld:
      response->mutable_reset_world();
      return ResetWorld(request.reset_world());
    case dm::EnvironmentRequest::kLeaveWorld:
      response->mutable_leave_world();
      Leave();
      return absl::OkStatus();
    case dm::EnvironmentRequest::kDestroyWorld:
      response->mutable_destroy_world();
      return worlds_->Destroy(request.destroy_world().world_name());
    default:
      return absl::InvalidArgumentError("got a request without a payload; wanted one");
  }
}

absl::Status EnvironmentSession::Join(const dm::JoinWorldRequest& request, dm::JoinWorldResponse* response) {
  if (member_ != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the world \"", member_->world_name, "\" has been joined; wanted leave_world before"));
  }
  WAGGLE_ASSIGN_OR_RETURN(member_, worlds_->Join(request.world_name(), request.settings()));
  *response->mutable_specs() = member_->environment->specs();
  return absl::OkStatus();
}

absl::Status EnvironmentSession::Step(const dm::StepRequest& request, dm::StepResponse* response) {
  if (member_ == nullptr) {
    return NotJoined();
  }
  const bool interrupted = member_->interrupted.exchange(false, std::memory_order_relaxed);
  const absl::Status status = member_->environment->Step(request, interrupted, response);
  if (interrupted && !status.ok()) {
    member_->interrupted.store(true, std::memory_order_relaxed);
  }
  return status;
}

absl::Status EnvironmentSession::Reset(const dm::ResetRequest& request, dm::ResetResponse* response) {
  if (member_ == nullptr) {
    return NotJoined();
  }
  if (!request.settings().empty()) {
    WAGGLE_RETURN_IF_ERROR(worlds_->Remake(request.settings(), member_.get()));
  }
  member_->environment->EndSequence();
  *response->mutable_specs() = member_->environment->specs();
  return absl::OkStatus();
}

absl::Status EnvironmentSession::ResetWorld(const dm::ResetWorldRequest& request) {
  if (!request.settings().empty()) {
    return absl::InvalidArgumentError(
        "settings: got some; wanted none, because a world's are given when it is created");
  }
  WAGGLE_RETURN_IF_ERROR(worlds_->Interrupt(request.world_name(), member_.get()));
  if (member_ != nullptr && member_->world_name == request.world_name()) {
    member_->environment->EndSequence();
  }
  return absl::OkStatus();
}

absl::Status EnvironmentSession::Extension(const std::string& bytes, google::protobuf::Any* response) const {
  google::protobuf::Any request;
  if (!request.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("extension: got bytes that do not parse; wanted a google.protobuf.Any");
  }
  return AnswerProperty(request, worlds_->properties(), response);
}

void EnvironmentSession::Leave() {
  if (member_ != nullptr) {
    worlds_->Leave(member_);
    member_ = nullptr;
  }
}

}  // namespace waggle
