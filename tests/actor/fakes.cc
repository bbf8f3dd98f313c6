#include "tests/actor/fakes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/tensor/byte_slices.h"

namespace waggle::testing {
namespace {

constexpr int64_t kChoices = 3;

}  // namespace

CountingEnvironment::CountingEnvironment(int64_t max_steps, uint64_t seed) : rng_(seed), seed_(seed % 1000) {
  spec_.name = "Counting";
  spec_.observations = {Box("observation", DType::kFloat32, {3})};
  spec_.actions = {Discrete("action", kChoices)};
  spec_.max_episode_steps = max_steps;
}

EnvironmentDefinition CountingEnvironment::Definition(int64_t max_steps) {
  EnvironmentDefinition definition;
  definition.description = "Counts";
  definition.spec = [max_steps](const EnvironmentOptions&) { return CountingEnvironment(max_steps, 0).spec(); };
  definition.create = [max_steps](const EnvironmentOptions&,
                                  uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<CountingEnvironment>(max_steps, seed);
  };
  return definition;
}

absl::Status CountingEnvironment::Reset(absl::Span<void* const> observations) {
  ++episode_;
  step_ = 0;
  length_ = 1 + static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(spec_.max_episode_steps)));
  Write(observations[0]);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> CountingEnvironment::Step(absl::Span<const void* const> actions,
                                                      absl::Span<void* const> observations, float* rewards) {
  if (step_ >= length_) {
    return absl::FailedPreconditionError("the episode is over");
  }
  int64_t choice = 0;
  std::memcpy(&choice, actions[0], sizeof(choice));
  if (choice < 0 || choice >= kChoices) {
    return absl::InvalidArgumentError("no such action");
  }
  rewards[0] = static_cast<float>(10 * step_ + choice);
  StepOutcome outcome;
  ++step_;
  if (step_ == length_) {
    (episode_ % 3 == 2 ? outcome.truncated : outcome.terminated) = true;
  }
  Write(observations[0]);
  return outcome;
}

void CountingEnvironment::Write(void* observation) const {
  const float values[3] = {static_cast<float>(seed_), static_cast<float>(episode_), static_cast<float>(step_)};
  std::memcpy(observation, values, sizeof(values));
}

std::vector<ArraySpec> CountingPolicy::columns() const {
  return {ArraySpec{"trace", DType::kFloat32, {2}}};
}

absl::Status CountingPolicy::Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) {
  if (on_act) {
    on_act(calls);
  }
  ++calls;
  const float* observations = static_cast<const float*>(input.observations[0]);
  for (int64_t row = 0; row < input.rows(); ++row) {
    const float* observation = observations + 3 * row;
    const int64_t step = static_cast<int64_t>(observation[2]);
    static_cast<int64_t*>(output->actions[0])[row] = mode == ActMode::kExplore ? step % 3 : 0;
    std::memcpy(static_cast<float*>(output->columns[0]) + 2 * row, observation + 1, 2 * sizeof(float));
    output->private_values[2 * row] = observation[2];
    output->private_values[2 * row + 1] = observation[2] * observation[2];
  }
  return act_result;
}

absl::Status CountingPolicy::LoadWeights(const ModelSnapshot& snapshot) {
  if (load_result.ok()) {
    loaded.push_back(snapshot.version.version);
  }
  return load_result;
}

std::vector<LaneStream> StreamsOf(const std::vector<InsertBlock>& blocks, const std::vector<ArraySpec>& signature) {
  std::vector<LaneStream> streams;
  for (const InsertBlock& block : blocks) {
    const char* at = block.data.slices().at(0).data;
    for (const ArraySpec& column : signature) {
      const auto row_bytes = static_cast<size_t>(column.NumBytes());
      for (const ChunkInfo& chunk : block.chunks) {
        streams.resize(std::max<size_t>(streams.size(), chunk.stream + 1));
        std::vector<std::string>& rows = streams[chunk.stream].rows;
        for (uint64_t row = chunk.first_row; row < chunk.first_row + chunk.rows; ++row, at += row_bytes) {
          rows.resize(std::max<size_t>(rows.size(), row + 1));
          rows[row].append(at, row_bytes);
        }
      }
    }
    for (const ItemInfo& item : block.items) {
      streams[item.stream].items.emplace_back(item.first_row, item.rows, item.priority);
    }
  }
  return streams;
}

absl::Status RecordingWriter::Append(InsertBlock block, const StopToken& stop) {
  if (on_append) {
    const absl::Status status = on_append(stop);
    if (!status.ok()) {
      return status;
    }
  }
  blocks.push_back(std::move(block));
  return absl::OkStatus();
}

absl::Status RecordingWriter::Flush(absl::Duration) {
  ++flushes;
  return absl::OkStatus();
}

void ScriptedSubscriber::Script::Add(absl::StatusOr<std::optional<ModelSnapshot>> answer) {
  MutexLock lock(&mutex);
  answers.push_back(std::move(answer));
  changed.SignalAll();
}

std::vector<std::optional<ModelVersion>> ScriptedSubscriber::Script::Asked() {
  MutexLock lock(&mutex);
  return asked;
}

std::vector<std::optional<ModelVersion>> ScriptedSubscriber::Script::Awaited() {
  MutexLock lock(&mutex);
  return awaited;
}

absl::StatusOr<std::optional<ModelSnapshot>> ScriptedSubscriber::PullNewer(std::optional<ModelVersion> version,
                                                                           const StopToken& /*stop*/) {
  MutexLock lock(&script_->mutex);
  script_->asked.push_back(version);
  if (script_->answers.empty()) {
    return std::optional<ModelSnapshot>();
  }
  auto answer = std::move(script_->answers.front());
  script_->answers.pop_front();
  return answer;
}

absl::Status ScriptedSubscriber::WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) {
  {
    MutexLock lock(&script_->mutex);
    script_->awaited.push_back(version);
  }
  if (script_->on_wait != nullptr) {
    script_->on_wait(script_->Awaited().size());
  }
  const StopToken::Callback wake(stop, [script = script_] {
    MutexLock lock(&script->mutex);
    script->changed.SignalAll();
  });
  while (!stop.StopRequested()) {
    MutexLock lock(&script_->mutex);
    if (!script_->answers.empty()) {
      return absl::OkStatus();
    }
    script_->changed.WaitFor(&script_->mutex, absl::Milliseconds(10));
  }
  return absl::CancelledError("stopped");
}

ModelSnapshot SnapshotOf(uint64_t version) {
  ModelSnapshot snapshot;
  snapshot.model = "counting";
  snapshot.version = ModelVersion{1, version};
  return snapshot;
}

void FakeHub::Set(const std::function<void(Assignment*)>& change) {
  RunState state = RunState::kNoExperiment;
  {
    MutexLock lock(&mutex_);
    change(&assignment_);
    state = assignment_.run_state;
    changed_.SignalAll();
  }
  if (IsTrainingOver(state)) {
    training_over_.RequestStop();
  }
  if (IsOver(state)) {
    run_over_.RequestStop();
  }
}

void FakeHub::Refuse(const absl::Status& reason) {
  {
    MutexLock lock(&mutex_);
    refusal_ = reason;
    changed_.SignalAll();
  }
  training_over_.RequestStop();
  run_over_.RequestStop();
}

void FakeHub::AdoptEnvironment(bool adopt) {
  MutexLock lock(&mutex_);
  adopt_environment_ = adopt;
}

std::optional<EnvironmentSpec> FakeHub::environment() const {
  MutexLock lock(&mutex_);
  return environment_;
}

std::vector<Evaluation> FakeHub::evaluations() const {
  MutexLock lock(&mutex_);
  return evaluations_;
}

std::vector<absl::Status> FakeHub::failures() const {
  MutexLock lock(&mutex_);
  return failures_;
}

int FakeHub::farewells() const {
  MutexLock lock(&mutex_);
  return farewells_;
}

Assignment FakeHub::assignment() const {
  MutexLock lock(&mutex_);
  return assignment_;
}

absl::StatusOr<Assignment> FakeHub::WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                              const StopToken& stop) {
  MutexLock lock(&mutex_);
  while (true) {
    if (!refusal_.ok()) {
      return refusal_;
    }
    if (condition(assignment_)) {
      return assignment_;
    }
    if (stop.StopRequested() || IsOver(assignment_.run_state)) {
      return absl::CancelledError("the run is over");
    }
    changed_.WaitFor(&mutex_, absl::Milliseconds(10));
  }
}

void FakeHub::ReportEnvironment(const EnvironmentSpec& environment) {
  MutexLock lock(&mutex_);
  environment_ = environment;
  if (adopt_environment_) {
    assignment_.environment = environment;
    changed_.SignalAll();
  }
}

void FakeHub::ReportEvaluation(const Evaluation& evaluation) {
  {
    MutexLock lock(&mutex_);
    evaluations_.push_back(evaluation);
  }
  if (on_evaluation) {
    on_evaluation(evaluation);
  }
}

void FakeHub::ReportFailure(const absl::Status& failure) {
  MutexLock lock(&mutex_);
  failures_.push_back(failure);
}

std::vector<StepRequest> FakeHub::step_requests() const {
  MutexLock lock(&mutex_);
  return step_requests_;
}

absl::StatusOr<int64_t> FakeHub::TakeSteps(const StepRequest& request, const StopToken&) {
  {
    MutexLock lock(&mutex_);
    step_requests_.push_back(request);
  }
  return on_take_steps(request);
}

void FakeHub::Leave(absl::Duration) {
  MutexLock lock(&mutex_);
  ++farewells_;
}

}  // namespace waggle::testing
