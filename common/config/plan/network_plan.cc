#include "common/config/plan/network_plan.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace waggle {

bool NetworkPlan::Sees(int64_t leaf) const {
  const auto encodes = [leaf](const TrunkPlan& trunk) {
    return std::any_of(trunk.encoders.begin(), trunk.encoders.end(),
                       [leaf](const EncoderPlan& encoder) { return encoder.leaf == leaf; });
  };
  return std::any_of(trunks.begin(), trunks.end(), encodes) ||
         std::any_of(action.parts.begin(), action.parts.end(),
                     [leaf](const JointAction::Part& part) { return part.mask == leaf; });
}

bool NetworkPlan::HasBatchNorm() const {
  bool has = false;
  ForEachLayer(*this, [&has](const LayerPlan& layer) { has = has || layer.kind == LayerPlan::Kind::kBatchNorm; });
  return has;
}

std::string NormalizerPlan::StatisticsName() const {
  const std::string& name = array.name;
  return average.average == "window"        ? absl::StrCat(name, ".window_", average.window)
         : average.average == "exponential" ? absl::StrCat(name, ".exponential_", average.rate)
         : average.average == "adaptive"    ? absl::StrCat(name, ".adaptive_", average.speed)
                                            : name;
}

const HeadPlan* NetworkPlan::FindHead(const std::string& head) const {
  for (const HeadPlan& plan : heads) {
    if (plan.name == head) {
      return &plan;
    }
  }
  return nullptr;
}

ArraySpec CoreStateColumn(const NetworkPlan& network) {
  return ArraySpec{kCoreState, DType::kFloat32, {network.state_size}};
}

}  // namespace waggle
