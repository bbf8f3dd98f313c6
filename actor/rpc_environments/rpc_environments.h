#pragma once

#include <grpcpp/channel.h>
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
#include "actor/ready_rows.h"
#include "actor/rpc_environments/rpc_answer.h"
#include "actor/rpc_environments/rpc_session.h"
#include "actor/vector_environment.h"
#include "common/base/stop_token.h"

namespace waggle {

struct RpcEnvironmentsOptions {
  struct Server {
    std::string address;  // For messages.
    std::shared_ptr<grpc::Channel> channel;
  };
  std::vector<Server> servers;  // Streams are spread over them by turns.
  RpcSessionOptions session;    // The settings of each stream, but for its lanes and seed.
  int64_t lanes = 1;
  int64_t batch = 0;         // Lanes of a stream, which its server steps together; 0: one, by itself.
  bool seeds_world = false;  // Each stream's world has a seed of its own, as the setting "seed".
  bool seeds_join = false;   // Each stream's join has.
  bool in_order = false;     // See LaneOptions.
  uint64_t seed = 0;         // Each stream's follows from it.
  absl::Duration open_patience = absl::Seconds(20);      // How long the first streams may find no server.
  absl::Duration open_timeout = absl::Minutes(2);        // From a stream's first message until it can step.
  absl::Duration answer_timeout = absl::Minutes(1);      // For an answer to a step.
  absl::Duration first_retry = absl::Milliseconds(500);  // Before a stream is opened again; doubles.
  absl::Duration max_retry = absl::Seconds(30);
  int64_t max_failures = 10;  // So many of one stream, with fewer than kProvenAnswers between, end the run.
};

// Environments of servers that speak dm_env_rpc, each lane, or each batch of lanes, by a stream of its own; all are
// under way at once. A stream that is lost, is silent for too long or answers what cannot be is opened again, while the
// others go on; the episodes of its lanes end as truncated by the last rows that it showed, with rewards of 0. What a
// server announces is checked before memory is taken. One thread.
class RpcEnvironments final : public VectorEnvironment {
 public:
  // Answers of a stream in a row after which it has shown that it works.
  static constexpr int64_t kProvenAnswers = 100;

  // Opens the streams and waits until all can step. INVALID_ARGUMENT for an environment that cannot be had; UNAVAILABLE
  // if a server is not there; CANCELLED after a stop.
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

  // The changes on the way from the server, in words.
  const std::vector<std::string>& notes() const { return spec_.notes; }

 private:
  // A lane's present or next task.
  enum class Command : uint8_t { kNothing, kStep, kBegin };
  // A stream and its lanes.
  struct Group {
    size_t number = 0;
    int64_t first_lane = 0;
    std::vector<Command> wanted;          // By lane of the group: what it is to do next.
    std::vector<Command> told;            // While a step is under way: what its lanes do.
    bool running = false;                 // A step is under way, or its rows are not taken yet.
    bool answered = false;                // Its rows are not taken yet.
    bool begins = false;                  // It begins new sequences in all lanes.
    bool in_sequence = false;             // The server's state is RUNNING.
    std::unique_ptr<RpcSession> session;  // Null until it is opened again.
    // The last one that could step and is lost: it has what its lanes showed last.
    std::unique_ptr<RpcSession> lost;
    bool ready = false;      // It can step.
    absl::Time acts_at;      // When it is late, or, without a session, to be opened.
    std::string world_name;  // The world that was created for it last.
    int64_t opened = 0;      // How often.
    int64_t failures = 0;    // In a row.
    int64_t answers = 0;     // Since it was opened.
  };
  // A row that was read and is not shown yet.
  struct TakenRow {
    int64_t lane = 0;
    StepType step_type = StepType::kMid;
    float discount = 1;
  };

  explicit RpcEnvironments(RpcEnvironmentsOptions options);

  absl::Status AwaitFirstSpecs(const StopToken& stop);
  // Takes all events that there are; waits for the first of them, at most so long.
  absl::Status Poll(absl::Duration timeout);
  absl::Status TakeEvent(const RpcStream::Operation& operation, bool ok);
  // Opens the streams whose time has come, and gives up those that are late.
  absl::Status LookAtTimes();
  void Open(Group* group);
  absl::Status BecomeReady(Group* group);
  absl::Status TakeFirstSpec(const RpcSpec& spec);
  // Takes the rows of all streams in order, if none is under way any more.
  absl::Status TakeAllInOrder();
  absl::Status TakeRows(Group* group);
  // The lane's row of the answer, the next after those of taken_.
  absl::StatusOr<TakenRow> ReadRowOf(const Group& group, int64_t lane);
  // INTERNAL for a state or a step type that cannot follow.
  absl::StatusOr<TakenRow> KindOf(const Group& group, int64_t lane, const RpcRow& row) const;
  // Steps a stream that is idle and whose lanes all have something to do.
  void RunIfDue(Group* group);
  // An error is final.
  absl::Status Lose(Group* group, const absl::Status& why);
  // Ends a stream whose loss is final.
  void GiveUp(Group* group, const absl::Status& why);
  // The lanes of a stream that is lost: episodes under way end.
  void EndLanes(Group* group);
  // The lane's episode ends with what it showed last.
  void EndEpisode(const Group& group, size_t row);
  // Keeps a session until its last event has come.
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
  std::vector<TakenRow> taken_;      // By TakeRows.
  std::vector<uint8_t> ended_;       // By lane: its stream was lost while it waited for an action.
  std::unique_ptr<ReadyRows> rows_;  // Null until all streams could step once.
  EnvironmentHealth health_;
};

}  // namespace waggle
