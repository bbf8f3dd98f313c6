// The learner's loop beside bare loops over the same network, batch and optimizer, and how often a policy acts. With
// --device=cuda or cuda:N all of it happens there.

#include <torch/nn.h>
#include <torch/optim.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/nn/optimizer.h"
#include "common/nn/torch.h"
#include "common/rl/network_policy.h"
#include "common/rl/steppers.h"
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
  std::unique_ptr<LocalReplayConnection> replay;
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> updater;
  std::unique_ptr<PreparedSampler> prepared;
  StagedBatch staged;  // One of the prepared batches, on the device.
};

std::unique_ptr<Setting> NewSetting(const std::vector<int64_t>& units, torch::Device device) {
  auto setting = std::make_unique<Setting>(device);
  setting->experiment = testing::DqnExperiment(ApexDqnOptions());
  setting->experiment.networks["q"].torso = {LayerSpec()};
  setting->experiment.networks["q"].torso[0].units = units;
  setting->experiment.learner.batch_size = kBatch;
  setting->experiment.learner.checkpoint.period_seconds = 0;
  const TablePlan plan = Must(PlanExperiment(setting->experiment, setting->environment, BuiltinAlgorithmDefinitions()))
                             .algorithm.tables[0];
  const TableConfig& table = plan.table;
  setting->replay = std::make_unique<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  Must(setting->replay->CreateTable(table, StopToken()));
  Fill(setting->replay.get(), table, plan.window.length - 1);
  ReplaySamplerOptions sampler_options;
  sampler_options.table = table;
  sampler_options.batch_size = kBatch;
  setting->sampler = Must(setting->replay->NewSampler(sampler_options));
  setting->updater = Must(setting->replay->NewPriorityUpdater(table.name));
  setting->prepared = std::make_unique<PreparedSampler>(setting->sampler.get(), 16);
  Must(StageBatch(setting->prepared->batch(0), device, &setting->staged));
  return setting;
}

double PerSecond(const Timing& timing) {
  return static_cast<double>(kSteps) / absl::ToDoubleSeconds(timing.best);
}

// What one would write first without Waggle: double Q-learning with LibTorch's own modules and optimizer.
double ModulesStepsPerSecond(const Setting& setting, const std::vector<int64_t>& units) {
  const auto make = [&] {
    torch::nn::Sequential network;
    int64_t inputs = 4;
    for (const int64_t width : units) {
      network->push_back(torch::nn::Linear(inputs, width));
      network->push_back(torch::nn::ReLU());
      inputs = width;
    }
    network->push_back(torch::nn::Linear(inputs, 2));
    network->to(setting.device);
    return network;
  };
  torch::nn::Sequential online = make();
  torch::nn::Sequential target = make();
  torch::optim::Adam optimizer(online->parameters(), torch::optim::AdamOptions(0.001));
  const TensorBatch& batch = setting.staged.tensors;
  const Timing timing = TimePerCall([&] {
    for (int64_t step = 0; step < kSteps; ++step) {
      torch::Tensor goal;
      {
        const torch::NoGradGuard no_grad;
        const torch::Tensor best = online->forward(batch.at("next_observation")).argmax(1, /*keepdim=*/true);
        const torch::Tensor value = target->forward(batch.at("next_observation")).gather(1, best).squeeze(1);
        goal = batch.at(kReward).sum(1) + 0.97 * value;
      }
      optimizer.zero_grad();
      const torch::Tensor q =
          online->forward(batch.at(kObservation)).gather(1, batch.at(kAction).unsqueeze(1)).squeeze(1);
      torch::huber_loss(q, goal).backward();
      torch::nn::utils::clip_grad_norm_(online->parameters(), 10);
      optimizer.step();
      const torch::NoGradGuard no_grad;
      for (size_t i = 0; i < target->parameters().size(); ++i) {
        target->parameters()[i].lerp_(online->parameters()[i], 0.01);
      }
    }
    online->parameters()[0].flatten()[0].item<float>();  // Waits for an accelerator.
  });
  return PerSecond(timing);
}

// The same with flat buffers and our optimizer, by LibTorch's own autograd.
double FlatStepsPerSecond(const Setting& setting) {
  const NetworkPlan plan =
      *Must(PlanExperiment(setting.experiment, setting.environment, BuiltinAlgorithmDefinitions())).acting();
  const auto online = Must(Network::Create(plan, setting.device, 1));
  const auto target = Must(Network::Create(plan, setting.device, 1, torch::kFloat32, /*learns=*/false));
  OptimizerOptions options;
  options.gradient_clip_norm = 10;
  const auto optimizer = Must(NewOptimizer(options, online->parameters().values()));
  const TensorBatch& batch = setting.staged.tensors;
  const auto q_of = [&](Network& network, const char* field) {
    return network.Forward({batch.at(field)}, {}, /*by_autograd=*/true)[0].values;
  };
  const Timing timing = TimePerCall([&] {
    for (int64_t step = 0; step < kSteps; ++step) {
      torch::Tensor goal;
      {
        const torch::NoGradGuard no_grad;
        const torch::Tensor best = q_of(*online, "next_observation").argmax(1, /*keepdim=*/true);
        goal = batch.at(kReward).sum(1) + 0.97 * q_of(*target, "next_observation").gather(1, best).squeeze(1);
      }
      torch::Tensor gradients = online->parameters().gradients();
      gradients.zero_();
      const torch::Tensor q = q_of(*online, kObservation).gather(1, batch.at(kAction).unsqueeze(1)).squeeze(1);
      torch::huber_loss(q, goal).backward();
      Must(optimizer->Step(online->parameters().values(), gradients, 0.001));
      const torch::NoGradGuard no_grad;
      torch::Tensor values = target->parameters().values();
      values.lerp_(online->parameters().values(), 0.01);
    }
    online->parameters().values()[0].item<float>();
  });
  return PerSecond(timing);
}

// The algorithm's update, and nothing around it.
Timing TimeUpdates(const Setting& setting) {
  const auto trainee = Must(testing::DqnTrainee(setting.experiment, setting.environment, setting.device));
  LocalStepper stepper;
  int64_t steps = 0;
  return TimePerCall([&] {
    for (int64_t step = 0; step < kSteps; ++step) {
      Must(trainee->Update(setting.staged.tensors, {0, ++steps, 0}, &stepper));
    }
    trainee->model().net("q").group()->values()[0].item<float>();
  });
}

Timing TimeTrainLoop(const Setting& setting, ReplaySampler* source, PriorityUpdater* priorities) {
  const auto trainee = Must(testing::DqnTrainee(setting.experiment, setting.environment, setting.device));
  LocalStepper stepper;
  MemoryPublisher publisher;
  Metrics metrics;
  return TimePerCall([&] {
    TrainLoopOptions options;
    options.learner = setting.experiment.learner;
    options.max_learner_steps = kSteps;
    options.device = setting.device;
    TrainLoop train(options, {{{source, priorities}}, &publisher, &metrics, nullptr, nullptr}, trainee.get(), &stepper);
    Must(train.Run(StopToken()));
  });
}

Timing TimeActing(int64_t lanes, torch::Device device, double* bare_rate) {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.networks["q"].torso = {LayerSpec()};
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &definitions;
  context.environment = testing::DqnEnvironment(4, 2);
  context.device = device;
  context.lanes = lanes;
  context.all_lanes = lanes;
  const std::unique_ptr<Policy> policy = Must(NetworkPolicy::Create(context));
  const auto network =
      Must(Network::Create(*Must(PlanExperiment(experiment, context.environment, definitions)).acting(), device, 1));
  const std::vector<float> observations(static_cast<size_t>(4 * lanes), 0.5F);
  std::vector<int64_t> actions(static_cast<size_t>(lanes));
  std::vector<float> private_values(static_cast<size_t>(2 * lanes));
  PolicyInput input;
  std::vector<int64_t> slots(static_cast<size_t>(lanes));
  std::iota(slots.begin(), slots.end(), 0);
  input.slots = slots;
  const void* const shown = observations.data();
  input.observations = {&shown, 1};
  PolicyOutput output;
  output.actions = {actions.data()};
  output.private_values = private_values.data();
  const torch::Tensor batch = torch::full({lanes, 4}, 0.5F).to(device);
  const Timing bare = TimePerCall([&] {
    c10::InferenceMode inference;
    for (int64_t i = 0; i < kActs; ++i) {
      network->Forward({batch})[0].values.argmax(1).cpu();
    }
  });
  *bare_rate = static_cast<double>(kActs) / absl::ToDoubleSeconds(bare.best);
  return TimePerCall([&] {
    for (int64_t i = 0; i < kActs; ++i) {
      Must(policy->Act(input, ActMode::kExplore, &output));
    }
  });
}

void AddLearnerCases(const std::vector<int64_t>& units, torch::Device device, std::vector<Case>* cases) {
  const std::string prefix = absl::StrCat("learner/", absl::StrJoin(units, "_"), "_batch_", kBatch, "_", device.str());
  const auto add = [&](const char* name, auto run) {
    cases->push_back({absl::StrCat(prefix, "/", name), [=] { return run(*NewSetting(units, device)); }});
  };
  add("update_beside_modules", [=](const Setting& setting) {
    const double limit = ModulesStepsPerSecond(setting, units);
    return Rate(TimeUpdates(setting), kSteps, "steps/s", limit, "LibTorch's modules and optimizer");
  });
  add("update_beside_flat_buffers", [](const Setting& setting) {
    const double limit = FlatStepsPerSecond(setting);
    return Rate(TimeUpdates(setting), kSteps, "steps/s", limit, "autograd, flat buffers");
  });
  add("train_loop_prepared", [](const Setting& setting) {
    const double limit = PerSecond(TimeUpdates(setting));
    NoUpdater no_updater;
    return Rate(TimeTrainLoop(setting, setting.prepared.get(), &no_updater), kSteps, "steps/s", limit,
                "the same update called bare");
  });
  add("train_loop_table", [](const Setting& setting) {
    const double limit = PerSecond(TimeUpdates(setting));
    return Rate(TimeTrainLoop(setting, setting.sampler.get(), setting.updater.get()), kSteps, "steps/s", limit,
                "the same update called bare, without a table");
  });
}

std::vector<Case> Cases(torch::Device device) {
  std::vector<Case> cases;
  AddLearnerCases({64, 64}, device, &cases);
  AddLearnerCases({256, 256}, device, &cases);
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
