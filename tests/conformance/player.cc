#include "tests/conformance/player.h"

#include "learner/batch_stager.h"
#include "tests/conformance/expert.h"

namespace waggle::testing {

std::unique_ptr<Policy> NewPolicy(const Subject& subject, const Experiment& experiment, int64_t lanes, uint64_t seed) {
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &Definitions();
  context.implementations = &Implementations();
  context.environment = SpecOf(subject.kind);
  context.lanes = lanes;
  context.all_lanes = lanes;
  context.seed = seed;
  return ValueOf(NetworkPolicy::Create(context));
}

LocalVectorEnvironment NewEnvironments(const Subject& subject, bool are_long, int64_t lanes, uint64_t seed) {
  return LocalVectorEnvironment(ValueOf(
      MakeEnvironments(TinyEnvironment::Definition(subject.kind, are_long), EnvironmentOptions(), lanes, Rng(seed))));
}

namespace {

// Algorithms that learn from recorded episodes are shown an expert's.
std::unique_ptr<Policy> NewActingPolicy(const Subject& subject, const Experiment& experiment) {
  if (!experiment.replay.import.empty()) {
    return std::make_unique<ExpertPolicy>(subject.kind, SpecOf(subject.kind), experiment.actor.lanes, /*seed=*/1);
  }
  return NewPolicy(subject, experiment, experiment.actor.lanes);
}

}  // namespace

Player::Player(const Subject& subject, const Experiment& experiment, bool is_long)
    : plan_(ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()))),
      table_(plan_.algorithm.tables.at(0)),
      policy_(NewActingPolicy(subject, experiment)),
      environments_(NewEnvironments(subject, is_long, experiment.actor.lanes)),
      buffers_(*policy_, environments_.spec().actions, environments_.lanes()),
      pending_(environments_.spec(), *policy_, environments_.lanes()) {
  REQUIRE_OK(replay_.CreateTable(table_.table, StopToken()));
  ReplayWriterOptions sink_options;
  sink_options.writer_id = "player";
  sink_options.tables = {table_.table.name};
  sink_options.signature = table_.table.signature;
  sink_ = ValueOf(replay_.NewWriter(sink_options));
  TrajectoryWriterOptions writer_options;
  writer_options.lanes = environments_.lanes();
  writer_options.environment = environments_.spec();
  writer_options.policy_columns = policy_->columns();
  writer_options.private_columns = static_cast<int64_t>(policy_->private_columns().size());
  writer_options.plans = {table_};
  writer_options.chunk_rows = experiment.actor.chunk_rows;
  writer_ = ValueOf(TrajectoryWriter::Create(writer_options, sink_.get()));
  ReplaySamplerOptions sampler_options;
  sampler_options.table = table_.table;
  sampler_options.batch_size = table_.batch_size;
  sampler_ = ValueOf(replay_.NewSampler(sampler_options));
  updater_ = ValueOf(replay_.NewPriorityUpdater(table_.table.name));
  REQUIRE_OK(environments_.Reset());
  ready_ = ValueOf(environments_.Recv(environments_.lanes(), StopToken()));
}

void Player::Play(int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    PolicyInput input;
    input.slots = ready_.lanes;
    input.observations = ready_.observations;
    input.first = ready_.first;
    REQUIRE_OK(policy_->Act(input, ActMode::kExplore, buffers_.output()));
    pending_.Keep(ready_, *buffers_.output());
    for (size_t row = 0; row < ready_.lanes.size(); ++row) {
      env_steps_ += ready_.step_types[row] != static_cast<int32_t>(StepType::kLast) ? 1 : 0;
    }
    REQUIRE_OK(environments_.Send(ready_.lanes, buffers_.output()->actions));
    ready_ = ValueOf(environments_.Recv(environments_.lanes(), StopToken()));
    const PendingRows::Complete complete = pending_.Take(ready_);
    REQUIRE_OK(writer_->Append(complete.lanes, complete.rows));
    if (writer_->BlockIsFull() || step + 1 == steps) {
      REQUIRE_OK(writer_->Flush(1, StopToken()));
    }
    ++rows_;
    if (rows_ % plan_.algorithm.rows_per_version.value_or(rows_ + 1) == 0) {
      const PendingRows::Complete shown = pending_.Show(ready_);
      REQUIRE_OK(writer_->Append(shown.lanes, shown.rows));
      REQUIRE_OK(writer_->Flush(1, StopToken()));
    }
  }
  REQUIRE_OK(sink_->Flush(absl::Seconds(60)));
}

TensorBatch Player::Sample() {
  StagedBatch staged;
  REQUIRE_OK(StageBatch(ValueOf(sampler_->Next(StopToken())), torch::kCPU, &staged));
  TensorBatch batch = staged.tensors;
  for (auto& [name, field] : batch.fields) {
    field = field.clone();
  }
  return batch;
}

void Player::Prioritize(const TensorBatch& batch, const torch::Tensor& priorities) {
  if (!priorities.defined()) {
    return;
  }
  const auto numbers = [&](const char* field) {
    const auto* const data = batch.at(field).data_ptr<int64_t>();
    return std::vector<uint64_t>(data, data + batch.size);
  };
  const torch::Tensor exact = priorities.to(torch::kFloat64).contiguous();
  const double* const data = exact.data_ptr<double>();
  REQUIRE_OK(
      updater_->Update(numbers(kItemKey), numbers(kItemGeneration), std::vector<double>(data, data + batch.size)));
}

std::vector<TensorBatch> PlayedBatches(const Subject& subject, const Experiment& experiment, int64_t count) {
  Player player(subject, experiment, /*is_long=*/true);
  std::vector<TensorBatch> batches;
  while (static_cast<int64_t>(batches.size()) < count) {
    while (player.items_written() < (static_cast<int64_t>(batches.size()) + 1) * player.table().batch_size) {
      player.Play(8);
    }
    batches.push_back(player.Sample());
  }
  return batches;
}

TensorBatch PlayedBatch(const Subject& subject, const Experiment& experiment) {
  return PlayedBatches(subject, experiment, 2)[1];
}

TensorBatch RowsOf(const TensorBatch& batch, const torch::Tensor& rows) {
  TensorBatch chosen = batch;
  chosen.size = rows.numel();
  for (auto& [name, field] : chosen.fields) {
    field = field.index_select(0, rows);
  }
  return chosen;
}

TensorBatch InFloat64(const TensorBatch& batch) {
  TensorBatch converted = batch;
  for (auto& [name, field] : converted.fields) {
    field = field.is_floating_point() ? field.to(torch::kFloat64).clone() : field.clone();
  }
  return converted;
}

TensorBatch AlikeItems(TensorBatch batch) {
  batch.fields[kItemProbability] = torch::full({batch.size}, 1e-3, torch::kFloat64);
  return batch;
}

torch::Tensor EndsAtTerminal(const TensorBatch& batch) {
  const torch::Tensor& discount = batch.at(kDiscount);
  const torch::Tensor steps = (batch.at(kItemLength) - 1).unsqueeze(1);
  const torch::Tensor counts = torch::arange(discount.size(1)).unsqueeze(0) < steps;
  return ((discount == 0) & counts).any(1);
}

}  // namespace waggle::testing
