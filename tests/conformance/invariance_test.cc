// Changes that must not affect an update's losses: algorithms with such bugs still learn, only worse. Random numbers
// are replaced (StillNoise), so that this holds for algorithms that draw too.

#include <limits>

#include "common/config/spec/leaf_name.h"
#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

// The loss and gradient of each descent of four updates, in order, without steps, and values that are assigned. Then
// the first update's priorities.
struct Trace {
  std::vector<std::string> names;
  std::vector<torch::Tensor> losses;
  std::vector<torch::Tensor> gradients;
  std::vector<torch::Tensor> assigned;
  torch::Tensor priorities;
};

// Also keeps the gradients of a group that is descended several times.
class TracingStepper : public Stepper {
 public:
  explicit TracingStepper(Trace* trace) : trace_(trace) {}
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress&) override {
    trace_->gradients.push_back(group->gradients().clone());
    return false;
  }
  absl::StatusOr<bool> Assign(ParameterGroup* /*group*/, const torch::Tensor& values) override {
    trace_->assigned.push_back(values.clone());
    return false;
  }

 private:
  Trace* const trace_;
};

Trace TraceOf(const Subject& subject, const Experiment& experiment, const TensorBatch& batch) {
  Parts parts(subject, experiment);
  StillNoise noise;
  Trace trace;
  TracingStepper stepper(&trace);
  for (int update = 0; update < 4; ++update) {
    const Parts::Result result = ValueOf(parts.Update(batch, &stepper, &noise));
    for (const auto& [name, loss] : result.losses) {
      trace.names.push_back(name);
      trace.losses.push_back(loss);
    }
    if (update == 0 && result.priorities.defined()) {
      trace.priorities = result.priorities.clone();
    }
  }
  REQUIRE(trace.losses.size() == trace.gradients.size());
  REQUIRE_FALSE(trace.losses.empty());
  return trace;
}

void CheckAlike(const Trace& trace, const Trace& expected, double tolerance) {
  REQUIRE(trace.names == expected.names);
  for (size_t i = 0; i < trace.names.size(); ++i) {
    INFO(trace.names[i] << " " << trace.losses[i].item<double>() << ", " << expected.losses[i].item<double>());
    CHECK(torch::allclose(trace.losses[i], expected.losses[i], tolerance, tolerance));
    CHECK(torch::allclose(trace.gradients[i], expected.gradients[i], tolerance, tolerance));
  }
  // Values that are assigned may solve an equation, in which errors grow.
  REQUIRE(trace.assigned.empty() == expected.assigned.empty());
  if (!trace.assigned.empty()) {
    CHECK(torch::allclose(trace.assigned[0], expected.assigned[0], 1e3 * tolerance, 1e3 * tolerance));
  }
}

void CheckPriorities(const torch::Tensor& priorities, const torch::Tensor& expected) {
  REQUIRE(priorities.defined() == expected.defined());
  CHECK((!priorities.defined() || torch::allclose(priorities, expected, 1e-9, 1e-9)));
}

constexpr double kRounding = 1e-9;  // For sums in another order, in float64.

TensorBatch Batch(const Subject& subject, const Experiment& experiment) {
  return AlikeItems(InFloat64(PlayedBatch(subject, experiment)));
}

TEST_CASE("repeated rows and rows in another order give the same losses", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = Batch(subject, experiment);
    const Trace once = TraceOf(subject, experiment, batch);
    const torch::Tensor rows = torch::arange(batch.size);
    for (const torch::Tensor& chosen : {torch::cat({rows, rows}), rows.flip({0}), rows.repeat_interleave(2)}) {
      const Trace trace = TraceOf(subject, experiment, RowsOf(batch, chosen));
      CheckAlike(trace, once, kRounding);
      CheckPriorities(trace.priorities,
                      once.priorities.defined() ? once.priorities.index_select(0, chosen) : torch::Tensor());
    }
  });
}

TEST_CASE("a batch of one row has finite losses and one priority", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = Batch(subject, experiment);
    for (int64_t row = 0; row < 4; ++row) {
      const Trace trace = TraceOf(subject, experiment, RowsOf(batch, torch::tensor({row})));
      for (const torch::Tensor& loss : trace.losses) {
        CHECK(std::isfinite(loss.item<double>()));
      }
      if (trace.priorities.defined()) {
        CHECK(trace.priorities.sizes() == at::IntArrayRef{1});
      }
    }
  });
}

// The field with NaN in the chosen rows [rows]; whole numbers and booleans become other valid choices.
torch::Tensor Spoiled(const torch::Tensor& field, const torch::Tensor& rows) {
  std::vector<int64_t> shape(static_cast<size_t>(field.dim()), 1);
  std::copy(rows.sizes().begin(), rows.sizes().end(), shape.begin());
  const torch::Tensor other =
      field.is_floating_point()
          ? torch::full_like(field, std::numeric_limits<double>::quiet_NaN())
          : (field.scalar_type() == torch::kBool ? field.logical_not() : (1 - field).clamp_min(0));
  return torch::where(rows.view(shape), other, field);
}

// For a field with an action or its results: the rows of a window without an action, as they are the last of their
// episodes. bool [rows, rows of a window].
torch::Tensor LeadsNowhere(const TensorBatch& batch, const ViewField& field, const TableConfig& table) {
  const auto step_type = batch.fields.find(kStepType);
  // The legal actions after a truncation belong to the value of the next state.
  const absl::StatusOr<LeafName> leaf = SplitLeafName(field.column);
  const bool shows =
      field.column == kStepType || (leaf.ok() && (leaf->root == kObservationRoot || leaf->root == kActionMaskRoot));
  if (step_type == batch.fields.end() || shows) {
    return torch::zeros({batch.size, table.SampledRows()}, torch::kBool);
  }
  return step_type->second == static_cast<int32_t>(StepType::kLast);
}

// A batch with rows that end at a terminal state, and others.
TensorBatch BatchWithTerminals(const Subject& subject, const Experiment& experiment) {
  TensorBatch batch;
  for (const TensorBatch& played : PlayedBatches(subject, experiment, 8)) {
    batch = AlikeItems(InFloat64(played));
    const torch::Tensor terminal = EndsAtTerminal(batch);
    // An unroll may contain the ends of many episodes.
    const bool is_unrolls = batch.fields.count(kStepType) > 0;
    if (terminal.any().item<bool>() && (is_unrolls || !terminal.all().item<bool>())) {
      return batch;
    }
  }
  FAIL("no batch ends at a terminal state in parts");
  return batch;
}

TEST_CASE("rows after a terminal state, past a window's length and before an episode change nothing", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = BatchWithTerminals(subject, experiment);
    const torch::Tensor terminal = EndsAtTerminal(batch);
    TensorBatch spoiled = batch;
    const auto plan = ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()));
    const TableConfig& table = plan.algorithm.tables[0].table;
    for (const ViewField& field : table.view) {
      const torch::Tensor& values = batch.at(field.name);
      if (field.rows == ViewField::Rows::kAll) {
        const torch::Tensor padded =
            torch::arange(table.SampledRows()).unsqueeze(0) >= batch.at(kItemLength).unsqueeze(1);
        spoiled.fields[field.name] = Spoiled(values, padded.logical_or(LeadsNowhere(batch, field, table)));
      } else if (field.rows == ViewField::Rows::kLast && subject.module.empty()) {
        // Modules may learn from a terminal state too.
        spoiled.fields[field.name] = Spoiled(values, terminal);
      } else if (field.column == kCoreState) {
        const torch::Tensor begins = batch.at(kStepType).select(1, 0) == static_cast<int32_t>(StepType::kFirst);
        REQUIRE(begins.any().item<bool>());
        spoiled.fields[field.name] = Spoiled(values, begins);
      }
    }
    const Trace expected = TraceOf(subject, experiment, batch);
    const Trace trace = TraceOf(subject, experiment, spoiled);
    CheckAlike(trace, expected, 0);
    CheckPriorities(trace.priorities, expected.priorities);
  });
}

}  // namespace
}  // namespace waggle::testing
