#include "actor/environments/builtin/null_environment.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "actor/environments/environment_settings.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Calls `visit` with a null pointer to the elements' type.
template <class Visit>
auto WithType(const SpaceLeaf& leaf, const Visit& visit) {
  switch (leaf.array.dtype) {
    case DType::kBool:
      return visit(static_cast<bool*>(nullptr));
    case DType::kUint8:
      return visit(static_cast<uint8_t*>(nullptr));
    case DType::kInt8:
      return visit(static_cast<int8_t*>(nullptr));
    case DType::kInt16:
      return visit(static_cast<int16_t*>(nullptr));
    case DType::kInt32:
      return visit(static_cast<int32_t*>(nullptr));
    case DType::kInt64:
      return visit(static_cast<int64_t*>(nullptr));
    case DType::kFloat64:
      return visit(static_cast<double*>(nullptr));
    default:
      WAGGLE_CHECK(leaf.array.dtype == DType::kFloat32, "boxes have elements of a type of LeafOptions");
      return visit(static_cast<float*>(nullptr));
  }
}

double Draw(const SpaceLeaf& leaf, int64_t element, Rng* rng) {
  if (IsActionMask(leaf)) {
    return 1;
  }
  if (leaf.kind == SpaceKind::kMultiBinary) {
    return static_cast<double>(rng->UniformInt(2));
  }
  if (!leaf.num_values.empty()) {
    return static_cast<double>(rng->UniformInt(static_cast<uint64_t>(leaf.num_values[static_cast<size_t>(element)])));
  }
  const double value = leaf.low.empty() ? rng->Uniform() : rng->Uniform(leaf.Low(element), leaf.High(element));
  return IsFloatingPoint(leaf.array.dtype) ? value : std::round(value);
}

std::vector<char> DrawAll(const SpaceLeaf& leaf, Rng* rng) {
  std::vector<char> data(static_cast<size_t>(leaf.array.NumBytes()));
  WithType(leaf, [&](auto* type) {
    using Element = std::remove_pointer_t<decltype(type)>;
    for (int64_t i = 0; i < leaf.array.NumElements(); ++i) {
      const auto value = static_cast<Element>(Draw(leaf, i, rng));
      std::memcpy(data.data() + static_cast<size_t>(i) * sizeof(value), &value, sizeof(value));
    }
  });
  return data;
}

}  // namespace

EnvironmentDefinition NullEnvironment::Definition() {
  EnvironmentDefinition definition;
  definition.description = "Nothing happens, in configured spaces, to measure the system around it";
  definition.spec = [](const EnvironmentOptions& options) -> absl::StatusOr<EnvironmentSpec> {
    WAGGLE_RETURN_IF_ERROR(ReadSettings<NoSettings>(options).status());
    return options.spec.Spec();
  };
  definition.create = [](const EnvironmentOptions& options,
                         uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    WAGGLE_RETURN_IF_ERROR(ReadSettings<NoSettings>(options).status());
    return std::make_unique<NullEnvironment>(options.spec.Spec(), seed);
  };
  return definition;
}

NullEnvironment::NullEnvironment(EnvironmentSpec spec, uint64_t seed)
    : EpisodicEnvironment(std::move(spec)), num_rewards_(NumRewards(this->spec().rewards)) {
  Rng rng(seed);
  for (const SpaceLeaf& leaf : this->spec().observations) {
    shown_.push_back(DrawAll(leaf, &rng));
  }
}

void NullEnvironment::Start(absl::Span<void* const> observations) {
  for (size_t i = 0; i < shown_.size(); ++i) {
    std::memcpy(observations[i], shown_[i].data(), shown_[i].size());
  }
}

bool NullEnvironment::Advance(absl::Span<const void* const>, absl::Span<void* const> observations, float* rewards) {
  std::fill_n(rewards, num_rewards_, 0.0F);
  Start(observations);
  return false;
}

}  // namespace waggle
