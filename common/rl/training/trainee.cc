#include "common/rl/training/trainee.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/base/annotate.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/field_checker.h"
#include "common/config/yaml_file.h"
#include "common/nn/torch_compat.h"
#include "common/rl/training/joined_batches.h"
#include "common/rl/training/learner_checkpoint.h"

namespace waggle {
namespace {

// The algorithm's discount of a step; 1 if it has none.
double DiscountOf(const Experiment& experiment) {
  double discount = 1;
  const absl::StatusOr<YamlNode> root = ParseYaml(ToYaml(experiment), "the experiment");
  const YamlEntry* const algorithm = root.ok() ? root->Find("algorithm") : nullptr;
  const YamlEntry* const entry = algorithm != nullptr ? algorithm->value.Find("discount") : nullptr;
  return entry != nullptr && absl::SimpleAtod(entry->value.text, &discount) ? discount : 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlgorithmTrainee>> AlgorithmTrainee::Create(
    const Experiment& experiment, const EnvironmentSpec& environment, const AlgorithmDefinitions& definitions,
    const AlgorithmImplementations& implementations, torch::Device device, torch::ScalarType dtype) {
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, environment, definitions));
  WAGGLE_ASSIGN_OR_RETURN(ExperimentPlan plan, PlanExperiment(experiment, environment, definitions));
  const auto seed = static_cast<uint64_t>(experiment.experiment.seed);
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Model::Create(plan, environment, device, seed, dtype));
  auto made = CatchTorch("making an algorithm's noise", [&] {
    return std::unique_ptr<AlgorithmTrainee>(new AlgorithmTrainee(experiment, definitions, implementations,
                                                                  std::move(plan), std::move(model),
                                                                  Rng::Split(seed, "algorithm", 0).Next()));
  });
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<AlgorithmTrainee> trainee, std::move(made));
  WAGGLE_RETURN_IF_ERROR(CatchTorch("making an algorithm", [&]() -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(
        AlgorithmWithModules algorithm,
        AlgorithmWithModules::Create(experiment, trainee->plan_.algorithm, implementations, trainee->model_.get()));
    trainee->algorithm_ = std::make_unique<AlgorithmWithModules>(std::move(algorithm));
    return absl::OkStatus();
  }));
  return trainee;
}

AlgorithmTrainee::AlgorithmTrainee(const Experiment& experiment, const AlgorithmDefinitions& definitions,
                                   const AlgorithmImplementations& implementations, ExperimentPlan plan,
                                   std::unique_ptr<Model> model, uint64_t seed)
    : experiment_(experiment),
      definitions_(definitions),
      implementations_(implementations),
      plan_(std::move(plan)),
      model_(std::move(model)),
      noise_(seed, model_->device()),
      observations_(&plan_, model_->device()),
      value_watch_(DiscountOf(experiment)) {}

absl::StatusOr<UpdateResult> AlgorithmTrainee::Update(absl::Span<const TensorBatch* const> batches,
                                                      const Progress& progress, Stepper* stepper) {
  const std::vector<TablePlan>& tables = plan_.algorithm.tables;
  WAGGLE_CHECK(batches.size() == tables.size(), "an update is given a batch of each table of the plan");
  std::optional<JoinedBatches> joined;
  UpdateContext context(stepper, progress, &noise_);
  context.SetEvaluatedRewards(evaluated_rewards_);
  std::vector<torch::Tensor> rewards;
  WAGGLE_RETURN_IF_ERROR(CatchTorch("computing an update", [&] {
    model_->DrawNoise(&noise_);
    joined.emplace(tables, batches);
    rewards = algorithm_->Update(joined->by_name(), &context);
  }));
  WAGGLE_RETURN_IF_ERROR(context.status());
  // After the update, because its rows were acted on the earlier scale.
  WAGGLE_RETURN_IF_ERROR(CatchTorch("normalising observations", [&] { observations_.Update(batches, model_.get()); }));
  UpdateResult result;
  for (size_t i = 0; i < tables.size(); ++i) {
    const bool has_priorities = batches[i] != nullptr && tables[i].table.UsesPriorities();
    const std::string& name = tables[i].adds_to.empty() ? tables[i].name : tables[i].adds_to;
    result.priorities.push_back(has_priorities ? joined->PartOf(i, context.priorities(name)) : torch::Tensor());
  }
  result.metrics = context.TakeMetrics();
  WAGGLE_RETURN_IF_ERROR(CatchTorch("watching values", [&] { WatchValues(rewards, result); }));
  return result;
}

void AlgorithmTrainee::WatchValues(const std::vector<torch::Tensor>& rewards, const UpdateResult& result) {
  const auto metric = [&result](const std::string& name) {
    const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                    [&name](const auto& one) { return one.first == name; });
    return found == result.metrics.end() ? torch::Tensor() : found->second;
  };
  const torch::Tensor mean = metric("q_mean");
  if (!mean.defined()) {
    return;
  }
  const torch::Tensor temperature = metric("temperature"), entropy = metric("entropy");
  if (const std::string warning = value_watch_.Observe(
          rewards, mean, temperature.defined() && entropy.defined() ? temperature * entropy : torch::Tensor());
      !warning.empty()) {
    LogWarning(warning);
  }
}

absl::StatusOr<ModelSnapshot> AlgorithmTrainee::Publish() {
  WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, model_->Publish());
  snapshot.model = experiment_.experiment.name;
  return snapshot;
}

absl::Status AlgorithmTrainee::LoadPublished(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(model_->LoadPublished(snapshot));
  return CatchTorch("normalising observations", [&] {
    std::vector<std::string> acting;
    for (const NetworkPlan* const network : plan_.acting()) {
      acting.push_back(network->name);
    }
    observations_.Adopt(acting, model_.get());
  });
}

absl::Status AlgorithmTrainee::BeginWith(const InitialWeights& weights) {
  return CatchTorch("loading weights of another run", [&] {
    const torch::NoGradGuard no_grad;
    std::set<std::string> networks, normalized;
    for (const InitialWeights::Parameter& parameter : weights.parameters) {
      const bool is_number =
          std::any_of(plan_.algorithm.scalars.begin(), plan_.algorithm.scalars.end(),
                      [&parameter](const ScalarNeed& scalar) { return scalar.name == parameter.network; });
      const FlatParameters& into = is_number ? model_->scalar(parameter.network)->parameters()
                                             : model_->net(parameter.network).network().parameters();
      const std::vector<ArraySpec>& layout = into.layout();
      const auto index = std::find_if(layout.begin(), layout.end(),
                                      [&parameter](const ArraySpec& spec) { return spec.name == parameter.name; }) -
                         layout.begin();
      WAGGLE_CHECK(static_cast<size_t>(index) < layout.size(), "initial weights are of the trainee's own plan");
      const std::shared_ptr<const char> data = InOneRun(parameter.array.data);
      torch::Tensor values = into.value_views()[static_cast<size_t>(index)];
      values.copy_(torch::from_blob(const_cast<char*>(data.get()), values.sizes(), torch::kFloat32));
      if (!is_number) {
        networks.insert(parameter.network);
      }
      if (absl::StartsWith(parameter.name, "normalizers.")) {
        normalized.insert(parameter.network);
      }
    }
    for (const std::string& network : networks) {
      model_->net(network).FollowTarget(1);
    }
    observations_.Adopt({normalized.begin(), normalized.end()}, model_.get());
  });
}

// Algorithms and modules keep their options, so others take over their state, as after a restart.
absl::StatusOr<std::string> AlgorithmTrainee::Set(const std::string& settings) {
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment, WithSettings(experiment_, settings, definitions_));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, model_->environment(), definitions_));
  const absl::Status set = CatchTorch("setting an algorithm's numbers", [&]() -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(AlgorithmWithModules algorithm,
                            AlgorithmWithModules::Create(experiment, plan.algorithm, implementations_, model_.get()));
    WAGGLE_RETURN_IF_ERROR(CopyState([this](StateVisitor* visitor) { algorithm_->VisitState(visitor); },
                                     [&algorithm](StateVisitor* visitor) { algorithm.VisitState(visitor); }));
    *algorithm_ = std::move(algorithm);
    model_->SetRates(plan.algorithm);
    return absl::OkStatus();
  });
  WAGGLE_RETURN_IF_ERROR(set);
  return ToYaml(experiment);
}

void AlgorithmTrainee::VisitState(StateVisitor* visitor) {
  visitor->Scope("model", [&] { model_->VisitState(visitor); });
  visitor->Scope("noise", [&] { noise_.VisitState(visitor); });
  visitor->Scope("observations", [&] { observations_.VisitState(visitor); });
  algorithm_->VisitState(visitor);
}

}  // namespace waggle
