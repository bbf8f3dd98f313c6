#include "actor/environments/rpc/rpc_answer.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "actor/environments/leaf_elements.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

absl::Status Wrong(absl::string_view name, absl::string_view what) {
  return absl::InternalError(absl::StrCat(name, ": ", what));
}

const dm::Tensor& TensorIn(const dm::StepResponse& answer, const RpcLeaf& leaf) {
  return answer.observations().find(leaf.uid)->second;
}

// Reads one lane's elements. They begin at `row * count` if the leaf has the lanes' dimension in front.
absl::Status ReadLeaf(const RpcLeaf& leaf, const ArraySpec& array, const dm::StepResponse& answer, int64_t row,
                      void* out) {
  const int64_t count = array.NumElements();
  const absl::Status read = ReadElements(TensorIn(answer, leaf), row * count, count, array.dtype, leaf.starts, out);
  if (!read.ok()) {
    return Wrong(array.name, read.message());
  }
  if (FindNonFinite(array.dtype, out, count) >= 0) {
    return Wrong(array.name, "got a number that is not finite");
  }
  return absl::OkStatus();
}

absl::StatusOr<float> ReadDiscount(const RpcLeaf& leaf, const dm::StepResponse& answer, int64_t row) {
  float discount = 0;
  WAGGLE_RETURN_IF_ERROR(ReadElements(TensorIn(answer, leaf), row, 1, DType::kFloat32, {}, &discount));
  if (!(discount >= 0 && discount <= 1)) {
    return Wrong(kDiscountName, absl::StrCat("got ", discount, "; wanted 0 to 1"));
  }
  return discount;
}

}  // namespace

absl::Status CheckAnswer(const RpcSpec& spec, const dm::StepResponse& answer) {
  for (const RpcLeaf* leaf : spec.Requested()) {
    const auto found = answer.observations().find(leaf->uid);
    if (found == answer.observations().end()) {
      return Wrong(leaf->name, "is missing in an answer; it was asked for");
    }
    if (const absl::Status right = CheckTensor(found->second, leaf->type, leaf->shape); !right.ok()) {
      return Wrong(leaf->name, right.message());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RpcRow> ReadRow(const RpcSpec& spec, const dm::StepResponse& answer, int64_t row, int64_t ahead,
                               ReadyRows* rows) {
  for (size_t i = 0; i < spec.observations.size(); ++i) {
    const SpaceLeaf& leaf = spec.environment.observations[i];
    char* const out = static_cast<char*>(rows->observations()[i]) + (rows->rows() + ahead) * leaf.array.NumBytes();
    WAGGLE_RETURN_IF_ERROR(ReadLeaf(spec.observations[i], leaf.array, answer, row, out));
    if (const absl::Status right = CheckObservation(leaf, out); !right.ok()) {
      return absl::InternalError(right.message());
    }
  }
  for (size_t i = 0; i < spec.rewards.size(); ++i) {
    float* const out = rows->Rewards(i) + static_cast<size_t>(ahead) * rows->RewardElements(i);
    if (!spec.rewards[i].has_value()) {
      *out = 0;
      continue;
    }
    WAGGLE_RETURN_IF_ERROR(ReadLeaf(*spec.rewards[i], spec.environment.rewards[i], answer, row, out));
  }
  RpcRow read;
  if (spec.discount.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(read.discount, ReadDiscount(*spec.discount, answer, row));
  }
  if (spec.step_type.has_value()) {
    read.step_type.emplace();
    WAGGLE_RETURN_IF_ERROR(
        ReadElements(TensorIn(answer, *spec.step_type), row, 1, DType::kInt32, {}, &*read.step_type));
  }
  return read;
}

absl::StatusOr<RpcStep> StepOf(dm::EnvironmentStateType state, const RpcRow& row, bool begins) {
  bool ends = state == dm::TERMINATED || state == dm::INTERRUPTED;
  const bool batched = row.step_type.has_value();
  if (batched) {
    ends = *row.step_type == static_cast<int32_t>(StepType::kLast);
    const bool is_first = *row.step_type == static_cast<int32_t>(StepType::kFirst);
    if (is_first != begins || (!is_first && !ends && *row.step_type != static_cast<int32_t>(StepType::kMid))) {
      return Wrong(kStepTypeName,
                   absl::StrCat("got ", *row.step_type, "; wanted ", begins ? "0, as an episode begins" : "1 or 2"));
    }
  }
  // A step that begins sequences must not end one. A stream of several lanes is always running.
  if (state != dm::RUNNING && (!ends || begins || batched)) {
    return Wrong("state", absl::StrCat("got ", static_cast<int>(state), "; wanted ", static_cast<int>(dm::RUNNING),
                                       begins ? ", as an episode begins" : ""));
  }
  if (begins) {
    return RpcStep{StepType::kFirst, 0};
  }
  return RpcStep{ends ? StepType::kLast : StepType::kMid, row.discount.value_or(state == dm::TERMINATED ? 0.0F : 1.0F)};
}

}  // namespace waggle
