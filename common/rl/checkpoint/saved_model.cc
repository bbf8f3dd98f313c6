#include "common/rl/checkpoint/saved_model.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kModel[] = "model";
constexpr char kNetworkHash[] = "network_hash";
constexpr char kRunProgress[] = "run_progress";
constexpr char kExperiment[] = "experiment";
constexpr char kEnvSteps[] = "env_steps";
constexpr char kRemark[] = "remark";

absl::StatusOr<std::string> TextOf(const CheckpointContents& contents, const char* name) {
  const auto it = contents.texts.find(name);
  if (it == contents.texts.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("holds no weights by themselves: a checkpoint of those has a text \"", name, "\""));
  }
  return it->second;
}

template <class Number, class Parse>
absl::Status ParseNumber(const CheckpointContents& contents, const char* name, Parse parse, Number* out) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, TextOf(contents, name));
  return parse(text, out) ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrCat(name, ": \"", text, "\" is not a number"));
}

}  // namespace

CheckpointContents ToCheckpoint(const SavedModel& model) {
  CheckpointContents contents;
  contents.step = static_cast<int64_t>(model.snapshot.version.version);
  contents.texts = {{kModel, model.snapshot.model},
                    {kCheckpointEpoch, absl::StrCat(model.snapshot.version.epoch)},
                    {kNetworkHash, absl::StrCat(model.snapshot.network_hash)},
                    {kExperiment, model.experiment_yaml},
                    {kEnvSteps, absl::StrCat(model.snapshot.progress.env_steps)}};
  if (model.snapshot.progress.run > 0) {
    contents.texts[kRunProgress] = absl::StrFormat("%.17g", model.snapshot.progress.run);
  }
  if (!model.remark.empty()) {
    contents.texts[kRemark] = model.remark;
  }
  size_t offset = 0;
  for (const ArraySpec& spec : model.snapshot.tensors) {
    const size_t bytes = static_cast<size_t>(spec.NumBytes());
    contents.arrays.push_back({spec, model.snapshot.data.Part(offset, bytes)});
    offset += bytes;
  }
  return contents;
}

absl::StatusOr<SavedModel> ToSavedModel(const CheckpointContents& contents) {
  const auto integer = [](const std::string& text, uint64_t* out) { return absl::SimpleAtoi(text, out); };
  const auto real = [](const std::string& text, double* out) { return absl::SimpleAtod(text, out); };
  SavedModel model;
  ModelSnapshot& snapshot = model.snapshot;
  WAGGLE_ASSIGN_OR_RETURN(snapshot.model, TextOf(contents, kModel));
  WAGGLE_ASSIGN_OR_RETURN(model.experiment_yaml, TextOf(contents, kExperiment));
  WAGGLE_RETURN_IF_ERROR(ParseNumber(contents, kCheckpointEpoch, integer, &snapshot.version.epoch));
  WAGGLE_RETURN_IF_ERROR(ParseNumber(contents, kNetworkHash, integer, &snapshot.network_hash));
  double env_steps = 0;
  WAGGLE_RETURN_IF_ERROR(ParseNumber(contents, kEnvSteps, real, &env_steps));
  if (const auto remark = contents.texts.find(kRemark); remark != contents.texts.end()) {
    model.remark = remark->second;
  }
  snapshot.version.version = static_cast<uint64_t>(contents.step);
  if (contents.texts.count(kRunProgress) > 0) {
    WAGGLE_RETURN_IF_ERROR(ParseNumber(contents, kRunProgress, real, &snapshot.progress.run));
  }
  snapshot.progress.learner_steps = contents.step;
  snapshot.progress.env_steps = static_cast<int64_t>(std::clamp(env_steps, 0.0, 1e15));
  for (const CheckpointArray& array : contents.arrays) {
    snapshot.tensors.push_back(array.spec);
    for (const ByteSlice& slice : array.data.slices()) {
      snapshot.data.Append(slice);
    }
  }
  return model;
}

absl::Status WriteSavedModel(const SavedModel& model, CheckpointStore* store) {
  const CheckpointContents contents = ToCheckpoint(model);
  WAGGLE_RETURN_IF_ERROR(store->Save(contents));
  return store->RemoveLater(contents.step);
}

absl::StatusOr<SavedModel> LoadSavedModel(const std::string& folder) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::OpenToRead(folder));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<CheckpointContents> contents, store->LoadLatest());
  if (!contents.has_value()) {
    return absl::NotFoundError(absl::StrCat("no weights in ", folder));
  }
  absl::StatusOr<SavedModel> model = ToSavedModel(*contents);
  if (!model.ok()) {
    return Annotate(model.status(), folder);
  }
  return model;
}

}  // namespace waggle
