#include "actor/recording/episode_recorder.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/acting/policy_buffers.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/writing/scalar_reward.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/table_plans.h"

namespace waggle {
namespace {

constexpr int64_t kLane = 0;
// Limits of the table that a file is imported into. The server keeps 68 bytes for each item that the table may have.
constexpr int64_t kMaxItems = 10'000'000;
constexpr int64_t kMaxBytes = int64_t{1} << 40;

// Writes one lane's rows from the environment to the writer.
class Recorder {
 public:
  Recorder(VectorEnvironment* environment, Policy* policy, ActMode mode, TrajectoryWriter* writer,
           const StopToken& stop)
      : environment_(environment),
        policy_(policy),
        mode_(mode),
        writer_(writer),
        stop_(stop),
        spec_(environment->spec()),
        buffers_(*policy, spec_.actions, 1),
        observations_(ArraysOf(spec_.observations), 1),
        zeros_(spec_.rewards, 1) {}

  absl::StatusOr<EpisodeOutcomes> Run(int64_t episodes) {
    WAGGLE_RETURN_IF_ERROR(environment_->Start({kLane}));
    WAGGLE_RETURN_IF_ERROR(Receive());
    while (true) {
      WAGGLE_RETURN_IF_ERROR(RunEpisode());
      if (static_cast<int64_t>(outcomes_.returns.size()) == episodes) {
        WAGGLE_RETURN_IF_ERROR(writer_->Flush(0, stop_));
        return outcomes_;
      }
      // Any action after an episode's end begins the next one.
      WAGGLE_RETURN_IF_ERROR(environment_->Send({kLane}, buffers_.output()->actions));
      WAGGLE_RETURN_IF_ERROR(Receive());
    }
  }

 private:
  // Runs an episode from its first row, already received, to its last.
  absl::Status RunEpisode() {
    outcomes_.returns.push_back(0);
    outcomes_.lengths.push_back(0);
    while (step_type_ != static_cast<int32_t>(StepType::kLast)) {
      PolicyInput input;
      input.slots = {&kLane, 1};
      input.observations = observations_.pointers();
      input.first = &first_;
      WAGGLE_RETURN_IF_ERROR(policy_->Act(input, mode_, buffers_.output()));
      WAGGLE_RETURN_IF_ERROR(environment_->Send({kLane}, buffers_.output()->actions));
      WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, environment_->Recv(1, stop_));
      WAGGLE_RETURN_IF_ERROR(Write(ready.rewards, ready.discounts));
      outcomes_.returns.back() += ScalarReward(spec_.rewards, ready.rewards, 0);
      outcomes_.lengths.back() += 1;
      WAGGLE_RETURN_IF_ERROR(Keep(ready));
    }
    for (size_t i = 0; i < spec_.actions.size(); ++i) {
      std::memset(buffers_.output()->actions[i], 0, static_cast<size_t>(spec_.actions[i].array.NumBytes()));
    }
    const std::vector<const float*> rewards = Floats(zeros_.pointers());
    constexpr float kDiscount = 0;
    return Write(rewards, &kDiscount);
  }

  absl::Status Receive() {
    WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, environment_->Recv(1, stop_));
    return Keep(ready);
  }

  // Keeps the row that the lane shows now.
  absl::Status Keep(const ReadyLanes& ready) {
    const EnvironmentHealth health = environment_->health();
    if (health.broken_episodes > 0) {
      return absl::UnavailableError(absl::StrCat(spec_.name, " broke off an episode: ", health.last_error));
    }
    if (stop_.StopRequested()) {
      return absl::CancelledError("the recording was stopped");
    }
    observations_.CopyRow(ready.observations, 0, 0);
    step_type_ = ready.step_types[0];
    first_ = ready.first[0];
    return absl::OkStatus();
  }

  // Writes the kept row, with the present action and its result.
  absl::Status Write(absl::Span<const float* const> rewards, const float* discounts) {
    const std::vector<const void*> observations(observations_.pointers().begin(), observations_.pointers().end());
    const std::vector<const void*> actions(buffers_.output()->actions.begin(), buffers_.output()->actions.end());
    LaneRows rows;
    rows.observations = observations;
    rows.actions = actions;
    rows.rewards = rewards;
    rows.discounts = discounts;
    rows.step_types = &step_type_;
    WAGGLE_RETURN_IF_ERROR(writer_->Append({kLane}, rows));
    return writer_->BlockIsFull() ? writer_->Flush(0, stop_) : absl::OkStatus();
  }

  static std::vector<const float*> Floats(const std::vector<void*>& arrays) {
    std::vector<const float*> floats;
    for (const void* const array : arrays) {
      floats.push_back(static_cast<const float*>(array));
    }
    return floats;
  }

  VectorEnvironment* const environment_;
  Policy* const policy_;
  const ActMode mode_;
  TrajectoryWriter* const writer_;
  const StopToken& stop_;
  const EnvironmentSpec& spec_;
  PolicyBuffers buffers_;
  const LeafArrays observations_;  // The kept row.
  const LeafArrays zeros_;         // Rewards.
  int32_t step_type_ = 0;
  uint8_t first_ = 0;
  EpisodeOutcomes outcomes_;
};

}  // namespace

TablePlan RecordedTable(const EnvironmentSpec& environment) {
  TablePlan plan;
  plan.table.name = "episodes";
  plan.table.signature = StreamColumns(environment, {});
  for (const ArraySpec& column : plan.table.signature) {
    plan.table.view.push_back({column.name, column.name, ViewField::Rows::kFirst});
  }
  for (const SpaceLeaf& leaf : environment.observations) {
    plan.table.view.push_back({NextName(leaf.array.name), leaf.array.name, ViewField::Rows::kLast});
  }
  plan.table.max_items = kMaxItems;
  plan.table.max_bytes = kMaxBytes;
  plan.table.max_window = plan.window.length;
  return plan;
}

absl::StatusOr<EpisodeOutcomes> RecordEpisodes(int64_t episodes, ActMode mode, VectorEnvironment* environment,
                                               Policy* policy, ReplayWriter* sink, const StopToken& stop) {
  TrajectoryWriterOptions options;
  options.lanes = 1;
  options.environment = environment->spec();
  options.plans = {RecordedTable(environment->spec())};
  options.chunk_rows = kRecordedChunkRows;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TrajectoryWriter> writer,
                          TrajectoryWriter::Create(std::move(options), sink));
  return Recorder(environment, policy, mode, writer.get(), stop).Run(episodes);
}

}  // namespace waggle
