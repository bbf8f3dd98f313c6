#include "common/rl/training/algorithm_with_modules.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<AlgorithmWithModules> AlgorithmWithModules::Create(const Experiment& experiment,
                                                                  const AlgorithmImplementations& implementations,
                                                                  Model* model) {
  AlgorithmWithModules made(model);
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
  TableBatches changed;
  if (!modules_.empty()) {
    for (auto& [table, batch] : batches) {
      batch = &changed.emplace(table, *batch).first->second;
    }
  }
  for (const auto& [type, module] : modules_) {
    module->Rewrite(environment, &changed, context);
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
    for (const ArraySpec& reward : environment.rewards) {
      if (const auto field = batch->fields.find(reward.name); field != batch->fields.end()) {
        rewards.push_back(field->second);
      }
    }
  }
  return rewards;
}

void AlgorithmWithModules::VisitState(StateVisitor* visitor) {
  visitor->Scope("algorithm", [&] { algorithm_->VisitState(visitor); });
  for (const auto& [type, module] : modules_) {
    Module* const one = module.get();
    visitor->Scope(absl::StrCat("module_", type), [visitor, one] { one->VisitState(visitor); });
  }
}

}  // namespace waggle
