#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/leaf_arrays.h"
#include "actor/rpc_environments/protocol.h"
#include "common/base/random.h"

namespace waggle {

// The environment that one client has joined, or several lanes of one at once, stepped by the rules of dm_env_rpc.
// Several lanes have a dimension in front of every tensor, are always RUNNING, and tell by the observations step_type,
// reward and discount what each has come to: one that has ended begins again in the next step. Not thread-safe.
class ServedEnvironment {
 public:
  // One lane that is no dimension if `lanes` is absent. INVALID_ARGUMENT for options that are none, for element types
  // that the protocol does not have, and for so many lanes that they or their specs do not fit into a message.
  static absl::StatusOr<std::unique_ptr<ServedEnvironment>> Create(const EnvironmentDefinition& definition,
                                                                   const EnvironmentOptions& options,
                                                                   std::optional<int64_t> lanes, Rng rng);

  const dm::ActionObservationSpecs& specs() const { return specs_; }

  // The next step begins a sequence.
  void EndSequence();

  // Answers a step; if `interrupted`, one that would continue a sequence cuts it off instead. INVALID_ARGUMENT, after
  // which nothing has changed, for a number that the specs do not have, and for actions that are missing, of another
  // type or shape or out of bounds. An action that the environment itself refuses, such as a choice that its mask does
  // not have, is refused when the lanes before it have been stepped.
  absl::Status Step(const dm::StepRequest& request, bool interrupted, dm::StepResponse* response);

  // How much memory lanes of these spaces take; more than there is if a number of lanes would overflow.
  static int64_t MemoryBytes(const EnvironmentSpec& spec, int64_t lanes);

 private:
  // A tensor of an action or an observation: where its elements are.
  struct Array {
    uint64_t uid = 0;
    DType dtype = DType::kFloat32;
    dm::DataType type = dm::INVALID_DATA_TYPE;
    std::vector<int64_t> shape;
    int64_t elements = 1;  // In all lanes.
    void* data = nullptr;
  };

  ServedEnvironment(std::vector<std::unique_ptr<Environment>> environments, bool is_batched);

  absl::Status AddSpecs();
  absl::Status AddLeaf(const SpaceLeaf& leaf, void* data, google::protobuf::Map<uint64_t, dm::TensorSpec>* specs,
                       std::vector<Array>* arrays);
  absl::Status ReadActions(const dm::StepRequest& request);
  absl::Status CheckValues(const SpaceLeaf& leaf, const Array& array) const;
  absl::Status StepLane(size_t lane, bool interrupted);
  absl::Status BeginLane(size_t lane);
  // Spreads lane_rewards_ over the leaves.
  void PutRewards(size_t lane);
  absl::Span<void* const> ObservationsOf(size_t lane);
  absl::Span<const void* const> ActionsOf(size_t lane);
  dm::EnvironmentStateType State() const;

  const std::vector<std::unique_ptr<Environment>> environments_;
  const bool is_batched_;
  const EnvironmentSpec& spec_;
  dm::ActionObservationSpecs specs_;
  std::vector<Array> actions_;
  std::vector<Array> observations_;
  const LeafArrays action_rows_;
  const LeafArrays observation_rows_;
  std::vector<std::vector<float>> rewards_;  // By leaf, [lanes, …].
  std::vector<float> lane_rewards_;          // One lane's, of all leaves.
  std::vector<float> discounts_;
  std::vector<int32_t> step_types_;  // kLast for lanes before their first step.
  std::vector<void*> observation_pointers_;
  std::vector<const void*> action_pointers_;
};

}  // namespace waggle
