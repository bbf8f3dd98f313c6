#include "actor/environments/rpc/rpc_session.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/acting/action_scaling.h"
#include "actor/environments/rpc/rpc_answer.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/status_macros.h"
#include "common/net/raw_codec.h"

namespace waggle {
namespace {

// Bytes that an answer to a step may have beside the requested arrays, for an error's text for example.
constexpr int64_t kAroundAnswer = int64_t{64} << 10;

// True if an error in place of this answer is ignored.
bool MayFail(dm::EnvironmentRequest::PayloadCase kind) {
  return kind == dm::EnvironmentRequest::kLeaveWorld || kind == dm::EnvironmentRequest::kDestroyWorld;
}

absl::Status ErrorOf(const dm::ErrorStatus& error, dm::EnvironmentRequest::PayloadCase kind) {
  const bool is_known = error.code() > 0 && error.code() <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  const auto code = is_known ? static_cast<absl::StatusCode>(error.code()) : absl::StatusCode::kUnknown;
  const std::string text = absl::StrCat("the server answers ", absl::StatusCodeToString(code), ": ", error.message());
  const bool is_set_up = kind == dm::EnvironmentRequest::kCreateWorld || kind == dm::EnvironmentRequest::kJoinWorld;
  return is_set_up ? absl::InvalidArgumentError(text) : absl::InternalError(text);
}

// A server's own codes are INTERNAL here, unless it is away or refuses the client.
absl::Status EndOf(const absl::Status& said) {
  if (said.ok()) {
    return absl::UnavailableError("the server has ended the stream");
  }
  if (absl::IsUnavailable(said) || absl::IsUnauthenticated(said) || absl::IsPermissionDenied(said)) {
    return said;
  }
  return absl::InternalError(
      absl::StrCat("the server has ended the stream by ", absl::StatusCodeToString(said.code()), ": ", said.message()));
}

bool SameUids(const std::vector<const RpcLeaf*>& a, const std::vector<const RpcLeaf*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RpcLeaf* one, const RpcLeaf* other) { return one->uid == other->uid; });
}

bool SameActionUids(const RpcSpec& a, const RpcSpec& b) {
  return std::equal(a.actions.begin(), a.actions.end(), b.actions.begin(), b.actions.end(),
                    [](const RpcLeaf& one, const RpcLeaf& other) { return one.uid == other.uid; });
}

}  // namespace

RpcSession::RpcSession(RpcSessionOptions options, const std::shared_ptr<grpc::Channel>& channel,
                       grpc::CompletionQueue* queue, size_t group)
    : options_(std::move(options)),
      group_(group),
      stream_(channel, kProcessMethod, options_.metadata, queue, this),
      world_name_(options_.world_name) {
  dm::EnvironmentRequest request;
  if (!options_.creates_world) {
    Join();
    return;
  }
  if (!world_name_.empty()) {  // A server may have room for one world only.
    request.mutable_destroy_world()->set_world_name(world_name_);
    Send(request);
  }
  *request.mutable_create_world()->mutable_settings() = options_.world;
  Send(request);
}

void RpcSession::Send(const dm::EnvironmentRequest& request) {
  expected_.push_back(request.payload_case());
  stream_.Write(EncodeMessage(request, ByteSlices()));
}

void RpcSession::Join() {
  dm::EnvironmentRequest request;
  request.mutable_join_world()->set_world_name(world_name_);
  *request.mutable_join_world()->mutable_settings() = options_.join;
  Send(request);
}

absl::StatusOr<RpcSession::News> RpcSession::Take(const RpcStream::Operation& operation, bool ok) {
  switch (stream_.Take(operation, ok)) {
    case RpcStream::Event::kNothing:
      return News::kNothing;
    case RpcStream::Event::kMessage: {
      absl::StatusOr<News> news = is_cancelled_ ? News::kNothing : TakeMessage();
      stream_.ReadNext();
      return news;
    }
    case RpcStream::Event::kEnded:
      break;
  }
  return EndOf(stream_.status());
}

absl::StatusOr<RpcSession::News> RpcSession::TakeMessage() {
  if (expected_.empty()) {
    return absl::InternalError("got a response; wanted none, as nothing was asked for");
  }
  const Kind kind = expected_.front();
  expected_.pop_front();
  const auto bytes = static_cast<int64_t>(stream_.message().Length());
  const int64_t most = kind == dm::EnvironmentRequest::kStep ? spec_->answer_bytes + kAroundAnswer : kMaxSetUpBytes;
  if (bytes > most) {
    return absl::InternalError(absl::StrCat("got a response of ", bytes, " bytes; wanted at most ", most));
  }
  grpc::ProtoBufferReader reader(&stream_.message());
  if (!response_.ParseFromZeroCopyStream(&reader)) {
    return absl::InternalError("got bytes that do not parse; wanted an EnvironmentResponse");
  }
  return TakeResponse(kind);
}

absl::StatusOr<RpcSession::News> RpcSession::TakeResponse(Kind kind) {
  if (response_.payload_case() == dm::EnvironmentResponse::kError) {
    return MayFail(kind) ? absl::StatusOr<News>(News::kNothing) : ErrorOf(response_.error(), kind);
  }
  // Requests and responses have the same numbers.
  if (static_cast<int>(response_.payload_case()) != static_cast<int>(kind)) {
    return absl::InternalError(absl::StrCat("got a response of kind ", static_cast<int>(response_.payload_case()),
                                            "; wanted ", static_cast<int>(kind), ", that of the request"));
  }
  switch (kind) {
    case dm::EnvironmentRequest::kCreateWorld:
      world_name_ = response_.create_world().world_name();
      has_created_ = true;
      Join();
      return News::kNothing;
    case dm::EnvironmentRequest::kJoinWorld:
      WAGGLE_RETURN_IF_ERROR(TakeSpecs(response_.join_world().specs()));
      return News::kJoined;
    case dm::EnvironmentRequest::kReset:
      WAGGLE_RETURN_IF_ERROR(TakeSpecs(response_.reset().specs()));
      return News::kNothing;
    case dm::EnvironmentRequest::kStep:
      WAGGLE_RETURN_IF_ERROR(CheckAnswer(*spec_, response_.step()));
      answer_.Swap(response_.mutable_step());
      return News::kAnswered;
    default:
      return News::kNothing;
  }
}

absl::Status RpcSession::TakeSpecs(const dm::ActionObservationSpecs& specs) {
  WAGGLE_ASSIGN_OR_RETURN(RpcSpec spec, ReadSpecs(specs, options_.spec));
  if (!spec_.has_value()) {
    spec_ = std::move(spec);
    PrepareRequests();
    return absl::OkStatus();
  }
  // A step with the earlier uids was requested already.
  if (!spec.Matches(*spec_) || !SameUids(spec.Requested(), spec_->Requested()) || !SameActionUids(spec, *spec_)) {
    return absl::FailedPreconditionError(absl::StrCat("environment: got ", spec.environment.DebugString(),
                                                      " after a reset; wanted ", spec_->environment.DebugString()));
  }
  return absl::OkStatus();
}

void RpcSession::PrepareRequests() {
  for (const RpcLeaf* leaf : spec_->Requested()) {
    first_.mutable_step()->add_requested_observations(leaf->uid);
  }
  step_ = first_;
  for (size_t i = 0; i < spec_->actions.size(); ++i) {
    const RpcLeaf& leaf = spec_->actions[i];
    const SpaceLeaf& action = spec_->environment.actions[i];
    const int64_t elements = action.array.NumElements();
    actions_.push_back(&(*step_.mutable_step()->mutable_actions())[leaf.uid]);
    action_elements_.push_back(elements);
    action_bytes_.push_back(action.array.NumBytes());
    scaled_.emplace_back(IsScaledAction(action) ? static_cast<size_t>(elements) : 0);
    InitTensor(leaf.type, leaf.shape, actions_.back());
    // Actions that the server ignores must be within the bounds, too.
    for (int64_t element = 0; element < elements * options_.spec.lanes; ++element) {
      const int64_t own = element % elements;
      const double within = action.kind == SpaceKind::kBox ? std::clamp(0.0, action.Low(own), action.High(own)) : 0;
      const auto whole = static_cast<int64_t>(std::ceil(within));
      const auto real = static_cast<float>(within);
      const bool is_real = !IsInteger(leaf.type) && leaf.type != dm::BOOL;
      const std::vector<int64_t> start =
          leaf.starts.empty() ? leaf.starts : std::vector<int64_t>{leaf.starts[static_cast<size_t>(own)]};
      WriteElements(is_real ? DType::kFloat32 : DType::kInt64, is_real ? static_cast<const void*>(&real) : &whole,
                    leaf.type, element, 1, start, actions_.back());
    }
  }
}

void RpcSession::SetActions(int64_t row, absl::Span<const void* const> actions, size_t action_row) {
  for (size_t i = 0; i < actions_.size(); ++i) {
    const RpcLeaf& leaf = spec_->actions[i];
    const SpaceLeaf& action = spec_->environment.actions[i];
    const int64_t elements = action_elements_[i];
    const int64_t first = row * elements;
    const void* chosen = static_cast<const char*>(actions[i]) + action_row * static_cast<size_t>(action_bytes_[i]);
    if (!scaled_[i].empty()) {
      ScaleAction(action, static_cast<const float*>(chosen), scaled_[i].data());
      chosen = scaled_[i].data();
    }
    WriteElements(action.array.dtype, chosen, leaf.type, first, elements, leaf.starts, actions_[i]);
    if (leaf.type == dm::DOUBLE && !scaled_[i].empty()) {  // A float32 may be rounded past its bound.
      double* const written = actions_[i]->mutable_doubles()->mutable_array()->mutable_data() + first;
      for (int64_t element = 0; element < elements; ++element) {
        written[element] = std::clamp(written[element], action.Low(element), action.High(element));
      }
    }
  }
}

void RpcSession::Step() {
  Send(step_);
}

void RpcSession::Begin(bool reset) {
  if (reset) {
    dm::EnvironmentRequest request;
    request.mutable_reset();
    Send(request);
  }
  Send(first_);
}

void RpcSession::Accept() {
  shown_.Swap(&answer_);
  has_shown_ = true;
}

void RpcSession::Cancel() {
  is_cancelled_ = true;
  stream_.Cancel();
}

void RpcSession::Leave() {
  dm::EnvironmentRequest request;
  request.mutable_leave_world();
  Send(request);
  if (has_created_) {
    request.mutable_destroy_world()->set_world_name(world_name_);
    Send(request);
  }
  stream_.WritesDone();
}

}  // namespace waggle
