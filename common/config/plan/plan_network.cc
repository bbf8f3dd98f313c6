#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/field_checker.h"
#include "common/config/plan/head_kinds.h"
#include "common/config/plan/layer_planner.h"
#include "common/config/plan/network_identity.h"
#include "common/config/plan/network_plan.h"
#include "common/config/plan/plan_keys.h"
#include "common/config/spec/agent_view.h"

namespace waggle {
namespace {

// Elements of a leaf in a window of batches. Each update reads all of them, and each takes 16 bytes.
constexpr int64_t kMaxWindowElements = int64_t{1} << 20;

class Planner {
 public:
  // `sources` are the environment's names of each agent's leaves.
  Planner(const NetworkNeed& need, const NetworkSpec& network, const EnvironmentSpec& environment,
          const std::vector<std::vector<std::string>>& sources)
      : need_(need),
        network_(network),
        environment_(environment),
        sources_(sources),
        layers_(need.members, &plan_.parameters, &statistics_) {}

  absl::StatusOr<NetworkPlan> Plan() {
    plan_.name = need_.name;
    plan_.action = JointActionOf(environment_);
    plan_.takes_action = need_.takes_action;
    plan_.extra = need_.extra;
    plan_.has_target = need_.has_target;
    plan_.members = need_.members;
    absl::Status trunk = CheckEncoders();
    const auto shares = [&](const auto& head) { return SpecOf(head.first).shares != "nothing"; };
    if (trunk.ok() && std::any_of(need_.heads.begin(), need_.heads.end(), shares)) {
      trunk = AddTrunk("");
    }
    Problems problems;
    problems.AddIfBad("", trunk);
    problems.AddIfBad("", CheckHeads());
    WAGGLE_RETURN_IF_ERROR(problems.ToStatus());
    for (const auto& [name, head] : need_.heads) {
      WAGGLE_RETURN_IF_ERROR(AddHead(name, head, SpecOf(name)));
    }
    for (const ArraySpec& parameter : plan_.parameters) {
      plan_.num_learned += parameter.NumElements();
    }
    WAGGLE_RETURN_IF_ERROR(AddStatistics());
    WAGGLE_RETURN_IF_ERROR(AddNormalizers());
    return Finish();
  }

 private:
  std::string Key(const std::string& key) const { return absl::StrCat("networks.", need_.name, ".", key); }

  HeadSpec SpecOf(const std::string& head) const {
    const auto spec = network_.heads.find(head);
    return spec == network_.heads.end() ? HeadSpec() : spec->second;
  }

  // True if the algorithm does not let the network see this leaf.
  bool Hides(const SpaceLeaf& leaf) const {
    return !need_.takes_observation ||
           std::find(need_.hidden.begin(), need_.hidden.end(), leaf.array.name) != need_.hidden.end();
  }

  // True if the network does not see this leaf.
  bool Ignores(const SpaceLeaf& leaf) const {
    if (Hides(leaf)) {
      return true;
    }
    const auto given = network_.encoders.find(EncoderName(leaf.array.name));
    return given != network_.encoders.end() && given->second.size() == 1 && given->second[0].type == kIgnore;
  }

  absl::Status CheckKnown(const char* what, const std::vector<std::string>& names,
                          const std::vector<std::string>& known) const {
    Problems problems;
    for (const std::string& name : names) {
      problems.AddUnless(std::find(known.begin(), known.end(), name) != known.end(), Key(absl::StrCat(what, ".", name)),
                         ": there is no such input or output of the network", DidYouMean(name, known),
                         "; known: ", absl::StrJoin(known, ", "));
    }
    return problems.ToStatus();
  }

  absl::Status CheckEncoders() const {
    std::vector<std::string> inputs;
    for (const SpaceLeaf& leaf : environment_.observations) {
      if (!IsActionMask(leaf) && !Hides(leaf)) {
        inputs.push_back(EncoderName(leaf.array.name));
      }
    }
    Problems problems;
    if (need_.takes_action) {
      problems.AddUnless(std::find(inputs.begin(), inputs.end(), kActionRoot) == inputs.end(),
                         Key(absl::StrCat("encoders.", kActionRoot)),
                         ": is the action, which the network takes, and an observation of environment ",
                         environment_.name, "; wanted another name for the observation");
      inputs.emplace_back(kActionRoot);
    }
    for (const InputNeed& input : need_.extra) {
      problems.AddUnless(std::find(inputs.begin(), inputs.end(), input.name) == inputs.end(),
                         Key(absl::StrCat("encoders.", input.name)),
                         ": is the algorithm's own input, and another input; wanted another name");
      inputs.push_back(input.name);
    }
    problems.AddIfBad("", CheckKnown("encoders", KeysOf(network_.encoders), inputs));
    return problems.ToStatus();
  }

  absl::Status CheckHeads() const {
    Problems problems;
    problems.AddIfBad("", CheckKnown("heads", KeysOf(network_.heads), KeysOf(need_.heads)));
    for (const auto& [name, head] : need_.heads) {
      problems.AddIfBad("", Behind(Key(absl::StrCat("heads.", name, ".")), CheckHead(head.kind, SpecOf(name))));
    }
    return problems.ToStatus();
  }

  // `prefix` begins the names of its parameters: "" for the heads' shared trunk.
  absl::Status AddTrunk(const std::string& prefix) {
    TrunkPlan trunk;
    trunk.sum = network_.join == "sum";
    for (size_t i = 0; i < environment_.observations.size(); ++i) {
      if (!IsActionMask(environment_.observations[i]) && !Ignores(environment_.observations[i])) {
        WAGGLE_RETURN_IF_ERROR(AddEncoder(prefix, static_cast<int64_t>(i), environment_.observations[i], &trunk));
      }
    }
    if (trunk.encoders.empty() && !need_.takes_action && need_.extra.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          Key("encoders"), ": all leaves of the observation are ignored; wanted one at least that is not"));
    }
    if (need_.takes_action) {
      const absl::StatusOr<SpaceLeaf> action = AsOneLeaf(environment_);
      WAGGLE_RETURN_IF_ERROR(Annotate(action.status(), absl::StrCat("networks.", need_.name)));
      WAGGLE_RETURN_IF_ERROR(AddEncoder(prefix, -1, *action, &trunk));
    }
    for (size_t i = 0; i < need_.extra.size(); ++i) {
      if (!need_.extra[i].multiplies) {
        WAGGLE_RETURN_IF_ERROR(AddEncoder(prefix, ExtraIndex(i), ExtraLeaf(i), &trunk));
      }
    }
    if (trunk.encoders.size() > 1) {
      WAGGLE_RETURN_IF_ERROR(Join(&trunk));
    }
    WAGGLE_RETURN_IF_ERROR(AddLayers("torso", absl::StrCat(prefix, "torso"), network_.torso, &trunk.torso));
    WAGGLE_RETURN_IF_ERROR(Annotate(AddCore(absl::StrCat(prefix, "core"), &trunk), Key("core")));
    features_ = layers_;
    WAGGLE_RETURN_IF_ERROR(AddMultipliers(prefix, &trunk));
    layers_ = features_;
    plan_.trunks.push_back(std::move(trunk));
    return absl::OkStatus();
  }

  static int64_t ExtraIndex(size_t i) { return -2 - static_cast<int64_t>(i); }
  SpaceLeaf ExtraLeaf(size_t i) const {
    SpaceLeaf leaf;
    leaf.array = {need_.extra[i].name, DType::kFloat32, {need_.extra[i].width}};
    return leaf;
  }

  absl::Status AddMultipliers(const std::string& prefix, TrunkPlan* trunk) {
    for (size_t i = 0; i < need_.extra.size(); ++i) {
      if (!need_.extra[i].multiplies) {
        continue;
      }
      if (features_.raw() || features_.shape().size() != 1) {
        return absl::InvalidArgumentError(Key("torso") + ": wanted a vector: the algorithm's own input multiplies it");
      }
      TrunkPlan parts;
      WAGGLE_RETURN_IF_ERROR(AddEncoder(prefix, ExtraIndex(i), ExtraLeaf(i), &parts));
      EncoderPlan& multiplier = parts.encoders[0];
      WAGGLE_RETURN_IF_ERROR(layers_.AddDense(absl::StrCat(prefix, "multipliers.", multiplier.name), features_.width(),
                                              Activation::kRelu, Initialization::kDefault, std::nullopt, /*noise=*/0,
                                              &multiplier.layers));
      trunk->multipliers.push_back(std::move(multiplier));
    }
    return absl::OkStatus();
  }

  // The running statistics of batch_norm layers.
  absl::Status AddStatistics() {
    if (!statistics_.empty() && !need_.learns_by_batch) {
      return absl::InvalidArgumentError(
          absl::StrCat("networks.", need_.name,
                       ": got a batch_norm layer, which the algorithm's updates do not train; wanted layer_norm"));
    }
    const auto first = static_cast<int64_t>(plan_.parameters.size());
    ForEachLayer(plan_, [first](LayerPlan& layer) { layer.statistics += layer.statistics >= 0 ? first : 0; });
    plan_.parameters.insert(plan_.parameters.end(), statistics_.begin(), statistics_.end());
    return absl::OkStatus();
  }

  // All trunks and members share them.
  absl::Status AddNormalizers() {
    if (!network_.normalize_observations) {
      return absl::OkStatus();
    }
    for (size_t i = 0; i < environment_.observations.size(); ++i) {
      const SpaceLeaf& leaf = environment_.observations[i];
      const bool is_real = leaf.array.dtype == DType::kFloat32 || leaf.array.dtype == DType::kFloat64;
      if (leaf.kind != SpaceKind::kBox || !is_real || Ignores(leaf)) {
        continue;
      }
      const std::string name = absl::StrCat("normalizers.", EncoderName(leaf.array.name));
      NormalizerPlan normalizer{leaf.array, static_cast<int64_t>(i), static_cast<int64_t>(plan_.parameters.size())};
      normalizer.deviation = normalizer.mean + 1;
      normalizer.array.name = sources_[0][i];
      for (size_t agent = 1; agent < sources_.size(); ++agent) {
        normalizer.also.push_back(sources_[agent][i]);
      }
      normalizer.average = network_.normalizer;
      if (network_.normalizer.average == "window" &&
          leaf.array.NumElements() > kMaxWindowElements / network_.normalizer.window) {
        return absl::InvalidArgumentError(absl::StrCat(
            Key("normalizer.window"), ": got ", network_.normalizer.window, "; wanted at most ",
            kMaxWindowElements / leaf.array.NumElements(), " batches' means of ", leaf.array.DebugString()));
      }
      plan_.parameters.push_back({absl::StrCat(name, ".mean"), DType::kFloat32, leaf.array.shape});
      plan_.parameters.push_back({absl::StrCat(name, ".deviation"), DType::kFloat32, leaf.array.shape});
      plan_.normalizers.push_back(std::move(normalizer));
    }
    if (plan_.normalizers.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          Key("normalize_observations"),
          need_.takes_observation ? absl::StrCat(": environment ", environment_.name, " shows no real numbers")
                                  : ": the network takes no observations",
          "; wanted false"));
    }
    return absl::OkStatus();
  }

  absl::Status AddCore(const std::string& name, TrunkPlan* trunk) {
    if (network_.core.type == "none") {
      return absl::OkStatus();
    }
    if (!layers_.raw() && layers_.shape().size() != 1) {
      layers_.AddFlatten(&trunk->torso);  // A convolution's output.
    }
    WAGGLE_ASSIGN_OR_RETURN(trunk->cores, layers_.AddCores(name, network_.core, plan_.state_size));
    for (const CorePlan& core : trunk->cores) {
      plan_.state_size += core.state_size();
    }
    return absl::OkStatus();
  }

  absl::Status AddEncoder(const std::string& prefix, int64_t index, const SpaceLeaf& leaf, TrunkPlan* trunk) {
    EncoderPlan encoder;
    encoder.name = index == -1 ? kActionRoot : index < 0 ? leaf.array.name : EncoderName(leaf.array.name);
    encoder.leaf = index;
    encoder.array = leaf.array;
    const bool number = leaf.array.shape.empty() && leaf.num_values.empty();  // Becomes a vector of one.
    layers_.Begin(number ? std::vector<int64_t>{1} : leaf.array.shape, leaf.num_values);
    const auto given = network_.encoders.find(encoder.name);
    if (given != network_.encoders.end()) {
      WAGGLE_RETURN_IF_ERROR(AddLayers(absl::StrCat("encoders.", encoder.name),
                                       absl::StrCat(prefix, "encoders.", encoder.name), given->second,
                                       &encoder.layers));
    }
    if (layers_.choices()) {
      WAGGLE_RETURN_IF_ERROR(
          Annotate(layers_.AddOneHot(&encoder.layers), Key(absl::StrCat("encoders.", encoder.name))));
    }
    trunk->encoders.push_back(std::move(encoder));
    ends_.push_back(layers_);
    return absl::OkStatus();
  }

  absl::Status Join(TrunkPlan* trunk) {
    int64_t width = 0;
    for (size_t i = 0; i < trunk->encoders.size(); ++i) {
      EncoderPlan& encoder = trunk->encoders[i];
      layers_ = ends_[ends_.size() - trunk->encoders.size() + i];
      if (layers_.raw()) {
        return absl::InvalidArgumentError(absl::StrCat(
            Key(absl::StrCat("encoders.", encoder.name)), encoder.layers.empty() ? ": is missing; " : ": ",
            encoder.array.DebugString(),
            " has more than one dimension: wanted layers that make a vector of it, such as conv or flatten"));
      }
      if (layers_.shape().size() != 1) {
        layers_.AddFlatten(&encoder.layers);
      }
      const int64_t own = layers_.width();
      if (trunk->sum && i > 0 && own != width) {
        return absl::InvalidArgumentError(absl::StrCat(Key("join"), ": sum wants outputs of one width; encoder ",
                                                       encoder.name, " has ", own, ", those before it ", width));
      }
      width = trunk->sum ? own : width + own;
    }
    layers_.Begin({width});
    return Annotate(ArraySpec{"joined", DType::kFloat32, {width}}.Validate(), Key("join"));
  }

  absl::Status AddLayers(const std::string& key, const std::string& name, const std::vector<LayerSpec>& specs,
                         std::vector<LayerPlan>* layers) {
    for (size_t i = 0; i < specs.size(); ++i) {
      WAGGLE_RETURN_IF_ERROR(
          Annotate(layers_.Add(absl::StrCat(name, ".", i), specs[i], layers), Key(absl::StrCat(key, "[", i, "]"))));
    }
    return absl::OkStatus();
  }

  absl::Status AddHead(const std::string& name, const HeadNeed& need, const HeadSpec& spec) {
    const std::string key = Key(absl::StrCat("heads.", name));
    const HeadKind kind = need.kind;
    HeadPlan head;
    head.name = name;
    head.kind = kind;
    head.size = need.size;
    head.low = need.low;
    head.high = need.high;
    if (spec.shares == "nothing") {
      head.trunk = plan_.trunks.size();
      const LayerPlanner shared = features_;
      WAGGLE_RETURN_IF_ERROR(AddTrunk(absl::StrCat("heads.", name, ".")));
      own_features_ = features_;
      features_ = shared;
    } else {
      own_features_ = features_;
    }
    if (!Suits(kind, plan_.action)) {
      return absl::InvalidArgumentError(absl::StrCat(
          key, ": a ", Name(kind), " head does not fit a ", plan_.action.Name(), " action; environment ",
          environment_.name, " has ",
          absl::StrJoin(environment_.actions, ", ",
                        [](std::string* text, const SpaceLeaf& action) { *text += action.DebugString(); })));
    }
    head.outputs = NumOutputs(need, spec, plan_.action);
    const std::string prefix = absl::StrCat("heads.", name);
    if (TypeOf(kind, spec) == "dueling") {
      WAGGLE_RETURN_IF_ERROR(Annotate(AddStream(absl::StrCat(prefix, ".value"), spec, need.size, &head.value), key));
      WAGGLE_RETURN_IF_ERROR(
          Annotate(AddStream(absl::StrCat(prefix, ".advantage"), spec, head.outputs, &head.layers), key));
    } else {
      WAGGLE_RETURN_IF_ERROR(Annotate(AddStream(prefix, spec, head.outputs, &head.layers), key));
    }
    if ((kind == HeadKind::kNormal || kind == HeadKind::kMixed) && spec.has_free_std()) {
      head.free_log_std = own_features_.AddParameter(absl::StrCat(prefix, ".log_std"), {plan_.action.num_reals});
      initial_log_std_.emplace_back(head.free_log_std, std::log(spec.initial_std.value_or(1)));
    }
    head.min_log_std = spec.MinLogStd();
    head.max_log_std = spec.MaxLogStd();
    plan_.heads.push_back(std::move(head));
    return absl::OkStatus();
  }

  absl::Status AddStream(const std::string& name, const HeadSpec& head, int64_t outputs,
                         std::vector<LayerPlan>* layers) {
    LayerPlanner stream = own_features_;
    const Initialization initialization = ParseInitialization(head.initialization);
    for (size_t k = 0; k < head.units.size(); ++k) {
      WAGGLE_RETURN_IF_ERROR(stream.AddDense(absl::StrCat(name, ".linear", k + 1), head.units[k],
                                             ParseActivation(head.activation), initialization, std::nullopt, head.noise,
                                             layers));
    }
    return stream.AddDense(absl::StrCat(name, ".output"), outputs, Activation::kNone, initialization, head.gain,
                           head.noise, layers);
  }

  absl::StatusOr<NetworkPlan> Finish() {
    int64_t bytes = 0;
    for (const ArraySpec& parameter : plan_.parameters) {
      WAGGLE_RETURN_IF_ERROR(Annotate(parameter.Validate(), absl::StrCat("networks.", need_.name)));
      plan_.num_parameters += parameter.NumElements();
      bytes += parameter.NumBytes();
      if (bytes > kMaxArrayBytes) {  // They become one array.
        return absl::InvalidArgumentError(absl::StrCat("networks.", need_.name, ": its parameters have more than ",
                                                       kMaxArrayBytes, " bytes together"));
      }
    }
    plan_.hash = IdentityHash(plan_, environment_);
    plan_.row_values = RowValues(plan_);
    plan_.initial_log_std = initial_log_std_;
    return std::move(plan_);
  }

  const NetworkNeed& need_;
  const NetworkSpec& network_;
  const EnvironmentSpec& environment_;
  const std::vector<std::vector<std::string>>& sources_;
  NetworkPlan plan_;
  std::vector<ArraySpec> statistics_;  // The layers' running statistics.
  LayerPlanner layers_;
  LayerPlanner features_ = layers_;      // Heads that share all begin with these.
  LayerPlanner own_features_ = layers_;  // The present head begins with these.
  std::vector<LayerPlanner> ends_;       // The ends of the encoders.
  std::vector<std::pair<int64_t, double>> initial_log_std_;
};

}  // namespace

absl::StatusOr<NetworkPlan> PlanNetwork(const NetworkNeed& need, const NetworkSpec& network,
                                        const EnvironmentSpec& environment) {
  WAGGLE_RETURN_IF_ERROR(Behind(absl::StrCat("networks.", need.name, "."), Check(network)));
  WAGGLE_RETURN_IF_ERROR(environment.Validate());
  WAGGLE_RETURN_IF_ERROR(Annotate(CheckJointAction(environment), absl::StrCat("environment ", environment.name)));
  const std::vector<AgentView> views =
      ViewsOf(environment, need.agents.empty() ? std::vector<std::string>{""} : need.agents, need.also_sees);
  WAGGLE_RETURN_IF_ERROR(Annotate(views[0].spec.Validate(), absl::StrCat("networks.", need.name)));
  std::vector<std::vector<std::string>> sources;
  for (const AgentView& view : views) {
    sources.emplace_back();
    for (const size_t leaf : view.leaves) {
      sources.back().push_back(environment.observations[leaf].array.name);
    }
  }
  return Planner(need, network, views[0].spec, sources).Plan();
}

}  // namespace waggle
