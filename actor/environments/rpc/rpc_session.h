#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/rpc/rpc_settings.h"
#include "actor/environments/rpc/rpc_spec.h"
#include "actor/environments/rpc/rpc_stream.h"

namespace waggle {

struct RpcSessionOptions {
  bool creates_world = true;  // Else it joins an existing world.
  RpcSettings world;          // The new world's settings.
  std::string world_name;     // An existing world, or one that an earlier session has left behind.
  RpcSettings join;
  CallMetadata metadata;
  RpcSpecOptions spec;
};

// The protocol on one stream that steps one or more lanes: a world is created and joined, then stepped. One thread.
class RpcSession {
 public:
  enum class News { kNothing, kJoined, kAnswered };

  // Requests the world at once. `group` is the owner's number of the session.
  RpcSession(RpcSessionOptions options, const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue* queue,
             size_t group);
  // The session of an operation in a queue's event.
  static RpcSession* Of(const RpcStream::Operation& operation) {
    return static_cast<RpcSession*>(operation.stream->owner());
  }
  size_t group() const { return group_; }

  // Handles an event of its stream. No request may follow an error: INVALID_ARGUMENT if the environment cannot be
  // opened, FAILED_PRECONDITION if it has changed, else the stream's error or that of a wrong answer. The message may
  // contain any text of the server.
  absl::StatusOr<News> Take(const RpcStream::Operation& operation, bool ok);

  bool is_joined() const { return spec_.has_value(); }
  // True if this session created the world of world_name().
  bool has_created() const { return has_created_; }
  const RpcSpec& spec() const { return *spec_; }
  const std::string& world_name() const { return world_name_; }

  // Sets the actions of lane `row` of the stream: row `action_row` of an array [rows, …] for each action leaf, as a
  // policy chose them.
  void SetActions(int64_t row, absl::Span<const void* const> actions, size_t action_row);
  // Steps with these actions.
  void Step();
  // Requests the first step of new sequences in all lanes. `reset`: requests a reset before it.
  void Begin(bool reset);

  // The newest answer to a step.
  const dm::StepResponse& answer() const { return answer_; }
  // Moves answer() to shown().
  void Accept();
  const dm::StepResponse* shown() const { return has_shown_ ? &shown_ : nullptr; }

  // Leaves the world, destroys it if it was created here, then ends the stream.
  void Leave();
  // Ends the stream and drops further messages.
  void Cancel();
  // Leaves a world that it created or joined; else cancels.
  void LeaveOrCancel() { is_joined() || has_created_ ? Leave() : Cancel(); }
  bool has_ended() const { return stream_.has_ended(); }

 private:
  using Kind = dm::EnvironmentRequest::PayloadCase;

  void Send(const dm::EnvironmentRequest& request);
  void Join();
  absl::StatusOr<News> TakeMessage();
  absl::StatusOr<News> TakeResponse(Kind kind);
  absl::Status TakeSpecs(const dm::ActionObservationSpecs& specs);
  void PrepareRequests();

  const RpcSessionOptions options_;
  const size_t group_;
  RpcStream stream_;
  std::deque<Kind> expected_;  // Unanswered requests.
  std::string world_name_;
  bool has_created_ = false;
  std::optional<RpcSpec> spec_;
  dm::EnvironmentRequest first_;  // A step without actions.
  dm::EnvironmentRequest step_;
  std::vector<dm::Tensor*> actions_;      // In `step_`.
  std::vector<int64_t> action_elements_;  // In one lane.
  std::vector<int64_t> action_bytes_;
  std::vector<std::vector<float>> scaled_;  // One lane's action, if it is scaled.
  dm::EnvironmentResponse response_;
  dm::StepResponse answer_;
  dm::StepResponse shown_;
  bool has_shown_ = false;
  bool is_cancelled_ = false;
};

}  // namespace waggle
