#include "actor/environments/rpc/served_environment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "actor/environments/environment_lanes.h"
#include "actor/environments/leaf_elements.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"

namespace waggle {
namespace {

// Requests are small: see kMaxRequestBytes of environment_service.h.
constexpr int64_t kMaxActionBytes = int64_t{512} << 10;
constexpr int64_t kMaxObservationBytes = kMaxMessageBytes / 2;
// Bytes of a message beside the specs.
constexpr int64_t kAroundSpecs = 64;
// Approximate bytes of an environment beside its arrays.
constexpr int64_t kEnvironmentBytes = 1024;
constexpr int64_t kFarTooMany = int64_t{1} << 60;

using TensorSpecs = google::protobuf::Map<uint64_t, dm::TensorSpec>;

dm::DataType TypeFor(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return dm::BOOL;
    case DType::kUint8:
      return dm::UINT8;
    case DType::kInt8:
      return dm::INT8;
    case DType::kInt16:
    case DType::kInt32:
      return dm::INT32;
    case DType::kInt64:
      return dm::INT64;
    case DType::kFloat32:
      return dm::FLOAT;
    case DType::kFloat64:
      return dm::DOUBLE;
    default:
      return dm::INVALID_DATA_TYPE;
  }
}

bool IsLast(int32_t step_type) {
  return step_type == static_cast<int32_t>(StepType::kLast);
}

bool SaySomething(const std::vector<double>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); });
}

// Repeats one lane's bounds for all lanes; a single number if all are equal.
std::vector<double> Repeated(const std::vector<double>& bounds, int64_t lanes) {
  if (std::adjacent_find(bounds.begin(), bounds.end(), std::not_equal_to<>()) == bounds.end()) {
    return {bounds[0]};
  }
  std::vector<double> repeated;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    repeated.insert(repeated.end(), bounds.begin(), bounds.end());
  }
  return repeated;
}

absl::Status CheckSize(const std::vector<ArraySpec>& arrays, int64_t lanes, int64_t most, const char* what) {
  int64_t bytes = 0;
  for (const ArraySpec& array : arrays) {
    const int64_t elements = array.NumElements();
    bytes += elements > most / lanes ? most : 0;  // At least a byte each.
    bytes += MaxWireBytes(TypeFor(array.dtype), std::min(elements, most / lanes) * lanes);
    if (bytes > most) {
      return absl::InvalidArgumentError(absl::StrCat(kLanesSetting, ": the ", what, " of ", lanes, " lanes take ",
                                                     bytes, " bytes of a message or more; wanted at most ", most));
    }
  }
  return absl::OkStatus();
}

// INVALID_ARGUMENT if the arrays of all lanes do not fit into messages.
absl::Status CheckSizes(const EnvironmentSpec& spec, std::optional<int64_t> lanes) {
  std::vector<ArraySpec> observations = ArraysOf(spec.observations);
  observations.insert(observations.end(), spec.rewards.begin(), spec.rewards.end());
  if (lanes.has_value()) {
    observations.push_back({kDiscountName, DType::kFloat32, {}});
    observations.push_back({kStepTypeName, DType::kInt32, {}});
  }
  WAGGLE_RETURN_IF_ERROR(CheckSize(ArraysOf(spec.actions), lanes.value_or(1), kMaxActionBytes, "actions"));
  return CheckSize(observations, lanes.value_or(1), kMaxObservationBytes, "observations");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServedEnvironment>> ServedEnvironment::Create(const EnvironmentDefinition& definition,
                                                                             const EnvironmentOptions& options,
                                                                             std::optional<int64_t> lanes, Rng rng) {
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition.spec(options));
  WAGGLE_RETURN_IF_ERROR(CheckSizes(spec, lanes));
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Environment>> environments,
                          MakeEnvironments(definition, options, lanes.value_or(1), std::move(rng)));
  std::unique_ptr<ServedEnvironment> served(new ServedEnvironment(std::move(environments), lanes.has_value()));
  WAGGLE_RETURN_IF_ERROR(served->AddSpecs());
  const auto bytes = static_cast<int64_t>(served->specs_.ByteSizeLong()) + kAroundSpecs;
  if (bytes > kMaxSetUpBytes) {
    return absl::InvalidArgumentError(absl::StrCat(kLanesSetting, ": the specs of ", lanes.value_or(1), " lanes take ",
                                                   bytes, " bytes; wanted at most ", kMaxSetUpBytes));
  }
  return served;
}

int64_t ServedEnvironment::MemoryBytes(const EnvironmentSpec& spec, int64_t lanes) {
  const int64_t a_lane = kEnvironmentBytes + BytesARow(ArraysOf(spec.observations)) +
                         BytesARow(ArraysOf(spec.actions)) + 8 * NumRewards(spec.rewards);
  return lanes > kFarTooMany / a_lane ? kFarTooMany : lanes * a_lane;
}

ServedEnvironment::ServedEnvironment(std::vector<std::unique_ptr<Environment>> environments, bool is_batched)
    : environments_(std::move(environments)),
      is_batched_(is_batched),
      spec_(environments_[0]->spec()),
      action_rows_(ArraysOf(spec_.actions), static_cast<int64_t>(environments_.size())),
      observation_rows_(ArraysOf(spec_.observations), static_cast<int64_t>(environments_.size())),
      lane_rewards_(static_cast<size_t>(NumRewards(spec_.rewards))),
      discounts_(environments_.size()),
      step_types_(environments_.size()),
      observation_pointers_(spec_.observations.size()),
      action_pointers_(spec_.actions.size()) {
  for (const ArraySpec& reward : spec_.rewards) {
    rewards_.emplace_back(environments_.size() * static_cast<size_t>(reward.NumElements()));
  }
  EndSequence();
}

void ServedEnvironment::EndSequence() {
  std::fill(step_types_.begin(), step_types_.end(), static_cast<int32_t>(StepType::kLast));
}

absl::Status ServedEnvironment::AddSpecs() {
  for (size_t i = 0; i < spec_.actions.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(AddLeaf(spec_.actions[i], action_rows_.pointers()[i], specs_.mutable_actions(), &actions_));
  }
  TensorSpecs* const observations = specs_.mutable_observations();
  for (size_t i = 0; i < spec_.observations.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(
        AddLeaf(spec_.observations[i], observation_rows_.pointers()[i], observations, &observations_));
  }
  for (size_t i = 0; i < spec_.rewards.size(); ++i) {
    const ArraySpec& reward = spec_.rewards[i];
    WAGGLE_RETURN_IF_ERROR(
        AddLeaf(Box(reward.name, reward.dtype, reward.shape), rewards_[i].data(), observations, &observations_));
  }
  if (!is_batched_) {  // Reward and discount follow from the state.
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(
      AddLeaf(Box(kDiscountName, DType::kFloat32, {}, 0, 1), discounts_.data(), observations, &observations_));
  return AddLeaf(Box(kStepTypeName, DType::kInt32, {}, 0, 2), step_types_.data(), observations, &observations_);
}

absl::Status ServedEnvironment::AddLeaf(const SpaceLeaf& leaf, void* data, TensorSpecs* specs,
                                        std::vector<Array>* arrays) {
  const auto lanes = static_cast<int64_t>(environments_.size());
  Array array;
  array.uid = arrays->size() + 1;
  array.dtype = leaf.array.dtype;
  array.type = TypeFor(leaf.array.dtype);
  array.shape = leaf.array.shape;
  array.elements = leaf.array.NumElements() * lanes;
  array.data = data;
  if (is_batched_) {
    array.shape.insert(array.shape.begin(), lanes);
  }
  if (array.type == dm::INVALID_DATA_TYPE) {
    return absl::InvalidArgumentError(
        absl::StrCat(leaf.array.DebugString(), ": the protocol has no elements of this type"));
  }
  dm::TensorSpec& spec = (*specs)[array.uid];
  spec.set_name(absl::StrReplaceAll(leaf.array.name, {{"/", "."}}));
  spec.set_dtype(array.type);
  for (const int64_t dimension : array.shape) {
    spec.add_shape(static_cast<int32_t>(dimension));
  }
  std::vector<double> low = leaf.low;
  std::vector<double> high = leaf.high;
  for (const int64_t choices : leaf.num_values) {
    low = {0};
    high.push_back(static_cast<double>(choices - 1));
  }
  if (SaySomething(low)) {
    WriteBounds(array.type, Repeated(low, lanes), spec.mutable_min());
  }
  if (SaySomething(high)) {
    WriteBounds(array.type, Repeated(high, lanes), spec.mutable_max());
  }
  arrays->push_back(std::move(array));
  return absl::OkStatus();
}

absl::Status ServedEnvironment::Step(const dm::StepRequest& request, bool interrupted, dm::StepResponse* response) {
  for (const uint64_t uid : request.requested_observations()) {
    if (uid < 1 || uid > observations_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("requested_observations: got ", uid, "; wanted 1 to ", observations_.size()));
    }
  }
  const bool all_begin = std::all_of(step_types_.begin(), step_types_.end(), IsLast);
  if (!all_begin && !interrupted) {
    WAGGLE_RETURN_IF_ERROR(ReadActions(request));
  }
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(StepLane(lane, interrupted));
  }
  response->set_state(State());
  for (const uint64_t uid : request.requested_observations()) {
    const Array& array = observations_[uid - 1];
    dm::Tensor& tensor = (*response->mutable_observations())[uid];
    if (tensor.payload_case() == dm::Tensor::PAYLOAD_NOT_SET) {  // A client may request it twice.
      InitTensor(array.type, array.shape, &tensor);
      WriteElements(array.dtype, array.data, array.type, 0, array.elements, {}, &tensor);
    }
  }
  return absl::OkStatus();
}

absl::Status ServedEnvironment::ReadActions(const dm::StepRequest& request) {
  for (const auto& [uid, tensor] : request.actions()) {
    if (uid < 1 || uid > actions_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("actions: got ", uid, "; wanted 1 to ", actions_.size()));
    }
  }
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Array& array = actions_[i];
    const auto given = request.actions().find(array.uid);
    const SpaceLeaf& leaf = spec_.actions[i];
    if (given == request.actions().end()) {
      return absl::InvalidArgumentError(absl::StrCat(leaf.array.name, ": is missing; wanted all actions in each step"));
    }
    absl::Status status = CheckTensor(given->second, array.type, array.shape);
    if (status.ok()) {
      status = ReadElements(given->second, 0, array.elements, array.dtype, {}, array.data);
    }
    if (!status.ok()) {
      return Annotate(status, leaf.array.name);
    }
    WAGGLE_RETURN_IF_ERROR(CheckValues(leaf, array));
  }
  return absl::OkStatus();
}

absl::Status ServedEnvironment::CheckValues(const SpaceLeaf& leaf, const Array& array) const {
  const auto bytes = static_cast<size_t>(leaf.array.NumBytes());
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    absl::Status status = CheckElements(leaf, static_cast<const char*>(array.data) + lane * bytes);
    if (!status.ok()) {
      return is_batched_ ? Annotate(status, absl::StrCat("lane ", lane)) : status;
    }
  }
  return absl::OkStatus();
}

absl::Status ServedEnvironment::StepLane(size_t lane, bool interrupted) {
  if (IsLast(step_types_[lane])) {
    return BeginLane(lane);
  }
  if (interrupted) {
    std::fill(lane_rewards_.begin(), lane_rewards_.end(), 0.0F);
    step_types_[lane] = static_cast<int32_t>(StepType::kLast);
    discounts_[lane] = 1;
  } else {
    WAGGLE_ASSIGN_OR_RETURN(const StepOutcome outcome,
                            environments_[lane]->Step(ActionsOf(lane), ObservationsOf(lane), lane_rewards_.data()));
    const bool ends = outcome.terminated || outcome.truncated;
    step_types_[lane] = static_cast<int32_t>(ends ? StepType::kLast : StepType::kMid);
    discounts_[lane] = outcome.terminated ? 0.0F : 1.0F;
  }
  PutRewards(lane);
  return absl::OkStatus();
}

absl::Status ServedEnvironment::BeginLane(size_t lane) {
  WAGGLE_RETURN_IF_ERROR(environments_[lane]->Reset(ObservationsOf(lane)));
  step_types_[lane] = static_cast<int32_t>(StepType::kFirst);
  discounts_[lane] = 1;
  std::fill(lane_rewards_.begin(), lane_rewards_.end(), 0.0F);
  PutRewards(lane);
  return absl::OkStatus();
}

void ServedEnvironment::PutRewards(size_t lane) {
  const float* from = lane_rewards_.data();
  for (size_t leaf = 0; leaf < rewards_.size(); ++leaf) {
    const size_t elements = rewards_[leaf].size() / environments_.size();
    std::copy_n(from, elements, rewards_[leaf].begin() + static_cast<std::ptrdiff_t>(lane * elements));
    from += elements;
  }
}

absl::Span<void* const> ServedEnvironment::ObservationsOf(size_t lane) {
  for (size_t i = 0; i < observation_pointers_.size(); ++i) {
    observation_pointers_[i] = static_cast<char*>(observation_rows_.pointers()[i]) +
                               lane * static_cast<size_t>(spec_.observations[i].array.NumBytes());
  }
  return observation_pointers_;
}

absl::Span<const void* const> ServedEnvironment::ActionsOf(size_t lane) {
  for (size_t i = 0; i < action_pointers_.size(); ++i) {
    action_pointers_[i] = static_cast<const char*>(action_rows_.pointers()[i]) +
                          lane * static_cast<size_t>(spec_.actions[i].array.NumBytes());
  }
  return action_pointers_;
}

dm::EnvironmentStateType ServedEnvironment::State() const {
  if (is_batched_ || !IsLast(step_types_[0])) {
    return dm::RUNNING;
  }
  return discounts_[0] == 0 ? dm::TERMINATED : dm::INTERRUPTED;
}

}  // namespace waggle
