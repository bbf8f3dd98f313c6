#include "common/rl/training/algorithm_with_modules.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

AlgorithmWithModules::AlgorithmWithModules(const AlgorithmPlan& plan, Model* model)
    : model_(model), learns_vector_rewards_(plan.learns_vector_rewards) {
  if (!plan.reward_weights.empty()) {
    reward_weights_ = torch::tensor(plan.reward_weights, torch::kFloat64).to(model->device());
  }
  for (const TablePlan& table : plan.tables) {
    if (table.is_modules) {
      modules_tables_.push_back(table.name);
    }
  }
}

absl::StatusOr<AlgorithmWithModules> AlgorithmWithModules::Create(const Experiment& experiment,
                                                                  const AlgorithmPlan& plan,
                                                                  const AlgorithmImplementations& implementations,
                                                                  Model* model) {
  AlgorithmWithModules made(plan, model);
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmImplementation* const algorithm, implementations.Find(experiment.algorithm));
  WAGGLE_ASSIGN_OR_RETURN(made.algorithm_, algorithm->create(*experiment.algorithm_options, model));
  for (const ModuleChoice& chosen : experiment.modules) {
    WAGGLE_ASSIGN_OR_RETURN(const ModuleImplementation* const module, implementations.modules.Find(chosen.type));
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Module> one, module->create(*chosen.options, model));
    made.modules_.emplace_back(chosen.type, std::move(one));
  }
  return made;
}

std::vector<torch::Tensor> AlgorithmWithModules::Update(std::map<std::string, const TensorBatch*> batches,
                                                        UpdateContext* context) {
  const EnvironmentSpec& environment = model_->environment();
  const std::string& reward = environment.rewards[0].name;
  const bool weighs = reward_weights_.defined() && !learns_vector_rewards_;
  TableBatches changed;
  if (!modules_.empty() || weighs) {
    for (auto& [table, batch] : batches) {
      batch = &changed.emplace(table, *batch).first->second;
    }
  }
  if (reward_weights_.defined()) {
    context->SetRewardWeights(reward_weights_);
  }
  for (const auto& [type, module] : modules_) {
    module->Rewrite(environment, &changed, context);
  }
  for (auto& [table, batch] : changed) {
    if (const auto field = batch.fields.find(reward); weighs && field != batch.fields.end()) {
      field->second = Weighted(field->second, *context);
    }
  }
  for (const std::string& table : modules_tables_) {
    batches.erase(table);
  }
  const Batches learned(&environment, std::move(batches));
  context->AddTerms([&](const ParameterGroup& group) {
    torch::Tensor sum;
    for (const auto& [type, module] : modules_) {
      if (const torch::Tensor term = module->Loss(group, learned); term.defined()) {
        sum = sum.defined() ? sum + term : term;
      }
    }
    return sum;
  });
  algorithm_->Update(learned, context);
  context->AddTerms(nullptr);
  std::vector<torch::Tensor> rewards;
  for (const auto& [table, batch] : learned.tables()) {
    for (const ArraySpec& leaf : environment.rewards) {
      if (const auto field = batch->fields.find(leaf.name); field != batch->fields.end()) {
        rewards.push_back(learns_vector_rewards_ ? Weighted(field->second, *context) : field->second);
      }
    }
  }
  return rewards;
}

torch::Tensor AlgorithmWithModules::Weighted(const torch::Tensor& rewards, const UpdateContext& context) const {
  return (rewards * context.reward_weights().to(rewards.scalar_type())).sum(-1);
}

void AlgorithmWithModules::VisitState(StateVisitor* visitor) {
  visitor->Scope("algorithm", [&] { algorithm_->VisitState(visitor); });
  for (const auto& [type, module] : modules_) {
    Module* const one = module.get();
    visitor->Scope(absl::StrCat("module_", type), [visitor, one] { one->VisitState(visitor); });
  }
}

}  // namespace waggle
