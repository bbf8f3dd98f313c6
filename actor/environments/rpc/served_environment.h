#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/rpc/protocol.h"
#include "common/base/random.h"

namespace waggle {

// The environment that one client has joined, of one lane or several, stepped by the rules of dm_env_rpc. Several lanes
// have a dimension in front of every tensor and are always RUNNING. Their state is in the observations step_type,
// reward and discount; a lane that has ended begins again in the next step. Not thread-safe.
class ServedEnvironment {
 public:
  // One lane, without a dimension, if `lanes` is absent. INVALID_ARGUMENT if options are invalid, the protocol lacks an
  // element type, or the lanes or their specs do not fit into a message.
  static absl::StatusOr<std::unique_ptr<ServedEnvironment>> Create(const EnvironmentDefinition& definition,
                                                                   const EnvironmentOptions& options,
                                                                   std::optional<int64_t> lanes, Rng rng);

  const dm::ActionObservationSpecs& specs() const { return specs_; }

  // Makes the next step begin a sequence.
  void EndSequence();

  // Answers a step. If `interrupted`, a step that would continue a sequence cuts it off instead. INVALID_ARGUMENT, with
  // nothing changed, if a uid is not in the specs, or actions are missing, out of bounds or of another type or shape.
  // If the environment itself refuses an action, such as a masked choice, the lanes before it have been stepped.
  absl::Status Step(const dm::StepRequest& request, bool interrupted, dm::StepResponse* response);

  // The memory of lanes of these spaces; more than any machine's if the number would overflow.
  static int64_t MemoryBytes(const EnvironmentSpec& spec, int64_t lanes);

 private:
  // The location of an action's or observation's elements in a tensor.
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
