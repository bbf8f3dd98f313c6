#include "common/rl/modules/intrinsic/definition.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/rl/modules/decoder/decoder.h"
#include "common/rl/modules/definitions.h"

namespace waggle {
namespace {

// The numbers that it predicts.
int64_t Width(const DecoderOptions& options, const EnvironmentSpec& environment) {
  if (options.predicts == "reward") {
    return 1;
  }
  int64_t width = 0;
  for (const SpaceLeaf& leaf : environment.observations) {
    width += leaf.kind == SpaceKind::kBox ? leaf.array.NumElements() : 0;
  }
  return width;
}

// True if a network of the algorithm gives features of observations alone, without a core.
bool Fits(const NetworkNeed& need, const PlanContext& context) {
  const auto spec = context.networks.find(need.name);
  const bool has_core = spec != context.networks.end() && spec->second.core.type != "none";
  return need.learns && !need.is_modules && need.takes_observation && !need.takes_action && need.extra.empty() &&
         !has_core;
}

absl::Status Extend(const DecoderOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  std::vector<std::string> fitting;
  NetworkNeed* chosen = nullptr;
  for (NetworkNeed& need : plan->networks) {
    if (Fits(need, context)) {
      fitting.push_back(need.name);
      chosen = chosen == nullptr && (options.network.empty() || options.network == need.name) ? &need : chosen;
    }
  }
  if (chosen == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: got ", options.network.empty() ? "none" : options.network,
                     "; wanted one that has observations as its only inputs, and no core: ",
                     fitting.empty() ? "the algorithm has none" : absl::StrJoin(fitting, ", ")));
  }
  if (options.predicts == "reward") {
    WAGGLE_RETURN_IF_ERROR(CheckScalarReward(context));
  }
  const int64_t width = Width(options, context.environment);
  if (width == 0) {
    return absl::InvalidArgumentError(absl::StrCat("predicts: got ", options.predicts, ", and environment ",
                                                   context.environment.name, " shows no numbers; wanted reward"));
  }
  chosen->heads[kDecoderHead] = {HeadKind::kVector, width};
  ShowAllRows(context.environment.observations, plan);
  return absl::OkStatus();
}

}  // namespace

void DecoderOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("network", &network);
  visitor.Choice("predicts", &predicts, {"next_observation", "observation", "reward"});
  visitor.Double("weight", &weight, In(0, 1e6).Live());
}

ModuleDefinition decoder_module_definition() {
  return DefineModule("A head that predicts what comes next, so that features describe it", ModuleStage::kLosses,
                      Extend);
}

}  // namespace waggle
