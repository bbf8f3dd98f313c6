#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/pictures/picture.h"
#include "common/base/stop_token.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// Lanes that wait for an action: the row that each shows, and what its last action led to. Row i of every array is of
// lanes[i].
struct ReadyLanes {
  absl::Span<const int64_t> lanes;  // Their numbers, each once, in any order.
  // Row t of their streams, before its action is chosen.
  absl::Span<void* const> observations;  // One array for each of the spec's observation leaves, [rows, …].
  const int32_t* step_types = nullptr;   // [rows], each a StepType.
  const uint8_t* first = nullptr;        // [rows]: whether the step type is kFirst.
  // What the action of row t - 1 led to; zeros where an episode begins.
  absl::Span<const float* const> rewards;  // One array for each of the spec's reward leaves, [rows, …].
  const float* discounts =
      nullptr;  // [rows]: 0 after a terminal state, else 1, or as an environment has it, in [0, 1].
  // [rows]: what ScalarReward makes of the environment's own rewards; null: `rewards` are those.
  const double* raw_rewards = nullptr;
};

// How environments that run in processes of their own do.
struct EnvironmentHealth {
  int64_t processes = 0;  // 0: they run in this one.
  int64_t restarts = 0;
  int64_t broken_episodes = 0;  // Ended as truncated because their process was lost.
  std::string last_error;       // With the traceback; empty: there was none.
};

// Environments by number, each in a lane, that need not keep step with one another: a slow one holds no other up, and
// where they run is nobody's business. An episode's final observation is a row like any other, of step type kLast, so
// that a policy sees it and a learner can bootstrap from it; the action chosen there is ignored, and the lane's next
// row is the first of a new episode. Errors name the lane; after one only Reset may follow. One thread.
class VectorEnvironment {
 public:
  virtual ~VectorEnvironment() = default;

  virtual const EnvironmentSpec& spec() const = 0;
  virtual int64_t lanes() const = 0;

  // Whether lanes that were not sent hold up others: then all have to be sent before any is ready.
  virtual bool lanes_step_together() const { return false; }

  // Starts an episode in each of these lanes, none of which is under way, whatever they show. They are under way then:
  // Recv gives their first rows. If lanes step together, all of them have to be started.
  virtual absl::Status Start(absl::Span<const int64_t> lanes) = 0;
  // Starts an episode in every lane, under way or not.
  virtual absl::Status Reset() = 0;

  // Takes an action in each of these lanes, which Recv has given and which are under way from now on. Row i of
  // `actions`, one array [lanes.size(), …] for each of the spec's action leaves, is of lanes[i]; all is read before
  // this returns.
  virtual absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) = 0;

  // Waits until `at_least` of the lanes under way are ready, and gives all that are; no more may be asked for than are
  // under way. Rewards, raw ones too, and discounts stay as they are until the next Send, all else until the first Send
  // after the next Recv. CANCELLED after a stop.
  virtual absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) = 0;

  virtual EnvironmentHealth health() const { return {}; }

  // What a lane that Recv has given looks like, for people. UNIMPLEMENTED where nobody draws it.
  virtual absl::StatusOr<Picture> Draw(int64_t /*lane*/) const {
    return absl::UnimplementedError(spec().name + " has no picture of its state");
  }
};

}  // namespace waggle
