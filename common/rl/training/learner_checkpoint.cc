#include "common/rl/training/learner_checkpoint.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

// Prefix of the algorithm's texts and arrays.
constexpr char kState[] = "state/";

class StateSaver : public StateVisitor {
 public:
  explicit StateSaver(CheckpointContents* contents) : contents_(contents) {}

  bool Loading() const override { return false; }
  absl::Status status() const {
    return problems_.empty() ? absl::OkStatus() : absl::InternalError(absl::StrJoin(problems_, "; "));
  }

 protected:
  void VisitTensor(const std::string& path, torch::Tensor* value) override {
    const absl::StatusOr<DType> dtype = FromScalarType(value->scalar_type());
    if (!dtype.ok()) {
      Problem(absl::StrCat(path, ": ", dtype.status().message()));
      return;
    }
    if (!names_.insert(path).second) {
      Problem(absl::StrCat(path, ": two parts of the state have this name"));
      return;
    }
    CheckpointArray array;
    array.spec = ArraySpec{absl::StrCat(kState, path), *dtype, value->sizes().vec()};
    const size_t bytes = value->nbytes();
    const std::shared_ptr<char> data = AllocateBytes(bytes);
    torch::from_blob(data.get(), value->sizes(), value->scalar_type()).copy_(*value);
    array.data = ByteSlices(ByteSlice{data.get(), bytes, data});
    contents_->arrays.push_back(std::move(array));
  }
  void VisitAnyTensor(const std::string& path, torch::Tensor* value, torch::Device /*device*/) override {
    if (value->defined()) {
      VisitTensor(path, value);
    }
  }
  void VisitInt(const std::string& path, int64_t* value) override { AddText(path, absl::StrCat(*value)); }
  void VisitDouble(const std::string& path, double* value) override { AddText(path, absl::StrFormat("%.17g", *value)); }
  void VisitString(const std::string& path, std::string* value) override { AddText(path, *value); }
  void VisitIdentity(const std::string& path, const std::string& text) override { AddText(path, text); }
  void Problem(std::string problem) override { problems_.push_back(std::move(problem)); }

 private:
  void AddText(const std::string& path, std::string text) {
    if (!names_.insert(path).second) {
      Problem(absl::StrCat(path, ": two parts of the state have this name"));
      return;
    }
    contents_->texts[absl::StrCat(kState, path)] = std::move(text);
  }

  CheckpointContents* const contents_;
  std::set<std::string> names_;
  std::vector<std::string> problems_;
};

// Compares in a first walk and loads in a second: another network's checkpoint must not change half of the state.
class StateLoader : public StateVisitor {
 public:
  StateLoader(const CheckpointContents& contents, bool loading) : contents_(contents), loading_(loading) {
    for (const CheckpointArray& array : contents.arrays) {
      arrays_[array.spec.name] = &array;
    }
  }

  bool Loading() const override { return loading_; }
  absl::Status status() const {
    return problems_.empty() ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrJoin(problems_, "; "));
  }

  // Finds values that were not visited.
  void CheckNothingLeft() {
    for (const auto& [name, array] : arrays_) {
      if (used_.count(name) == 0) {
        Problem(absl::StrCat(array->spec.DebugString(), " is in the checkpoint only"));
      }
    }
    for (const auto& [name, text] : contents_.texts) {
      if (used_.count(name) == 0 && absl::StartsWith(name, kState)) {
        Problem(absl::StrCat(name, " is in the checkpoint only"));
      }
    }
  }

 protected:
  void VisitTensor(const std::string& path, torch::Tensor* value) override {
    const std::string name = absl::StrCat(kState, path);
    used_.insert(name);
    const auto it = arrays_.find(name);
    if (it == arrays_.end()) {
      Problem(absl::StrCat(name, " is missing in the checkpoint"));
      return;
    }
    const ArraySpec& spec = it->second->spec;
    if (spec.shape != value->sizes().vec() || ToScalarType(spec.dtype) != value->scalar_type() ||
        it->second->data.size() != value->nbytes()) {
      Problem(absl::StrCat("the checkpoint has ", spec.DebugString(), "; wanted ",
                           torch::toString(value->scalar_type()), "[", absl::StrJoin(value->sizes(), ", "), "]"));
      return;
    }
    if (loading_) {
      value->copy_(Read(*it->second));
    }
  }
  void VisitAnyTensor(const std::string& path, torch::Tensor* value, torch::Device device) override {
    const std::string name = absl::StrCat(kState, path);
    used_.insert(name);
    const auto it = arrays_.find(name);
    if (loading_) {
      *value = it == arrays_.end() ? torch::Tensor() : Read(*it->second).to(device);
    }
  }
  void VisitInt(const std::string& path, int64_t* value) override {
    int64_t parsed = 0;
    const std::string* const text = FindText(path);
    if (text != nullptr && !absl::SimpleAtoi(*text, &parsed)) {
      Problem(absl::StrCat(path, ": \"", *text, "\" is not a number"));
    } else if (text != nullptr && loading_) {
      *value = parsed;
    }
  }
  void VisitDouble(const std::string& path, double* value) override {
    double parsed = 0;
    const std::string* const text = FindText(path);
    if (text != nullptr && !absl::SimpleAtod(*text, &parsed)) {
      Problem(absl::StrCat(path, ": \"", *text, "\" is not a number"));
    } else if (text != nullptr && loading_) {
      *value = parsed;
    }
  }
  void VisitString(const std::string& path, std::string* value) override {
    const std::string* const text = FindText(path);
    if (text != nullptr && loading_) {
      *value = *text;
    }
  }
  void VisitIdentity(const std::string& path, const std::string& text) override {
    const std::string* const saved = FindText(path);
    if (saved != nullptr && *saved != text) {
      Problem(absl::StrCat(path, ": the checkpoint is of \"", *saved, "\"; wanted \"", text, "\""));
    }
  }
  void Problem(std::string problem) override { problems_.push_back(std::move(problem)); }

 private:
  // A copy on the CPU.
  static torch::Tensor Read(const CheckpointArray& array) {
    const torch::Tensor tensor = torch::empty(array.spec.shape, ToScalarType(array.spec.dtype));
    array.data.CopyTo(static_cast<char*>(tensor.data_ptr()));
    return tensor;
  }
  const std::string* FindText(const std::string& path) {
    const std::string name = absl::StrCat(kState, path);
    used_.insert(name);
    const auto it = contents_.texts.find(name);
    if (it == contents_.texts.end()) {
      Problem(absl::StrCat(name, " is missing in the checkpoint"));
      return nullptr;
    }
    return &it->second;
  }

  const CheckpointContents& contents_;
  const bool loading_;
  std::map<std::string, const CheckpointArray*> arrays_;
  std::set<std::string> used_;
  std::vector<std::string> problems_;
};

absl::Status Load(const CheckpointContents& contents, const std::function<void(StateVisitor*)>& visit) {
  StateLoader check(contents, /*loading=*/false);
  visit(&check);
  check.CheckNothingLeft();
  WAGGLE_RETURN_IF_ERROR(check.status());
  StateLoader loader(contents, /*loading=*/true);
  visit(&loader);
  return loader.status();
}

}  // namespace

absl::Status CopyState(const std::function<void(StateVisitor*)>& from, const std::function<void(StateVisitor*)>& to) {
  torch::NoGradGuard no_grad;
  CheckpointContents contents;
  StateSaver saver(&contents);
  from(&saver);
  WAGGLE_RETURN_IF_ERROR(saver.status());
  return Load(contents, to);
}

absl::StatusOr<CheckpointContents> SaveLearner(int64_t step, const std::string& algorithm_name, Trainee* trainee) {
  CheckpointContents contents;
  contents.step = step;
  contents.texts[kCheckpointAlgorithm] = algorithm_name;
  StateSaver saver(&contents);
  WAGGLE_RETURN_IF_ERROR(CatchTorch("copying the learner's state", [&] {
    torch::NoGradGuard no_grad;
    trainee->VisitState(&saver);
  }));
  WAGGLE_RETURN_IF_ERROR(saver.status());
  return contents;
}

absl::Status RestoreLearner(const CheckpointContents& contents, const std::string& algorithm_name, Trainee* trainee) {
  const auto saved_by = contents.texts.find(kCheckpointAlgorithm);
  if (saved_by == contents.texts.end() || saved_by->second != algorithm_name) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint is of the algorithm \"", saved_by == contents.texts.end() ? std::string() : saved_by->second,
        "\"; wanted \"", algorithm_name, "\""));
  }
  return CatchTorch("restoring the learner's state", [&]() -> absl::Status {
    torch::NoGradGuard no_grad;
    return Load(contents, [trainee](StateVisitor* visitor) { trainee->VisitState(visitor); });
  });
}

}  // namespace waggle
