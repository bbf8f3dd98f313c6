#include "common/config/plan/head_kinds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

// Types of a head that each kind allows; the first is the default.
std::vector<std::string> TypesOf(HeadKind kind) {
  switch (kind) {
    case HeadKind::kQ:
      return {"q", "dueling"};
    case HeadKind::kValue:
      return {"value"};
    case HeadKind::kCategorical:
      return {"categorical"};
    case HeadKind::kNormal:
      return {"normal"};
    case HeadKind::kTanhNormal:
      return {"tanh_normal"};
    case HeadKind::kDeterministic:
      return {"deterministic"};
    case HeadKind::kMixed:
      return {"mixed"};
    case HeadKind::kCategoricalQ:
      return {"categorical_q", "dueling"};
    case HeadKind::kQuantileQ:
      return {"quantile_q", "dueling"};
    case HeadKind::kQuantiles:
      return {"quantiles"};
    case HeadKind::kVector:
      return {"vector"};
  }
  return {};
}

}  // namespace

std::string Name(HeadKind kind) {
  return TypesOf(kind)[0];
}

std::string TypeOf(HeadKind kind, const HeadSpec& head) {
  return head.type.empty() ? Name(kind) : head.type;
}

absl::Status CheckHead(HeadKind kind, const HeadSpec& head) {
  Problems problems;
  const std::vector<std::string> types = TypesOf(kind);
  const std::string type = TypeOf(kind, head);
  problems.AddUnless(std::find(types.begin(), types.end(), type) != types.end(), "type: got \"", type, "\"; wanted ",
                     types.size() > 1 ? "one of " : "", absl::StrJoin(types, ", "), DidYouMean(type, types));
  const auto only_of = [&](bool has_meaning, const char* field, bool is_given, const char* wanted) {
    problems.AddUnless(has_meaning || !is_given, field, ": means nothing to a ", Name(kind), " head; wanted none, or ",
                       wanted);
  };
  const bool normal = kind == HeadKind::kNormal || kind == HeadKind::kMixed;
  const bool tanh_normal = kind == HeadKind::kTanhNormal;
  only_of(normal, "std", !head.std.empty(), "a normal head");
  problems.AddUnless(!normal || head.std.empty() || head.std == "free" || head.std == "of_state", "std: got \"",
                     head.std, "\"; wanted one of free, of_state", DidYouMean(head.std, {"free", "of_state"}));
  only_of(normal && head.has_free_std(), "initial_std", head.initial_std.has_value(),
          "a normal head whose std is free");
  only_of(tanh_normal, "min_log_std", head.min_log_std.has_value(), "a tanh_normal head");
  only_of(tanh_normal, "max_log_std", head.max_log_std.has_value(), "a tanh_normal head");
  return problems.ToStatus();
}

HeadKind PolicyHead(const EnvironmentSpec& environment) {
  const auto real = [](const SpaceLeaf& action) { return action.kind == SpaceKind::kBox; };
  const std::vector<SpaceLeaf>& actions = environment.actions;
  if (std::none_of(actions.begin(), actions.end(), real)) {
    return HeadKind::kCategorical;
  }
  return std::all_of(actions.begin(), actions.end(), real) ? HeadKind::kNormal : HeadKind::kMixed;
}

bool Suits(HeadKind kind, const JointAction& action) {
  const bool has_choices = !action.num_values.empty();
  const bool has_reals = action.num_reals > 0;
  switch (kind) {
    case HeadKind::kQ:
    case HeadKind::kCategoricalQ:
    case HeadKind::kQuantileQ:
      return action.is_scalar;
    case HeadKind::kValue:
    case HeadKind::kQuantiles:
    case HeadKind::kVector:
      return true;
    case HeadKind::kCategorical:
      return !has_reals;
    case HeadKind::kNormal:
    case HeadKind::kDeterministic:
      return !has_choices;
    case HeadKind::kTanhNormal:
      return has_reals;
    case HeadKind::kMixed:
      return has_choices && has_reals;
  }
  return false;
}

bool GivesChoicesValues(HeadKind kind) {
  return kind == HeadKind::kQ || kind == HeadKind::kCategoricalQ || kind == HeadKind::kQuantileQ;
}

bool GivesPolicy(HeadKind kind) {
  return kind == HeadKind::kCategorical || kind == HeadKind::kNormal || kind == HeadKind::kTanhNormal ||
         kind == HeadKind::kDeterministic || kind == HeadKind::kMixed;
}

int64_t NumOutputs(const HeadNeed& need, const HeadSpec& head, const JointAction& action) {
  const int64_t normals = head.has_free_std() ? action.num_reals : 2 * action.num_reals;
  switch (need.kind) {
    case HeadKind::kQ:
    case HeadKind::kCategorical:
      return action.TotalChoices();
    case HeadKind::kNormal:
      return normals;
    case HeadKind::kTanhNormal:
      return 2 * action.num_reals;
    case HeadKind::kDeterministic:
      return action.num_reals;
    case HeadKind::kMixed:
      return action.TotalChoices() + normals;
    case HeadKind::kCategoricalQ:
    case HeadKind::kQuantileQ:
      return action.TotalChoices() * need.size;
    case HeadKind::kValue:
    case HeadKind::kQuantiles:
    case HeadKind::kVector:
      return need.size;
  }
  return 0;
}

}  // namespace waggle
