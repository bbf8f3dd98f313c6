#pragma once

#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/environments/restarts.h"
#include "actor/environments/rpc/rpc_answer.h"
#include "actor/environments/rpc/rpc_environments_options.h"
#include "actor/environments/rpc/rpc_session.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/ready_rows.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Environments of dm_env_rpc servers. Each lane, or each batch of lanes, has a stream of its own; all step at once. A
// stream that is lost, is silent for too long or sends a wrong answer is reopened, while the others continue. The
// episodes of its lanes are truncated at the last rows that it showed, with rewards of 0. Sizes that a server announces
// are checked before memory is taken. One thread.
class RpcEnvironments final : public VectorEnvironment {
 public:
  // Opens the streams and waits until all are ready. INVALID_ARGUMENT if the environment cannot be opened; UNAVAILABLE
  // if a server cannot be reached; CANCELLED after a stop.
  static absl::StatusOr<std::unique_ptr<RpcEnvironments>> Create(RpcEnvironmentsOptions options, const StopToken& stop);
  // Leaves the worlds; does not wait long for servers that are silent.
  ~RpcEnvironments() override;

  const EnvironmentSpec& spec() const override { return spec_.environment; }
  int64_t lanes() const override { return options_.lanes; }
  bool lanes_step_together() const override { return options_.batch > 0; }
  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;
  EnvironmentHealth health() const override { return health_; }

  // The conversions of the server's data, in words.
  const std::vector<std::string>& notes() const { return spec_.notes; }

 private:
  // A lane's present or next command.
  enum class Command : uint8_t { kNothing, kStep, kBegin };
  // A stream and its lanes.
  struct Group {
    size_t number = 0;
    int64_t first_lane = 0;
    std::vector<Command> wanted;          // By lane of the group: its next command.
    std::vector<Command> told;            // While a step is under way: its lanes' commands.
    bool running = false;                 // A step is under way, or its rows are not taken yet.
    bool answered = false;                // Its rows are not taken yet.
    bool begins = false;                  // The step begins new sequences in all lanes.
    bool in_sequence = false;             // The server's state is RUNNING.
    std::unique_ptr<RpcSession> session;  // Null until it is reopened.
    // The last lost session that was ready: it has its lanes' last rows.
    std::unique_ptr<RpcSession> lost;
    bool ready = false;      // It has joined its world.
    absl::Time acts_at;      // The deadline of an answer, or, without a session, of the reopening.
    std::string world_name;  // The world created for it last.
    Restarts restarts;
  };
  // A row that was read and is not shown yet.
  struct TakenRow {
    int64_t lane = 0;
    RpcStep step;
  };

  explicit RpcEnvironments(RpcEnvironmentsOptions options);

  absl::Status AwaitFirstSpecs(const StopToken& stop);
  // Handles all events that there are; waits up to `timeout` for the first.
  absl::Status Poll(absl::Duration timeout);
  absl::Status TakeEvent(const RpcStream::Operation& operation, bool ok);
  // Opens the streams that are due, and gives up those past their deadline.
  absl::Status LookAtTimes();
  void Open(Group* group);
  absl::Status BecomeReady(Group* group);
  absl::Status TakeFirstSpec(const RpcSpec& spec);
  // Takes the rows of all streams in order, once none is under way.
  absl::Status TakeAllInOrder();
  absl::Status TakeRows(Group* group);
  // Reads the lane's row of the answer, the next after those in taken_.
  absl::StatusOr<TakenRow> ReadRowOf(const Group& group, int64_t lane);
  // Steps a stream that is idle and whose lanes all have a next command.
  void RunIfDue(Group* group);
  // Handles a stream's failure. A returned error is final.
  absl::Status Lose(Group* group, const absl::Status& why);
  // Ends a stream whose loss is final.
  void GiveUp(Group* group, const absl::Status& why);
  // Ends the episodes under way in a lost stream's lanes.
  void EndLanes(Group* group);
  // Truncates the lane's episode at the row that it showed last.
  void EndEpisode(const Group& group, size_t row);
  // Keeps a session until its last event.
  void Retire(std::unique_ptr<RpcSession> session);

  Group& GroupOf(int64_t lane) { return groups_[static_cast<size_t>(lane / lanes_a_group_)]; }
  size_t RowOf(int64_t lane) const { return static_cast<size_t>(lane % lanes_a_group_); }
  const std::string& AddressOf(const Group& group) const {
    return options_.servers[group.number % options_.servers.size()].address;
  }

  const RpcEnvironmentsOptions options_;
  const int64_t lanes_a_group_;
  const absl::Time created_at_;
  grpc::CompletionQueue queue_;
  RpcSpec spec_;
  bool have_spec_ = false;
  absl::Time looks_at_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<RpcSession>> retired_;
  std::vector<TakenRow> taken_;      // Used by TakeRows.
  std::vector<uint8_t> ended_;       // By lane: its stream was lost while it waited for an action.
  std::unique_ptr<ReadyRows> rows_;  // Null until all streams were ready once.
  EnvironmentHealth health_;
};

}  // namespace waggle
