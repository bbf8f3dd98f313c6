#include "common/rl/kit/model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/annotate.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"

namespace waggle {
namespace {

// The options that give an optimizer's state its meaning.
std::string Identity(const OptimizerOptions& options) {
  return absl::StrCat(options.type, " beta1 ", options.beta1, " beta2 ", options.beta2, " alpha ", options.alpha,
                      " momentum ", options.momentum, " epsilon ", options.epsilon, " weight_decay ",
                      options.WeightDecay(), " centered ", options.centered, " amsgrad ", options.amsgrad);
}

absl::StatusOr<std::unique_ptr<Net>> MakeNet(const NetworkNeed& need, const NetworkPlan& plan, torch::Device device,
                                             uint64_t seed, torch::ScalarType dtype) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> online, Network::Create(plan, device, seed, dtype, need.learns));
  std::unique_ptr<Network> target;
  if (need.has_target) {
    // The same seed, so that target and online network begin equal.
    WAGGLE_ASSIGN_OR_RETURN(target, Network::Create(plan, device, seed, dtype, /*learns=*/false));
  }
  Net::Groups groups;
  const auto add = [&](const std::string& key, const std::string& name, const OptimizerOptions& options) {
    absl::StatusOr<std::unique_ptr<ParameterGroup>> group =
        ParameterGroup::Create(name, &online->parameters(), options, plan.num_learned);
    if (group.ok()) {
      groups[key] = *std::move(group);
    }
    return group.status();
  };
  if (need.learns) {
    WAGGLE_RETURN_IF_ERROR(add("", need.name, need.optimizer));
    for (const auto& [key, options] : need.more_optimizers) {
      WAGGLE_RETURN_IF_ERROR(add(key, absl::StrCat(need.name, "_", key), options));
    }
  }
  return std::make_unique<Net>(std::move(online), std::move(target), std::move(groups));
}

absl::StatusOr<std::unique_ptr<Scalar>> MakeScalar(const ScalarNeed& need, torch::Device device,
                                                   torch::ScalarType dtype) {
  WAGGLE_ASSIGN_OR_RETURN(FlatParameters made,
                          FlatParameters::Create({ArraySpec{need.name, DType::kFloat32, {}}}, device, dtype));
  auto parameters = std::make_unique<FlatParameters>(std::move(made));
  WAGGLE_RETURN_IF_ERROR(CatchTorch("making a scalar", [&] {
    torch::NoGradGuard no_grad;
    torch::Tensor values = parameters->values();
    values.fill_(need.initial);
    parameters->AddLeaf(0);
  }));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ParameterGroup> group,
                          ParameterGroup::Create(need.name, parameters.get(), need.optimizer));
  return std::make_unique<Scalar>(std::move(parameters), std::move(group));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::Create(const ExperimentPlan& plan, const EnvironmentSpec& environment,
                                                     torch::Device device, uint64_t seed, torch::ScalarType dtype) {
  std::unique_ptr<Model> model(new Model(environment, device));
  model->acting_hash_ = plan.acting_hash();
  for (size_t i = 0; i < plan.networks.size(); ++i) {
    const NetworkNeed& need = plan.algorithm.networks[i];
    auto net =
        MakeNet(need, plan.networks[i], device, Rng::Split(seed, absl::StrCat("network ", need.name), 0).Next(), dtype);
    WAGGLE_RETURN_IF_ERROR(Annotate(net.status(), absl::StrCat("network ", need.name)));
    if (need.acts) {
      model->acting_.push_back(net->get());
    }
    model->optimizers_[need.name] = Identity(need.optimizer);
    for (const auto& [key, options] : need.more_optimizers) {
      model->optimizers_[absl::StrCat(need.name, "_", key)] = Identity(options);
    }
    model->nets_[need.name] = *std::move(net);
  }
  for (const ScalarNeed& need : plan.algorithm.scalars) {
    auto scalar = MakeScalar(need, device, dtype);
    WAGGLE_RETURN_IF_ERROR(Annotate(scalar.status(), absl::StrCat("scalar ", need.name)));
    model->optimizers_[need.name] = Identity(need.optimizer);
    if (need.acts) {
      model->acting_scalars_.push_back({need.name, &(*scalar)->parameters()});
    }
    model->scalars_[need.name] = *std::move(scalar);
  }
  return model;
}

Net& Model::net(const std::string& name) const {
  const auto it = nets_.find(name);
  WAGGLE_CHECK(it != nets_.end(), "an algorithm asked for a network that its own plan does not have");
  return *it->second;
}

Net* Model::FindNetWith(const std::string& head) const {
  for (const auto& [name, net] : nets_) {
    if (net->network().plan().FindHead(head) != nullptr) {
      return net.get();
    }
  }
  return nullptr;
}

Scalar* Model::scalar(const std::string& name) const {
  const auto it = scalars_.find(name);
  WAGGLE_CHECK(it != scalars_.end(), "an algorithm asked for a scalar that its own plan does not have");
  return it->second.get();
}

std::vector<ParameterGroup*> Model::groups() const {
  std::vector<ParameterGroup*> groups;
  for (const auto& [name, net] : nets_) {
    for (const auto& [key, group] : net->groups()) {
      groups.push_back(group.get());
    }
  }
  for (const auto& [name, scalar] : scalars_) {
    groups.push_back(scalar->group());
  }
  return groups;
}

void Model::SetRates(const AlgorithmPlan& plan) {
  for (const NetworkNeed& need : plan.networks) {
    if (need.learns) {
      net(need.name).group()->SetRates(need.optimizer);
    }
  }
  for (const ScalarNeed& need : plan.scalars) {
    scalar(need.name)->group()->SetRates(need.optimizer);
  }
}

std::map<std::string, double> Model::LearningRates(const Progress& progress) const {
  std::map<std::string, double> rates;
  for (const auto& [name, net] : nets_) {
    if (!net->groups().empty()) {
      rates[name] = net->group()->learning_rate().At(progress);
    }
  }
  for (const auto& [name, scalar] : scalars_) {
    rates[name] = scalar->group()->learning_rate().At(progress);
  }
  return rates;
}

absl::StatusOr<ModelSnapshot> Model::Publish() const {
  return EncodeWeights(ActingParts(), acting_hash_);
}

absl::Status Model::LoadPublished(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(DecodeWeights(snapshot, acting_hash_, ActingParts()));
  return CatchTorch("loading a target", [this] {
    for (Net* const net : acting_) {
      net->FollowTarget(1);
    }
  });
}

std::vector<NamedParameters> Model::ActingParts() const {
  std::vector<NamedParameters> parts;
  for (Net* const net : acting_) {
    parts.push_back({net->network().plan().name, &net->network().parameters()});
  }
  parts.insert(parts.end(), acting_scalars_.begin(), acting_scalars_.end());
  return parts;
}

void Model::DrawNoise(Noise* noise) {
  const DrawNormal draw = [noise](const torch::Tensor& like) { return noise->NormalLike(like); };
  for (const auto& [name, net] : nets_) {
    for (const Network* const network :
         {static_cast<const Network*>(&net->network()), static_cast<const Network*>(net->target_network())}) {
      if (network != nullptr && network->noisy()) {
        network->SetNoise(draw);
      }
    }
  }
}

void Model::VisitState(StateVisitor* visitor) {
  const auto visit_group = [&](const std::string& scope, ParameterGroup* group) {
    visitor->Scope(scope, [&] {
      visitor->Identity("identity", optimizers_.at(group->name()));
      group->optimizer().VisitState(visitor);
    });
  };
  const auto visit_values = [&](const char* scope, FlatParameters* parameters) {
    visitor->Scope(scope, [&] {
      for (size_t i = 0; i < parameters->layout().size(); ++i) {
        torch::Tensor values = parameters->value_views()[i];
        visitor->Tensor(parameters->layout()[i].name, &values);
      }
    });
  };
  for (const auto& [name, net] : nets_) {
    visitor->Scope(name, [&, net = net.get()] {
      visitor->Identity("network", absl::StrFormat("%016x", net->network().plan().hash));
      visit_values("online", &net->network().parameters());
      if (net->target_network() != nullptr) {
        visit_values("target", &net->target_network()->parameters());
      }
      for (const auto& [key, group] : net->groups()) {
        visit_group(key.empty() ? "optimizer" : absl::StrCat("optimizer_", key), group.get());
      }
    });
  }
  for (const auto& [name, scalar] : scalars_) {
    visitor->Scope(name, [&, scalar = scalar.get()] {
      torch::Tensor values = scalar->parameters().values();
      visitor->Tensor("value", &values);
      visit_group("optimizer", scalar->group());
    });
  }
}

}  // namespace waggle
