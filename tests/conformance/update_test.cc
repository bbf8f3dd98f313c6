// The values that an update may change, and its handling of NaN.

#include <algorithm>
#include <limits>

#include "common/config/spec/agent_view.h"
#include "learner/group/shared_steps.h"
#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

// Checks the groups after every descent: one gradient is new, and the values are those after the last step.
class WatchingStepper : public Stepper {
 public:
  explicit WatchingStepper(std::vector<ParameterGroup*> groups) : groups_(std::move(groups)) { Remember(); }

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override {
    INFO(group->name());
    CheckOthers(group);
    for (size_t i = 0; i < groups_.size(); ++i) {
      CHECK(torch::equal(groups_[i]->values(), values_[i]));
    }
    CHECK(torch::isfinite(group->gradients()).all().item<bool>());
    has_gradient_[group->name()] =
        has_gradient_[group->name()] || group->gradients().count_nonzero().item<int64_t>() > 0;
    const torch::Tensor gradient = group->gradients().clone();
    const absl::StatusOr<bool> stepped = local_.Step(group, progress);
    CHECK(torch::equal(group->gradients(), gradient));
    CheckOthers(group);
    Remember();
    return stepped;
  }

  // Values that are assigned, without a gradient.
  absl::StatusOr<bool> Assign(ParameterGroup* group, const torch::Tensor& values) override {
    INFO(group->name());
    CheckAfterUpdate();
    const absl::StatusOr<bool> assigned = local_.Assign(group, values);
    CheckOthers(group);
    Remember();
    return assigned;
  }

  // Checks that the values are those of the last step.
  void CheckAfterUpdate() const {
    for (size_t i = 0; i < groups_.size(); ++i) {
      INFO(groups_[i]->name());
      CHECK(torch::equal(groups_[i]->values(), values_[i]));
    }
  }

  // By group: true if some gradient of it was not 0 everywhere.
  const std::map<std::string, bool>& has_gradient() const { return has_gradient_; }

 private:
  void CheckOthers(const ParameterGroup* group) const {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i] != group) {
        INFO(groups_[i]->name());
        CHECK(torch::equal(groups_[i]->gradients(), gradients_[i]));
        CHECK(torch::equal(groups_[i]->values(), values_[i]));
      }
    }
  }
  void Remember() {
    gradients_.clear();
    values_.clear();
    for (const ParameterGroup* const group : groups_) {
      gradients_.push_back(group->gradients().clone());
      values_.push_back(group->values().clone());
    }
  }

  const std::vector<ParameterGroup*> groups_;
  LocalStepper local_;
  std::vector<torch::Tensor> gradients_;
  std::vector<torch::Tensor> values_;
  std::map<std::string, bool> has_gradient_;
};

TEST_CASE("each descent has a gradient and changes only its own group", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    const std::vector<ParameterGroup*> groups = trainee->groups();
    WatchingStepper stepper(groups);
    int64_t steps = 0;
    for (const TensorBatch& batch : PlayedBatches(subject, experiment, 8)) {
      REQUIRE_OK(trainee->Update(batch, {0, ++steps, steps}, &stepper));
      stepper.CheckAfterUpdate();
    }
    for (const ParameterGroup* const group : groups) {
      INFO(group->name());
      REQUIRE(stepper.has_gradient().count(group->name()) == 1);
      CHECK(stepper.has_gradient().at(group->name()));
    }
  });
}

// Pushes gradients to steps that it alone uses.
class PushingStepper : public Stepper {
 public:
  explicit PushingStepper(const std::vector<ParameterGroup*>& groups)
      : groups_(groups), pushed_(groups.size()), steps_(GradientServerOptions(), /*learners=*/1, groups) {}

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override {
    const auto index = static_cast<size_t>(std::find(groups_.begin(), groups_.end(), group) - groups_.begin());
    steps_.SetProgress(progress);
    const absl::StatusOr<PushOutcome> outcome =
        steps_.Push(static_cast<int64_t>(index), pushed_[index], group->gradients(), group->values());
    if (outcome.ok()) {
      CHECK(outcome->steps == ++pushed_[index]);
    }
    return outcome.ok() ? absl::StatusOr<bool>(true) : outcome.status();
  }
  absl::StatusOr<bool> Assign(ParameterGroup* /*group*/, const torch::Tensor& /*values*/) override {
    assigns = true;
    return false;
  }

  bool assigns = false;

 private:
  const std::vector<ParameterGroup*> groups_;
  std::vector<int64_t> pushed_;
  SharedSteps steps_;
};

TEST_CASE("gradients that a learner pushes to its own steps change its values as a local optimizer does", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto local = NewTrainee(subject, experiment);
    const auto pushing = NewTrainee(subject, experiment);
    LocalStepper stepper;
    PushingStepper pushes(pushing->groups());
    int64_t steps = 0;
    for (const TensorBatch& batch : PlayedBatches(subject, experiment, 3)) {
      ++steps;
      const Progress progress{0, steps, steps};
      REQUIRE_OK(local->Update(batch, progress, &stepper));
      REQUIRE_OK(pushing->Update(batch, progress, &pushes));
    }
    const AlgorithmPlan& plan = local->plan().algorithm;
    CHECK((plan.assigns || !pushes.assigns));
    CHECK(torch::equal(ValuesOf(plan, local->model()), ValuesOf(plan, pushing->model())) == !pushes.assigns);
  });
}

TEST_CASE("an update whose gradients are removed changes no value, not even a target's", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    const AlgorithmPlan& plan = trainee->plan().algorithm;
    const std::vector<TensorBatch> batches = PlayedBatches(subject, experiment, 8);
    // After these steps targets differ from their sources.
    LocalStepper local;
    REQUIRE_OK(trainee->Update(batches[0], {0, 1, 1}, &local));
    const torch::Tensor before = ValuesOf(plan, trainee->model());
    CaptureStepper capture;
    for (const TensorBatch& batch : batches) {
      REQUIRE_OK(trainee->Update(batch, {0, 2, 2}, &capture));
    }
    CHECK(torch::equal(ValuesOf(plan, trainee->model()), before));
  });
}

TEST_CASE("an update gives each item a priority of at least 0 if the table picks by priority", "[unit]") {
  ForEachVariant([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    LocalStepper stepper;
    int64_t steps = 0;
    for (const TensorBatch& batch : PlayedBatches(subject, experiment, 3)) {
      const UpdateResult result = ValueOf(trainee->Update(batch, {0, ++steps, steps}, &stepper));
      const torch::Tensor& priorities = result.priorities[0];
      REQUIRE(priorities.defined() == trainee->plan().algorithm.tables[0].table.UsesPriorities());
      if (priorities.defined()) {
        REQUIRE(priorities.sizes() == at::IntArrayRef{batch.size});
        CHECK(torch::isfinite(priorities).all().item<bool>());
        CHECK((priorities >= 0).all().item<bool>());
      }
    }
  });
}

TEST_CASE("items shorter than an actor's, as a foreign client may write them, do not harm an update", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    const AlgorithmPlan& plan = trainee->plan().algorithm;
    TensorBatch batch = PlayedBatch(subject, experiment);
    LocalStepper stepper;
    for (const int64_t rows : {1, 2}) {  // One row is no step at all.
      batch.fields[kItemLength] = torch::ones({batch.size}, torch::kInt64);
      batch.fields[kItemLength][0] = rows;
      INFO("one item of " << rows << " rows, and others of one");
      const absl::StatusOr<UpdateResult> updated = trainee->Update(batch, {0, rows, rows}, &stepper);
      REQUIRE_OK(updated.status());
      for (const torch::Tensor& priorities : updated->priorities) {
        CHECK((!priorities.defined() || torch::isfinite(priorities).all().item<bool>()));
      }
      CHECK(torch::isfinite(ValuesOf(plan, trainee->model())).all().item<bool>());
    }
  });
}

// True if a row of a batch of unrolls or episodes begins with a step of this type: bool [rows].
torch::Tensor BeginsWith(const TensorBatch& batch, StepType type) {
  return batch.at(kStepType).select(1, 0) == static_cast<int32_t>(type);
}

// A row whose first step counts, with steps after it and, unless all rows are whole episodes, before it.
int64_t RowWithinEpisode(const TensorBatch& batch) {
  torch::Tensor within =
      batch.fields.count(kStepType) == 0 ? EndsAtTerminal(batch).logical_not() : BeginsWith(batch, StepType::kMid);
  if (!within.any().item<bool>()) {
    within = BeginsWith(batch, StepType::kFirst);
  }
  REQUIRE(within.any().item<bool>());
  return within.to(torch::kInt64).argmax().item<int64_t>();
}

// True if an update may read a field. Imitation learns from actions and what precedes them. Other algorithms do not
// read an observation that no network sees.
bool IsRead(const Subject& subject, const ExperimentPlan& plan, const ViewField& field) {
  const std::string& column = field.column;
  if (subject.algorithm == "bc" || subject.algorithm == "causal_bc") {
    const bool is_cause = column.rfind("observation", 0) == 0 || column.rfind("action", 0) == 0;
    const bool is_first = field.rows == ViewField::Rows::kFirst;
    const bool is_action = column.rfind("action", 0) == 0 && column.rfind("action_mask", 0) != 0;
    return subject.module.empty() && is_cause && (subject.algorithm == "bc" ? is_first : !is_action || !is_first);
  }
  const EnvironmentSpec environment = SpecOf(subject.kind);
  const auto leaf = std::find_if(environment.observations.begin(), environment.observations.end(),
                                 [&column](const SpaceLeaf& one) { return one.array.name == column; });
  if (leaf == environment.observations.end()) {
    return true;
  }
  const auto index = static_cast<size_t>(leaf - environment.observations.begin());
  for (const NetworkNeed& need : plan.algorithm.networks) {
    const std::vector<std::string> whole = {""};
    for (const AgentView& view : ViewsOf(environment, need.agents.empty() ? whole : need.agents, need.also_sees)) {
      if (std::find(view.leaves.begin(), view.leaves.end(), index) != view.leaves.end()) {
        return true;
      }
    }
  }
  return false;
}

// A row that counts: causal cloning leaves out steps that end their episode.
int64_t RowThatCounts(const Subject& subject, const TensorBatch& batch) {
  if (subject.algorithm != "causal_bc") {
    return RowWithinEpisode(batch);
  }
  const torch::Tensor goes_on = batch.at("next_step_type") != static_cast<int64_t>(StepType::kLast);
  return goes_on.to(torch::kInt64).argmax().item<int64_t>();
}

TEST_CASE("NaN in any column is an error that leaves all values finite", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = PlayedBatch(subject, experiment);
    const int64_t row = RowThatCounts(subject, batch);
    const auto plan = ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()));
    int columns = 0;
    for (const ViewField& field : plan.algorithm.tables[0].table.view) {
      // A module may show a column a second time.
      const bool is_copy = field.rows == ViewField::Rows::kAll && field.name != field.column;
      // A module may put one of two goals in place of the other.
      const bool is_goal = field.column == "observation/desired_goal" || field.rows == ViewField::Rows::kFuture;
      const bool is_passed_over = is_copy || is_goal || !IsRead(subject, plan, field);
      if (!batch.at(field.name).is_floating_point() || is_passed_over) {
        continue;
      }
      // State from before an episode does not count in it.
      if (field.column == kCoreState && BeginsWith(batch, StepType::kFirst)[row].item<bool>()) {
        continue;
      }
      INFO(field.name);
      ++columns;
      const auto trainee = NewTrainee(subject, experiment);
      TensorBatch broken = batch;
      broken.fields[field.name] = batch.at(field.name).clone();
      // The first number of the row: the first step's, for rows "all".
      broken.fields[field.name][row].view({-1})[0] = std::numeric_limits<float>::quiet_NaN();
      LocalStepper stepper;
      REQUIRE_CODE(trainee->Update(broken, {0, 1, 1}, &stepper), absl::StatusCode::kInvalidArgument);
      CHECK(torch::isfinite(ValuesOf(trainee->plan().algorithm, trainee->model())).all().item<bool>());
    }
    CHECK((columns > 0 || !subject.module.empty()));
  });
}

TEST_CASE("a choice that the environment does not have is an error that leaves all values finite", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = PlayedBatch(subject, experiment);
    const int64_t row = RowWithinEpisode(batch);
    for (const SpaceLeaf& leaf : SpecOf(subject.kind).actions) {
      for (const int64_t choice : {-1, 1000}) {
        if (leaf.array.dtype != DType::kInt64) {
          continue;
        }
        INFO(leaf.array.name << " " << choice);
        const auto trainee = NewTrainee(subject, experiment);
        TensorBatch broken = batch;
        broken.fields[leaf.array.name] = batch.at(leaf.array.name).clone();
        broken.fields[leaf.array.name][row].view({-1})[0] = choice;
        LocalStepper stepper;
        REQUIRE_CODE(trainee->Update(broken, {0, 1, 1}, &stepper), absl::StatusCode::kInvalidArgument);
        CHECK(torch::isfinite(ValuesOf(trainee->plan().algorithm, trainee->model())).all().item<bool>());
      }
    }
  });
}

}  // namespace
}  // namespace waggle::testing
