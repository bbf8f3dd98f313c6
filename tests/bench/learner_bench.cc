// The learner's loop beside bare loops over the same network, batch and optimizer, and how often a policy acts. With
// --device=cuda or cuda:N all of it happens there.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/nn/network_tape.h"
#include "common/nn/optimizer.h"
#include "common/nn/torch.h"
#include "common/rl/algorithms/apex_dqn.h"
#include "common/rl/algorithms/dqn_loss.h"
#include "common/rl/algorithms/dqn_policy.h"
#include "common/rl/returns.h"
#include "learner/train_loop.h"
#include "replay_server/store/local_replay.h"
#include "tests/bench/bench.h"
#include "tests/support/dqn.h"

namespace waggle::bench {
namespace {

constexpr int64_t kBatch = 256;
constexpr int64_t kSteps = 300;
constexpr int64_t kActs = 2'000;

template <class T>
T Must(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), value.status().ToString());
  return *std::move(value);
}

void Must(const absl::Status& status) {
  WAGGLE_CHECK(status.ok(), status.ToString());
}

// Remembers nothing: what a publication costs the learner is the copy.
class MemoryPublisher : public ModelPublisher {
 public:
  absl::Status Publish(const ModelSnapshot&) override { return absl::OkStatus(); }
};

class NoUpdater : public PriorityUpdater {
 public:
  absl::Status Update(std::vector<uint64_t>, std::vector<uint64_t>, std::vector<double>) override {
    return absl::OkStatus();
  }
  absl::Status Flush(absl::Duration) override { return absl::OkStatus(); }
  PriorityUpdateCounts counts() const override { return PriorityUpdateCounts(); }
};

// Gives out the same few batches in turn.
class PreparedSampler : public ReplaySampler {
 public:
  PreparedSampler(ReplaySampler* source, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      batches_.push_back(Must(source->Next(StopToken())));
    }
  }
  absl::StatusOr<SampledBatch> Next(const StopToken&) override { return batches_[next_++ % batches_.size()]; }
  Stats stats() const override { return Stats(); }
  const SampledBatch& batch(size_t index) const { return batches_[index]; }

 private:
  std::vector<SampledBatch> batches_;
  size_t next_ = 0;
};

// Fills a table with random CartPole-sized steps of 8 lanes.
void Fill(ReplayConnection* replay, const TableConfig& table, int64_t n_step) {
  constexpr uint32_t kLanes = 8;
  constexpr uint32_t kRows = 2'000;
  ReplayWriterOptions options;
  options.writer_id = "bench";
  options.tables = {table.name};
  options.signature = table.signature;
  const std::unique_ptr<ReplayWriter> writer = Must(replay->NewWriter(options));
  Rng rng(1);
  InsertBlock block;
  size_t bytes = 0;
  for (const ArraySpec& column : table.signature) {
    bytes += static_cast<size_t>(column.NumBytes()) * kLanes * kRows;
  }
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  char* at = data.get();
  for (const ArraySpec& column : table.signature) {
    for (int64_t i = 0; i < column.NumElements() * kLanes * kRows; ++i) {
      const float number = static_cast<float>(rng.Uniform(-1, 1));
      const int64_t action = static_cast<int64_t>(rng.UniformInt(2));
      std::memcpy(at, column.dtype == DType::kInt64 ? static_cast<const void*>(&action) : &number,
                  DTypeSize(column.dtype));
      at += DTypeSize(column.dtype);
    }
  }
  block.data = ByteSlices(ByteSlice{data.get(), bytes, data});
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    block.chunks.push_back({lane, 0, kRows});
    for (uint32_t row = 0; row + n_step < kRows; ++row) {
      block.items.push_back({0, lane, row, static_cast<uint32_t>(n_step + 1), rng.Uniform(0.1, 2)});
    }
  }
  Must(writer->Append(std::move(block), StopToken()));
  Must(writer->Flush(absl::Seconds(60)));
}

// Everything that the cases of one network share.
struct Setting {
  explicit Setting(torch::Device on) : device(on) {}

  torch::Device device;
  Experiment experiment;
  EnvironmentSpec environment = testing::DqnEnvironment(4, 2);
  ApexDqnOptions options;
  std::unique_ptr<LocalReplayConnection> replay;
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> updater;
  std::unique_ptr<PreparedSampler> prepared;
  StagedBatch staged;  // One of the prepared batches, on the device.
};

std::unique_ptr<Setting> NewSetting(const std::vector<int64_t>& units, torch::Device device) {
  auto setting = std::make_unique<Setting>(device);
  setting->experiment = testing::DqnExperiment(setting->options);
  setting->experiment.network.torso = {LayerSpec()};
  setting->experiment.network.torso[0].units = units;
  setting->experiment.learner.batch_size = kBatch;
  setting->experiment.learner.checkpoint.period_seconds = 0;
  const TableConfig table = Must(ApexDqnDefinition().plan_tables(
      setting->options, setting->environment, setting->experiment.replay, setting->experiment.learner))[0]
                                .table;
  setting->replay = std::make_unique<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  Must(setting->replay->CreateTable(table, StopToken()));
  Fill(setting->replay.get(), table, setting->options.n_step);
  ReplaySamplerOptions sampler_options;
  sampler_options.table = table;
  sampler_options.batch_size = kBatch;
  setting->sampler = Must(setting->replay->NewSampler(sampler_options));
  setting->updater = Must(setting->replay->NewPriorityUpdater(table.name));
  setting->prepared = std::make_unique<PreparedSampler>(setting->sampler.get(), 16);
  Must(StageBatch(setting->prepared->batch(0), device, &setting->staged));
  return setting;
}

// The two networks and the optimizer that each bare loop has.
struct BareParts {
  explicit BareParts(const Setting& setting) {
    const NetworkPlan plan =
        Must(PlanNetwork(setting.experiment.network, setting.environment.observations[0].array, 2));
    online = Must(Network::Create(plan, setting.device, 1));
    target = Must(Network::Create(plan, setting.device, 1));
    optimizer = Must(NewOptimizer(OptimizerOptions(), online->parameters().values()));
  }

  void Step() {
    Must(optimizer->Step(online->parameters().values(), online->parameters().gradients(), 0.001));
    torch::NoGradGuard no_grad;
    torch::Tensor values = target->parameters().values();
    values.lerp_(online->parameters().values(), 0.005);
  }
  void Synchronize() { online->parameters().values()[0].item<float>(); }  // Waits for an accelerator.

  std::unique_ptr<Network> online;
  std::unique_ptr<Network> target;
  std::unique_ptr<Optimizer> optimizer;
};

// What one would write first without Waggle: double Q-learning by autograd, parameters in flat buffers.
double AutogradStepsPerSecond(const Setting& setting) {
  BareParts parts(setting);
  const TensorBatch& batch = setting.staged.tensors;
  const Timing timing = TimePerCall([&] {
    for (int64_t step = 0; step < kSteps; ++step) {
      torch::Tensor target;
      {
        torch::NoGradGuard no_grad;
        const torch::Tensor best = parts.online->Forward(batch.at("next_observation")).argmax(1, /*keepdim=*/true);
        const torch::Tensor value = parts.target->Forward(batch.at("next_observation")).gather(1, best).squeeze(1);
        target = batch.at(kReward).sum(1) + 0.97 * value;
      }
      parts.online->parameters().gradients().zero_();
      const torch::Tensor q =
          parts.online->Forward(batch.at(kObservation)).gather(1, batch.at(kAction).unsqueeze(1)).squeeze(1);
      torch::huber_loss(q, target).backward();
      parts.Step();
    }
    parts.Synchronize();
  });
  return static_cast<double>(kSteps) / absl::ToDoubleSeconds(timing.best);
}

// The fastest that one could write: the same arithmetic as the algorithm's, and nothing around it.
double TapeStepsPerSecond(const Setting& setting) {
  BareParts parts(setting);
  NetworkTape online(parts.online.get());
  NetworkTape target(parts.target.get());
  const TensorBatch& batch = setting.staged.tensors;
  const torch::Tensor weights = torch::ones({kBatch}, torch::TensorOptions().device(setting.device));
  const Timing timing = TimePerCall([&] {
    torch::NoGradGuard no_grad;
    for (int64_t step = 0; step < kSteps; ++step) {
      const torch::Tensor both = online.Forward(torch::cat({batch.at(kObservation), batch.at("next_observation")}));
      const torch::Tensor next = both.narrow(0, kBatch, kBatch);
      const NStepReturn returns = NStepReturns(batch.at(kReward), batch.at(kDiscount), batch.at(kItemLength), 0.99);
      const torch::Tensor targets =
          DqnTargets(returns.rewards, returns.bootstrap, next, target.Forward(batch.at("next_observation")));
      const DqnLossResult loss =
          DqnLoss(TdLoss::kHuber, both.narrow(0, 0, kBatch), batch.at(kAction), targets, weights);
      online.Backward(loss.q_gradient);
      parts.Step();
    }
    parts.Synchronize();
  });
  return static_cast<double>(kSteps) / absl::ToDoubleSeconds(timing.best);
}

Timing TimeTrainLoop(const Setting& setting, ReplaySampler* source, PriorityUpdater* priorities) {
  const std::unique_ptr<Algorithm> algorithm =
      Must(ApexDqn::Create({&setting.experiment, setting.environment, setting.device}));
  MemoryPublisher publisher;
  Metrics metrics;
  return TimePerCall([&] {
    TrainLoopOptions options;
    options.learner = setting.experiment.learner;
    options.max_learner_steps = kSteps;
    options.device = setting.device;
    TrainLoop train(options, {source, priorities, &publisher, &metrics, nullptr, nullptr}, algorithm.get());
    Must(train.Run(StopToken()));
  });
}

Timing TimeActing(int64_t lanes, torch::Device device, double* bare_rate) {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.network.torso = {LayerSpec()};
  PolicyContext context;
  context.experiment = &experiment;
  context.environment = testing::DqnEnvironment(4, 2);
  context.device = device;
  context.lanes = lanes;
  context.all_lanes = lanes;
  const std::unique_ptr<Policy> policy = Must(DqnPolicy::Create(context));
  const std::unique_ptr<Network> network = Must(
      Network::Create(Must(PlanNetwork(experiment.network, context.environment.observations[0].array, 2)), device, 1));
  const std::vector<float> observations(static_cast<size_t>(4 * lanes), 0.5F);
  std::vector<int64_t> actions(static_cast<size_t>(lanes));
  std::vector<float> private_values(static_cast<size_t>(2 * lanes));
  PolicyInput input;
  input.lanes = lanes;
  const void* const shown = observations.data();
  input.observations = {&shown, 1};
  PolicyOutput output;
  output.actions = {actions.data()};
  output.private_values = private_values.data();
  const torch::Tensor batch = torch::full({lanes, 4}, 0.5F).to(device);
  const Timing bare = TimePerCall([&] {
    c10::InferenceMode inference;
    for (int64_t i = 0; i < kActs; ++i) {
      network->Forward(batch).argmax(1).cpu();
    }
  });
  *bare_rate = static_cast<double>(kActs) / absl::ToDoubleSeconds(bare.best);
  return TimePerCall([&] {
    for (int64_t i = 0; i < kActs; ++i) {
      Must(policy->Act(input, ActMode::kExplore, &output));
    }
  });
}

void AddLearnerCases(const std::vector<int64_t>& units, torch::Device device, double aim, std::vector<Case>* cases) {
  const std::string prefix = absl::StrCat("learner/", absl::StrJoin(units, "_"), "_batch_", kBatch, "_", device.str());
  const std::string fastest = "bare loop, written gradients";
  cases->push_back({prefix + "/train_loop_prepared", [=] {
                      const auto setting = NewSetting(units, device);
                      const double limit = TapeStepsPerSecond(*setting);
                      NoUpdater no_updater;
                      return Rate(TimeTrainLoop(*setting, setting->prepared.get(), &no_updater), kSteps, "steps/s",
                                  limit, fastest);
                    }});
  cases->push_back({prefix + "/train_loop_table", [=] {
                      const auto setting = NewSetting(units, device);
                      const double limit = TapeStepsPerSecond(*setting);
                      return Rate(TimeTrainLoop(*setting, setting->sampler.get(), setting->updater.get()), kSteps,
                                  "steps/s", limit, fastest + ", without a table");
                    }});
  cases->push_back({prefix + "/train_loop_prepared_beside_autograd", [=] {
                      const auto setting = NewSetting(units, device);
                      const double limit = AutogradStepsPerSecond(*setting);
                      NoUpdater no_updater;
                      return Rate(TimeTrainLoop(*setting, setting->prepared.get(), &no_updater), kSteps, "steps/s",
                                  limit, "bare loop, autograd");
                    }});
  if (aim > 0) {
    cases->push_back({prefix + "/train_loop_prepared_beside_aim", [=] {
                        const auto setting = NewSetting(units, device);
                        NoUpdater no_updater;
                        return Rate(TimeTrainLoop(*setting, setting->prepared.get(), &no_updater), kSteps, "steps/s",
                                    aim, "aim");
                      }});
  }
}

std::vector<Case> Cases(torch::Device device) {
  std::vector<Case> cases;
  AddLearnerCases({64, 64}, device, /*aim=*/4'000, &cases);
  AddLearnerCases({256, 256}, device, /*aim=*/0, &cases);
  for (const int64_t lanes : {1, 32}) {
    cases.push_back({absl::StrCat("learner/act_64_64_", lanes, "_", device.str()), [=] {
                       double bare = 0;
                       const Timing timing = TimeActing(lanes, device, &bare);
                       return Rate(timing, kActs, "calls/s", bare, "forward pass and argmax");
                     }});
  }
  return cases;
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::InitLogging("bench", waggle::LogLevel::kWarning);
  waggle::ConfigureTorch(1);
  std::string device = "cpu";
  const std::string flag = "--device=";
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (std::string(argv[i]).rfind(flag, 0) == 0) {
      device = argv[i] + flag.size();
    } else {
      others.push_back(argv[i]);
    }
  }
  const absl::StatusOr<torch::Device> parsed = waggle::ParseDevice(device);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s\n", parsed.status().ToString().c_str());
    return 2;
  }
  return waggle::bench::RunCases(static_cast<int>(others.size()), others.data(), waggle::bench::Cases(*parsed));
}
