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
#include "actor/rpc_environments/rpc_settings.h"
#include "actor/rpc_environments/rpc_spec.h"
#include "actor/rpc_environments/rpc_stream.h"

namespace waggle {

struct RpcSessionOptions {
  bool creates_world = true;  // Else it joins one that is there.
  RpcSettings world;          // The settings that it is created with.
  std::string world_name;     // A world that is there, or that an earlier session has left behind.
  RpcSettings join;
  CallMetadata metadata;
  RpcSpecOptions spec;
};

// The protocol on one stream, by which one or more lanes are stepped: a world is created and joined, and then each step
// is answered. One thread.
class RpcSession {
 public:
  enum class News { kNothing, kJoined, kAnswered };

  // Asks for the world at once. `group` is what its owner knows it by.
  RpcSession(RpcSessionOptions options, const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue* queue,
             size_t group);
  // The session of an operation, which an event of the queue has.
  static RpcSession* Of(const RpcStream::Operation& operation) {
    return static_cast<RpcSession*>(operation.stream->owner());
  }
  size_t group() const { return group_; }

  // Takes an event of its stream. After an error nothing more may be asked for: INVALID_ARGUMENT for an environment
  // that cannot be had, FAILED_PRECONDITION for one that has changed, else what has become of the server or what it has
  // answered wrongly. The message may have any text of the server's in it.
  absl::StatusOr<News> Take(const RpcStream::Operation& operation, bool ok);

  bool is_joined() const { return spec_.has_value(); }
  // The server has the world of world_name() from here.
  bool has_created() const { return has_created_; }
  const RpcSpec& spec() const { return *spec_; }
  const std::string& world_name() const { return world_name_; }

  // Sets the actions of lane `row` of the stream: row `action_row` of an array [rows, …] for each action leaf, as a
  // policy chose them.
  void SetActions(int64_t row, absl::Span<const void* const> actions, size_t action_row);
  // Steps by them.
  void Step();
  // Begins new sequences in all lanes, after a reset unless none is under way.
  void Begin(bool reset);

  // The newest answer to a step.
  const dm::StepResponse& answer() const { return answer_; }
  // Its rows are shown: it is what shown() returns from now on.
  void Accept();
  const dm::StepResponse* shown() const { return has_shown_ ? &shown_ : nullptr; }

  // Leaves the world and destroys it if it was created here, and ends the stream when that is done.
  void Leave();
  // Drops all that still comes.
  void Cancel();
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
  std::deque<Kind> expected_;  // Requests that are not answered yet.
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
