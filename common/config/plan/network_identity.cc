#include "common/config/plan/network_identity.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/plan/head_kinds.h"
#include "xxhash.h"

namespace waggle {
namespace {

void HashLayers(const std::vector<LayerPlan>& layers, std::string* text) {
  for (const LayerPlan& layer : layers) {
    absl::StrAppend(text, static_cast<int>(layer.kind), " ", layer.weight, " ", layer.stride, " ", layer.padding, " ",
                    static_cast<int>(layer.activation), " [", absl::StrJoin(layer.num_values, ","), "] (");
    HashLayers(layer.inner, text);
    absl::StrAppend(text, ")\n");
  }
}

int64_t RowValues(const std::vector<LayerPlan>& layers) {
  int64_t values = 0;
  for (const LayerPlan& layer : layers) {
    values += ArraySpec{"", DType::kFloat32, layer.output_shape}.NumElements() + RowValues(layer.inner);
  }
  return values;
}

bool Chooses(const HeadPlan& head) {
  return GivesChoicesValues(head.kind) || head.kind == HeadKind::kCategorical || head.kind == HeadKind::kMixed;
}

}  // namespace

uint64_t IdentityHash(const NetworkPlan& plan, const EnvironmentSpec& environment) {
  std::string text = "waggle network 2\n";
  for (const TrunkPlan& trunk : plan.trunks) {
    absl::StrAppend(&text, trunk.sum ? "sum" : "concat", "\n");
    for (const EncoderPlan& encoder : trunk.encoders) {
      absl::StrAppend(&text, encoder.array.DebugString(), "\n");
      HashLayers(encoder.layers, &text);
    }
    absl::StrAppend(&text, "torso\n");
    HashLayers(trunk.torso, &text);
    for (const CorePlan& core : trunk.cores) {
      absl::StrAppend(&text, "core ", static_cast<int>(core.kind), " ", core.weight, "\n");
    }
    for (const EncoderPlan& multiplier : trunk.multipliers) {
      absl::StrAppend(&text, "times ", multiplier.array.DebugString(), "\n");
      HashLayers(multiplier.layers, &text);
    }
  }
  if (environment.actions.size() > 1) {
    absl::StrAppend(&text, DebugString(ArraysOf(environment.actions)), "\n");
  }
  const std::string masks = absl::StrJoin(
      plan.action.parts, ",", [](std::string* list, const auto& part) { absl::StrAppend(list, part.mask); });
  for (const HeadPlan& head : plan.heads) {
    absl::StrAppend(&text, head.name, " ", static_cast<int>(head.kind), " ", head.trunk, " ", head.outputs, " [",
                    Chooses(head) ? absl::StrJoin(plan.action.num_values, ",") : "", "] ", head.free_log_std, " ",
                    head.min_log_std, " ", head.max_log_std, " ", masks, "\n");
    if (head.size != 1 || head.low != 0 || head.high != 0) {
      absl::StrAppend(&text, "size ", head.size, " from ", head.low, " to ", head.high, "\n");
    }
    HashLayers(head.layers, &text);
    absl::StrAppend(&text, "value\n");
    HashLayers(head.value, &text);
  }
  absl::StrAppend(&text, DebugString(plan.parameters));
  return XXH3_64bits(text.data(), text.size());
}

uint64_t IdentityHash(const std::vector<const NetworkPlan*>& networks) {
  std::string text;
  for (const NetworkPlan* const network : networks) {
    absl::StrAppend(&text, network->name, " ", network->hash, "\n");
  }
  return XXH3_64bits(text.data(), text.size());
}

int64_t RowValues(const NetworkPlan& plan) {
  int64_t values = 0;
  for (const NormalizerPlan& normalizer : plan.normalizers) {
    values += normalizer.array.NumElements();
  }
  for (const TrunkPlan& trunk : plan.trunks) {
    for (const EncoderPlan& encoder : trunk.encoders) {
      values += encoder.array.NumElements() + RowValues(encoder.layers);
    }
    for (const EncoderPlan& multiplier : trunk.multipliers) {
      values += multiplier.array.NumElements() + RowValues(multiplier.layers);
    }
    values += RowValues(trunk.torso);
    if (!trunk.cores.empty()) {
      values += trunk.cores[0].gates() * trunk.cores[0].units + trunk.cores[0].state_size();
    }
  }
  for (const HeadPlan& head : plan.heads) {
    values += RowValues(head.layers) + RowValues(head.value) + (Chooses(head) ? plan.action.SideBySide() : 0);
  }
  return values * plan.members.value_or(1);
}

}  // namespace waggle
