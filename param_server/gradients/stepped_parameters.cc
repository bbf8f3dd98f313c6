#include "param_server/gradients/stepped_parameters.h"

#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/field_checker.h"
#include "common/nn/flat_kernels.h"

namespace waggle {
namespace {

constexpr char kValues[] = "gradients/values";
constexpr const char* kArrayNames[] = {"first", "second", "third"};

std::string ArrayName(const std::string& group, size_t array) {
  return absl::StrCat("gradients/", group, "/", kArrayNames[array]);
}
std::string StepsName(const std::string& group) {
  return absl::StrCat("gradients/", group, "/steps");
}
std::string IdentityName(const std::string& group) {
  return absl::StrCat("gradients/", group, "/optimizer");
}

size_t Bytes(int64_t elements) {
  return static_cast<size_t>(elements) * sizeof(float);
}

CheckpointArray CopyOf(const std::string& name, const char* data, int64_t elements) {
  CheckpointArray array;
  array.spec = ArraySpec{name, DType::kFloat32, {elements}};
  const std::shared_ptr<char> copy = AllocateBytes(Bytes(elements));
  std::memcpy(copy.get(), data, Bytes(elements));
  array.data = ByteSlices(ByteSlice{copy.get(), Bytes(elements), copy});
  return array;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SteppedParameters>> SteppedParameters::Create(const ModelSnapshot& weights,
                                                                             const std::vector<SteppedGroup>& groups) {
  std::unique_ptr<SteppedParameters> made(new SteppedParameters());
  made->header_ = weights;
  made->header_.data = ByteSlices();
  for (const ArraySpec& tensor : weights.tensors) {
    WAGGLE_RETURN_IF_ERROR(tensor.Validate());
    if (tensor.dtype != DType::kFloat32) {
      return absl::InvalidArgumentError(absl::StrCat(tensor.DebugString(), ": only float32 is stepped"));
    }
    made->num_values_ += tensor.NumElements();
  }
  if (weights.data.size() != Bytes(made->num_values_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(weights.data.size(), " bytes of weights; wanted ", Bytes(made->num_values_)));
  }
  made->values_ = AllocateBytes(weights.data.size());
  weights.data.CopyTo(made->values_.get());
  if (!std::isfinite(SumOfSquares(made->values(), made->num_values_))) {
    return absl::InvalidArgumentError("a weight is not finite");
  }
  made->model_.network_hash = weights.network_hash;
  int64_t begin = 0;
  for (const SteppedGroup& stepped : groups) {
    WAGGLE_RETURN_IF_ERROR(Annotate(Check(stepped.optimizer), absl::StrCat(stepped.group.name, ": optimizer")));
    Group group{
        stepped.group.name, begin, stepped.group.elements, stepped.optimizer, FlatOptimizer(stepped.optimizer), {}};
    begin += group.elements;
    if (group.elements < 0 || begin > made->num_values_) {
      return absl::InvalidArgumentError(
          absl::StrCat("group ", group.name, " ends at element ", begin, " of ", made->num_values_));
    }
    for (int64_t i = 0; i < group.options.StateArrays(); ++i) {
      group.arrays.push_back(AllocateBytes(Bytes(group.elements)));
      std::memset(group.arrays.back().get(), 0, Bytes(group.elements));
    }
    made->model_.groups.push_back(stepped.group);
    made->groups_.push_back(std::move(group));
  }
  return made;
}

absl::Status SteppedParameters::Step(const float* gradient, double scale, const Progress& progress) {
  for (Group& group : groups_) {  // All are checked before the first is changed.
    WAGGLE_RETURN_IF_ERROR(Annotate(
        group.optimizer.Begin(gradient + group.begin, group.elements, scale, group.options.learning_rate.At(progress)),
        group.name));
  }
  for (Group& group : groups_) {
    const auto array = [&group](size_t i) {
      return i < group.arrays.size() ? reinterpret_cast<float*>(group.arrays[i].get()) : nullptr;
    };
    group.optimizer.Apply(values() + group.begin, gradient + group.begin, {array(0), array(1), array(2)},
                          group.elements);
    group.optimizer.End();
  }
  return absl::OkStatus();
}

void SteppedParameters::SetRates(const OptimizerOptions& options) {
  for (Group& group : groups_) {
    group.options.learning_rate = options.learning_rate;
    group.options.gradient_clip_norm = options.gradient_clip_norm;
    group.optimizer.set_gradient_clip_norm(options.gradient_clip_norm);
  }
}

double SteppedParameters::gradient_norm() const {
  double sum = 0;
  for (const Group& group : groups_) {
    sum += group.optimizer.gradient_norm() * group.optimizer.gradient_norm();
  }
  return std::sqrt(sum);
}

ModelSnapshot SteppedParameters::Snapshot() const {
  ModelSnapshot snapshot = header_;
  const std::shared_ptr<char> copy = AllocateBytes(Bytes(num_values_));
  std::memcpy(copy.get(), values_.get(), Bytes(num_values_));
  snapshot.data = ByteSlices(ByteSlice{copy.get(), Bytes(num_values_), copy});
  return snapshot;
}

std::string SteppedParameters::Identity(const OptimizerOptions& options) {
  return absl::StrCat(options.type, " with ", options.StateArrays(), " arrays");
}

void SteppedParameters::Save(CheckpointContents* contents) const {
  contents->texts["gradients/model"] = model_.DebugString();
  contents->arrays.push_back(CopyOf(kValues, values_.get(), num_values_));
  for (const Group& group : groups_) {
    contents->texts[StepsName(group.name)] = absl::StrCat(group.optimizer.steps());
    contents->texts[IdentityName(group.name)] = Identity(group.options);
    for (size_t i = 0; i < group.arrays.size(); ++i) {
      contents->arrays.push_back(CopyOf(ArrayName(group.name, i), group.arrays[i].get(), group.elements));
    }
  }
}

absl::Status SteppedParameters::Restore(const CheckpointContents& contents) {
  const auto text = [&contents](const std::string& name) {
    const auto it = contents.texts.find(name);
    return it == contents.texts.end() ? std::string("none") : it->second;
  };
  if (text("gradients/model") != model_.DebugString()) {
    return absl::FailedPreconditionError(absl::StrCat("the checkpoint is of the parameters \"", text("gradients/model"),
                                                      "\"; wanted \"", model_.DebugString(), "\""));
  }
  std::vector<std::pair<std::string, int64_t>> wanted = {{kValues, num_values_}};
  std::vector<char*> destinations = {values_.get()};
  std::vector<int64_t> steps;
  for (const Group& group : groups_) {
    if (text(IdentityName(group.name)) != Identity(group.options)) {
      return absl::FailedPreconditionError(absl::StrCat(group.name, ": the checkpoint's optimizer is ",
                                                        text(IdentityName(group.name)), "; wanted ",
                                                        Identity(group.options)));
    }
    steps.push_back(0);
    if (!absl::SimpleAtoi(text(StepsName(group.name)), &steps.back())) {
      return absl::FailedPreconditionError(absl::StrCat(StepsName(group.name), " is no number"));
    }
    for (size_t i = 0; i < group.arrays.size(); ++i) {
      wanted.emplace_back(ArrayName(group.name, i), group.elements);
      destinations.push_back(group.arrays[i].get());
    }
  }
  std::map<std::string, const CheckpointArray*> arrays;
  for (const CheckpointArray& array : contents.arrays) {
    arrays[array.spec.name] = &array;
  }
  for (const auto& [name, elements] : wanted) {
    const auto it = arrays.find(name);
    if (it == arrays.end() || it->second->spec.dtype != DType::kFloat32 || it->second->data.size() != Bytes(elements)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint has ", it == arrays.end() ? "no " + name : it->second->spec.DebugString(),
                       "; wanted ", elements, " of float32"));
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    arrays[wanted[i].first]->data.CopyTo(destinations[i]);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    *groups_[i].optimizer.mutable_steps() = steps[i];
  }
  return absl::OkStatus();
}

}  // namespace waggle
