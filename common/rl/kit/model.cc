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
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> online, Network::Create(plan, device, seed, dtype));
  std::unique_ptr<Network> target;
  if (need.has_target) {
    // The same seed, so that target and online network begin equal.
    WAGGLE_ASSIGN_OR_RETURN(target, Network::Create(plan, device, seed, dtype, /*learns=*/false));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ParameterGroup> group,
                          ParameterGroup::Create(need.name, &online->parameters(), need.optimizer, plan.num_learned));
  return std::make_unique<Net>(std::move(online), std::move(target), std::move(group));
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
  for (size_t i = 0; i < plan.networks.size(); ++i) {
    const NetworkNeed& need = plan.algorithm.networks[i];
    auto net =
        MakeNet(need, plan.networks[i], device, Rng::Split(seed, absl::StrCat("network ", need.name), 0).Next(), dtype);
    WAGGLE_RETURN_IF_ERROR(Annotate(net.status(), absl::StrCat("network ", need.name)));
    model->acting_ = need.acts ? net->get() : model->acting_;
    model->optimizers_[need.name] = Identity(need.optimizer);
    model->nets_[need.name] = *std::move(net);
  }
  for (const ScalarNeed& need : plan.algorithm.scalars) {
    auto scalar = MakeScalar(need, device, dtype);
    WAGGLE_RETURN_IF_ERROR(Annotate(scalar.status(), absl::StrCat("scalar ", need.name)));
    model->optimizers_[need.name] = Identity(need.optimizer);
    model->scalars_[need.name] = *std::move(scalar);
  }
  return model;
}

Net& Model::net(const std::string& name) const {
  const auto it = nets_.find(name);
  WAGGLE_CHECK(it != nets_.end(), "an algorithm asked for a network that its own plan does not have");
  return *it->second;
}

Scalar* Model::scalar(const std::string& name) const {
  const auto it = scalars_.find(name);
  WAGGLE_CHECK(it != scalars_.end(), "an algorithm asked for a scalar that its own plan does not have");
  return it->second.get();
}

void Model::SetRates(const AlgorithmPlan& plan) {
  for (const NetworkNeed& need : plan.networks) {
    net(need.name).group()->SetRates(need.optimizer);
  }
  for (const ScalarNeed& need : plan.scalars) {
    scalar(need.name)->group()->SetRates(need.optimizer);
  }
}

std::map<std::string, double> Model::LearningRates(const Progress& progress) const {
  std::map<std::string, double> rates;
  for (const auto& [name, net] : nets_) {
    rates[name] = net->group()->learning_rate().At(progress);
  }
  for (const auto& [name, scalar] : scalars_) {
    rates[name] = scalar->group()->learning_rate().At(progress);
  }
  return rates;
}

absl::StatusOr<ModelSnapshot> Model::Publish() const {
  const Network& network = acting_->network();
  return EncodeWeights(network.parameters(), network.plan().hash);
}

absl::Status Model::LoadPublished(const ModelSnapshot& snapshot) {
  Network& network = acting_->network();
  WAGGLE_RETURN_IF_ERROR(DecodeWeights(snapshot, network.plan().hash, &network.parameters()));
  return CatchTorch("loading a target", [this] { acting_->FollowTarget(1); });
}

void Model::VisitState(StateVisitor* visitor) {
  const auto visit_group = [&](ParameterGroup* group) {
    visitor->Scope("optimizer", [&] {
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
      visit_group(net->group());
    });
  }
  for (const auto& [name, scalar] : scalars_) {
    visitor->Scope(name, [&, scalar = scalar.get()] {
      torch::Tensor values = scalar->parameters().values();
      visitor->Tensor("value", &values);
      visit_group(scalar->group());
    });
  }
}

}  // namespace waggle
