#include "common/rl/checkpoint/saved_parameters.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace waggle {
namespace {

// A learner's state names values by paths: "state/model/NETWORK/online/PARAMETER", "state/model/NUMBER/value".
SavedParameters OfLearner(const CheckpointContents& contents) {
  SavedParameters parameters;
  for (const CheckpointArray& array : contents.arrays) {
    absl::string_view path = array.spec.name;
    if (!absl::ConsumePrefix(&path, "state/model/")) {
      continue;
    }
    const std::vector<std::string> parts = absl::StrSplit(path, absl::MaxSplits('/', 2));
    if (parts.size() == 2 && parts[1] == "value") {
      // The state has a learned number as a vector of one.
      const bool is_number = array.spec.NumElements() == 1;
      parameters[parts[0]] = {
          {array.spec.name, array.spec.dtype, is_number ? std::vector<int64_t>() : array.spec.shape}, array.data};
    } else if (parts.size() == 3 && parts[1] == "online") {
      parameters[absl::StrCat(parts[0], ".", parts[2])] = array;
    }
  }
  return parameters;
}

// Published weights of one network have no network's name before those of their parameters.
SavedParameters OfSnapshot(const ModelSnapshot& snapshot, const std::vector<std::string>& published) {
  SavedParameters parameters;
  size_t offset = 0;
  for (const ArraySpec& spec : snapshot.tensors) {
    const auto bytes = static_cast<size_t>(spec.NumBytes());
    std::string name = published.size() == 1 ? absl::StrCat(published[0], ".", spec.name) : spec.name;
    if (const std::string network = name.substr(0, name.find('.')); name == absl::StrCat(network, ".", network)) {
      name = network;
    }
    parameters[name] = {spec, snapshot.data.Part(offset, bytes)};
    offset += bytes;
  }
  return parameters;
}

}  // namespace

SavedParameters ParametersOf(const SavedWeights& weights, const std::vector<std::string>& published) {
  return weights.learner.has_value() ? OfLearner(*weights.learner) : OfSnapshot(*weights.snapshot, published);
}

}  // namespace waggle
