#include "tests/bench/learner_setting.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/training/steppers.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

// Writes one element of a column: a number in [-1, 1), one of the first two choices, or any byte. The episode does not
// end in these rows.
void WriteElement(const ArraySpec& column, Rng* rng, char* at) {
  const auto write = [at](auto value) { std::memcpy(at, &value, sizeof(value)); };
  if (column.name == kStepType) {
    write(static_cast<int32_t>(StepType::kMid));
  } else if (column.name == kDiscount) {
    write(1.0F);
  } else if (column.dtype == DType::kUint8) {
    write(static_cast<uint8_t>(rng->UniformInt(256)));
  } else if (column.dtype == DType::kInt64) {
    write(static_cast<int64_t>(rng->UniformInt(2)));
  } else {
    WAGGLE_CHECK(column.dtype == DType::kFloat32, "the table's columns are of these types");
    write(static_cast<float>(rng->Uniform(-1, 1)));
  }
}

// Fills a table with windows over random rows.
void Fill(ReplayConnection* replay, const TablePlan& plan, int64_t items) {
  constexpr uint32_t kLanes = 8;
  const auto windows = static_cast<uint32_t>(items / kLanes);
  const auto period = static_cast<uint32_t>(plan.window.period);
  const auto length = static_cast<uint32_t>(plan.window.length);
  const uint32_t rows = (windows - 1) * period + length;
  ReplayWriterOptions options;
  options.writer_id = "bench";
  options.tables = {plan.table.name};
  options.signature = plan.table.signature;
  const std::unique_ptr<ReplayWriter> writer = Must(replay->NewWriter(options));
  Rng rng(1);
  InsertBlock block;
  size_t bytes = 0;
  for (const ArraySpec& column : plan.table.signature) {
    bytes += static_cast<size_t>(column.NumBytes()) * kLanes * rows;
  }
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  char* at = data.get();
  for (const ArraySpec& column : plan.table.signature) {
    for (int64_t i = 0; i < column.NumElements() * kLanes * rows; ++i, at += DTypeSize(column.dtype)) {
      WriteElement(column, &rng, at);
    }
  }
  block.data = ByteSlices(ByteSlice{data.get(), bytes, data});
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    block.chunks.push_back({lane, 0, rows});
    for (uint32_t window = 0; window < windows; ++window) {
      block.items.push_back({0, lane, window * period, length, rng.Uniform(0.1, 2)});
    }
  }
  Must(writer->Append(std::move(block), StopToken()));
  Must(writer->Flush(absl::Seconds(60)));
}

}  // namespace

PreparedSampler::PreparedSampler(ReplaySampler* source, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    batches_.push_back(Must(source->Next(StopToken())));
  }
}

std::unique_ptr<Setting> NewSetting(const SettingOptions& options, torch::Device device) {
  auto setting = std::make_unique<Setting>(device);
  setting->experiment =
      Must(ParseExperiment(absl::StrCat("experiment: {name: bench}\nstop: {max_learner_steps: 1}\n", options.yaml),
                           "bench.yaml", {}, BuiltinAlgorithmDefinitions()));
  setting->experiment.learner.checkpoint.period_seconds = 0;
  setting->environment = options.environment;
  setting->plan = Must(PlanExperiment(setting->experiment, setting->environment, BuiltinAlgorithmDefinitions()));
  const TablePlan& plan = setting->plan.algorithm.tables[0];
  setting->replay = std::make_unique<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  Must(setting->replay->CreateTable(plan.table, StopToken()));
  Fill(setting->replay.get(), plan, options.items);
  ReplaySamplerOptions sampler_options;
  sampler_options.table = plan.table;
  sampler_options.batch_size = plan.batch_size;
  setting->sampler = Must(setting->replay->NewSampler(sampler_options));
  setting->updater = Must(setting->replay->NewPriorityUpdater(plan.table.name));
  setting->prepared = std::make_unique<PreparedSampler>(setting->sampler.get(), options.batches);
  for (const SampledBatch& batch : setting->prepared->batches()) {
    setting->staged.emplace_back();
    Must(StageBatch(batch, device, &setting->staged.back()));
  }
  return setting;
}

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Setting& setting) {
  return Must(AlgorithmTrainee::Create(setting.experiment, setting.environment, BuiltinAlgorithmDefinitions(),
                                       BuiltinAlgorithms(), setting.device));
}

Learner WaggleLearner(const Setting& setting) {
  struct State {
    std::unique_ptr<AlgorithmTrainee> trainee;
    LocalStepper stepper;
    int64_t steps = 0;
  };
  const auto state = std::make_shared<State>();
  state->trainee = NewTrainee(setting);
  return [state](const TensorBatch& batch) {
    Must(state->trainee->Update(batch, {0, ++state->steps, 0}, &state->stepper));
  };
}

void LearnFromEach(const Setting& setting, const Learner& learner) {
  for (const StagedBatch& batch : setting.staged) {
    learner(batch.tensors);
  }
  torch::zeros({}, setting.device).item<float>();
}

}  // namespace waggle::bench
