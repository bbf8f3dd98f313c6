#include "common/nn/weights_codec.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

// Describes the first tensor in which the two differ.
std::string FirstDifference(const std::vector<ArraySpec>& got, const std::vector<ArraySpec>& wanted) {
  for (size_t i = 0; i < std::max(got.size(), wanted.size()); ++i) {
    if (i >= got.size() || i >= wanted.size() || got[i] != wanted[i]) {
      return absl::StrCat("tensor ", i, " is ", i < got.size() ? got[i].DebugString() : "missing", "; wanted ",
                          i < wanted.size() ? wanted[i].DebugString() : "no more");
    }
  }
  return "";
}

std::vector<ArraySpec> LayoutOf(const std::vector<NamedParameters>& networks) {
  std::vector<ArraySpec> layout;
  for (const NamedParameters& network : networks) {
    for (ArraySpec spec : network.parameters->layout()) {
      if (networks.size() > 1) {
        spec.name = absl::StrCat(network.network, ".", spec.name);
      }
      layout.push_back(std::move(spec));
    }
  }
  return layout;
}

int64_t SizeOf(const std::vector<NamedParameters>& networks) {
  int64_t size = 0;
  for (const NamedParameters& network : networks) {
    size += network.parameters->size();
  }
  return size;
}

}  // namespace

absl::StatusOr<ModelSnapshot> EncodeWeights(const std::vector<NamedParameters>& networks, uint64_t network_hash) {
  return CatchTorch("copying weights", [&] {
    torch::NoGradGuard no_grad;
    const size_t bytes = static_cast<size_t>(SizeOf(networks)) * sizeof(float);
    const std::shared_ptr<char> data = AllocateBytes(bytes);
    auto* to = reinterpret_cast<float*>(data.get());
    for (const NamedParameters& network : networks) {
      torch::from_blob(to, {network.parameters->size()}, torch::kFloat32).copy_(network.parameters->values());
      to += network.parameters->size();
    }
    ModelSnapshot snapshot;
    snapshot.tensors = LayoutOf(networks);
    snapshot.network_hash = network_hash;
    snapshot.data = ByteSlices(ByteSlice{data.get(), bytes, data});
    return snapshot;
  });
}

absl::Status DecodeWeights(const ModelSnapshot& snapshot, uint64_t network_hash,
                           const std::vector<NamedParameters>& networks) {
  const std::string difference = FirstDifference(snapshot.tensors, LayoutOf(networks));
  if (!difference.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("model \"", snapshot.model, "\": the weights are of another network: ", difference));
  }
  if (snapshot.network_hash != network_hash) {
    return absl::FailedPreconditionError(absl::StrCat(
        "model \"", snapshot.model, "\": the weights are of another network: its hash is ",
        absl::StrFormat("%016x", snapshot.network_hash), ", wanted ", absl::StrFormat("%016x", network_hash)));
  }
  const int64_t count = SizeOf(networks);
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  if (snapshot.data.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("model \"", snapshot.model, "\": ", snapshot.data.size(), " bytes of weights; wanted ", bytes));
  }
  const std::shared_ptr<const char> data = InOneRun(snapshot.data);
  if (const int64_t index = FindNonFinite(DType::kFloat32, data.get(), count); index >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model \"", snapshot.model, "\": weight ", index, " of ", count, " is not finite"));
  }
  return CatchTorch("loading weights", [&] {
    torch::NoGradGuard no_grad;
    auto* from = reinterpret_cast<float*>(const_cast<char*>(data.get()));
    for (const NamedParameters& network : networks) {
      network.parameters->values().copy_(torch::from_blob(from, {network.parameters->size()}, torch::kFloat32));
      from += network.parameters->size();
    }
  });
}

}  // namespace waggle
