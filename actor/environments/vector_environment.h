#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/pictures/picture.h"
#include "common/base/threads/stop_token.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Lanes that wait for an action: each one's present row, and the result of its last action. Row i of every array
// belongs to lanes[i].
struct ReadyLanes {
  absl::Span<const int64_t> lanes;  // Their numbers, each once, in any order.
  // Row t of their streams, before its action is chosen.
  absl::Span<void* const> observations;  // One array for each of the spec's observation leaves, [rows, …].
  const int32_t* step_types = nullptr;   // [rows], each a StepType.
  const uint8_t* first = nullptr;        // [rows]: 1 if the step type is kFirst.
  // The result of the action of row t - 1; zeros if an episode begins.
  absl::Span<const float* const> rewards;  // One array for each of the spec's reward leaves, [rows, …].
  const float* discounts = nullptr;  // [rows]: 0 after a terminal state, else 1 or the environment's own, in [0, 1].
  // [rows]: ScalarReward of the environment's own rewards. Null: `rewards` are the environment's own.
  const double* raw_rewards = nullptr;
};

// The state of environments that run in processes of their own.
struct EnvironmentHealth {
  int64_t processes = 0;  // 0: they run in this one.
  int64_t restarts = 0;
  int64_t broken_episodes = 0;  // Truncated because their process was lost.
  std::string last_error;       // With the traceback; empty: there was none.
};

// The number that each element's first choice has outside Waggle, by leaf. It is 0 for leaves that are absent.
using ChoiceStarts = std::map<std::string, std::vector<int64_t>>;

// Numbered lanes, each with an environment, which need not keep step: a slow lane does not delay others. Environments
// may run anywhere. An episode's final observation is a row like any other, of step type kLast, so that a policy sees
// it and a learner can bootstrap from it. The action chosen there is ignored, and the lane's next row is the first of a
// new episode. Errors name the lane; only Reset may follow an error. One thread.
class VectorEnvironment {
 public:
  virtual ~VectorEnvironment() = default;

  virtual const EnvironmentSpec& spec() const = 0;
  virtual int64_t lanes() const = 0;

  // True if all lanes must be sent before any is ready.
  virtual bool lanes_step_together() const { return false; }

  // Starts an episode in each of these lanes, which must not be under way, and puts them under way: Recv gives their
  // first rows. If lanes step together, all must be started.
  virtual absl::Status Start(absl::Span<const int64_t> lanes) = 0;
  // Starts an episode in every lane, under way or not.
  virtual absl::Status Reset() = 0;

  // Takes an action in each of these lanes, which Recv has given, and puts them under way. Row i of `actions`, one
  // array [lanes.size(), …] for each of the spec's action leaves, belongs to lanes[i]. All actions are read before this
  // returns.
  virtual absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) = 0;

  // Waits until `at_least` of the lanes under way are ready, and gives all ready lanes. `at_least` must not exceed the
  // lanes under way. Rewards, raw ones too, and discounts stay valid until the next Send, all else until the first Send
  // after the next Recv. CANCELLED after a stop.
  virtual absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) = 0;

  virtual EnvironmentHealth health() const { return {}; }

  // Those of the user's own spaces. Inside Waggle choices begin at 0.
  virtual ChoiceStarts choice_starts() const { return {}; }

  // A picture of a lane that Recv has given, for people. UNIMPLEMENTED if the environment cannot draw itself.
  virtual absl::StatusOr<Picture> Draw(int64_t /*lane*/) const {
    return absl::UnimplementedError(spec().name + " has no picture of its state");
  }
};

}  // namespace waggle
