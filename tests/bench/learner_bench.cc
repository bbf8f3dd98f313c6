// The learner's loop beside a bare loop of LibTorch calls with the same network and batch, and how often a policy acts.
// One JSON line a case. Arguments: a device ("cpu" without one), and --cpu-time to divide by the time that this process
// computed instead of the time that passed, for a machine on which other things run.

#include <time.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/nn/optimizer.h"
#include "common/rl/algorithms/apex_dqn.h"
#include "common/rl/algorithms/dqn_policy.h"
#include "learner/train_loop.h"
#include "replay_server/table/local_replay.h"
#include "tests/bench/bench.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

constexpr int64_t kBatch = 256;
constexpr int64_t kSteps = 1'000;
constexpr int64_t kActs = 4'000;
constexpr int kRounds = 5;

template <class T>
T Must(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), value.status().ToString());
  return *std::move(value);
}

void Must(const absl::Status& status) {
  WAGGLE_CHECK(status.ok(), status.ToString());
}

bool measure_cpu_time = false;

double Seconds() {
  timespec now;
  clock_gettime(measure_cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The best of a few rounds, in calls a second: other processes only ever make a round slower.
double Rate(int64_t calls, const std::function<void(int64_t)>& run) {
  run(calls / 10);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = Seconds();
    run(calls);
    best = std::max(best, static_cast<double>(calls) / (Seconds() - begin));
  }
  return best;
}

void Print(const std::string& name, double value, const char* unit, double limit) {
  std::printf("{\"case\": \"%s\", \"value\": %.1f, \"unit\": \"%s\", \"limit\": %.1f, \"ratio\": %.3f}\n", name.c_str(),
              value, unit, limit, limit > 0 ? value / limit : 0);
  std::fflush(stdout);
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

// What one would write without Waggle: autograd, the same losses, parameters in flat buffers, the same optimizer.
class BareLoop {
 public:
  BareLoop(const NetworkPlan& plan, torch::Device device, const TensorBatch& batch)
      : online_(Must(Network::Create(plan, device, 1))),
        target_(Must(Network::Create(plan, device, 1))),
        optimizer_(Must(NewOptimizer(OptimizerOptions(), online_->parameters().values()))),
        batch_(batch) {}

  void Run(int64_t steps) {
    for (int64_t step = 0; step < steps; ++step) {
      torch::Tensor target;
      {
        torch::NoGradGuard no_grad;
        const torch::Tensor best = online_->Forward(batch_.at("next_observation")).argmax(1, /*keepdim=*/true);
        const torch::Tensor value = target_->Forward(batch_.at("next_observation")).gather(1, best).squeeze(1);
        target = batch_.at(kReward).sum(1) + 0.97 * value;
      }
      online_->parameters().gradients().zero_();
      const torch::Tensor q =
          online_->Forward(batch_.at(kObservation)).gather(1, batch_.at(kAction).unsqueeze(1)).squeeze(1);
      torch::huber_loss(q, target).backward();
      Must(optimizer_->Step(online_->parameters().values(), online_->parameters().gradients()));
      torch::NoGradGuard no_grad;
      torch::Tensor values = target_->parameters().values();
      values.lerp_(online_->parameters().values(), 0.005);
    }
    online_->parameters().values()[0].item<float>();  // Waits for an accelerator.
  }

 private:
  const std::unique_ptr<Network> online_;
  const std::unique_ptr<Network> target_;
  const std::unique_ptr<Optimizer> optimizer_;
  const TensorBatch& batch_;
};

void BenchLearner(std::vector<int64_t> units, const std::string& device_name) {
  const torch::Device device = Must(ParseDevice(device_name));
  ApexDqnOptions options;
  Experiment experiment = testing::DqnExperiment(options);
  experiment.network.torso = {LayerSpec()};
  experiment.network.torso[0].units = units;
  const EnvironmentSpec environment = testing::DqnEnvironment(4, 2);
  experiment.learner.batch_size = kBatch;
  experiment.learner.checkpoint.period_seconds = 0;
  const TableConfig table =
      Must(ApexDqnDefinition().plan_tables(options, environment, experiment.replay, experiment.learner))[0].table;
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  Must(replay.CreateTable(table, StopToken()));
  Fill(&replay, table, options.n_step);
  ReplaySamplerOptions sampler_options;
  sampler_options.table = table;
  sampler_options.batch_size = kBatch;
  const std::unique_ptr<ReplaySampler> sampler = Must(replay.NewSampler(sampler_options));
  const std::unique_ptr<PriorityUpdater> updater = Must(replay.NewPriorityUpdater(table.name));
  PreparedSampler prepared(sampler.get(), 16);
  NoUpdater no_updater;

  StagedBatch staged;
  Must(StageBatch(prepared.batch(0), device, &staged));
  const std::string name = absl::StrCat("learner ", units[0], "-", units[1], " batch ", kBatch, " ", device_name);
  BareLoop bare(Must(PlanNetwork(experiment.network, environment.observation, 2)), device, staged.tensors);
  const double bare_rate = Rate(kSteps, [&](int64_t steps) { bare.Run(steps); });
  Print(absl::StrCat(name, ", bare LibTorch loop"), bare_rate, "steps/s", bare_rate);

  const auto loop = [&](ReplaySampler* source, PriorityUpdater* priorities) {
    const std::unique_ptr<Algorithm> algorithm = Must(ApexDqn::Create({&experiment, environment, device}));
    MemoryPublisher publisher;
    Metrics metrics;
    return Rate(kSteps, [&](int64_t steps) {
      TrainLoopOptions loop_options;
      loop_options.learner = experiment.learner;
      loop_options.max_learner_steps = steps;
      loop_options.device = device;
      TrainLoop train(loop_options, {source, priorities, &publisher, &metrics, nullptr}, algorithm.get());
      Must(train.Run(StopToken()));
    });
  };
  Print(absl::StrCat(name, ", train loop on prepared batches"), loop(&prepared, &no_updater), "steps/s", bare_rate);
  Print(absl::StrCat(name, ", train loop on a table in process"), loop(sampler.get(), updater.get()), "steps/s",
        bare_rate);
}

void BenchPolicy(int64_t lanes, const std::string& device_name) {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.network.torso = {LayerSpec()};
  PolicyContext context;
  context.experiment = &experiment;
  context.environment = testing::DqnEnvironment(4, 2);
  context.device = Must(ParseDevice(device_name));
  context.lanes = lanes;
  context.all_lanes = lanes;
  const std::unique_ptr<Policy> policy = Must(DqnPolicy::Create(context));
  const std::unique_ptr<Network> network = Must(
      Network::Create(Must(PlanNetwork(experiment.network, context.environment.observation, 2)), context.device, 1));
  const std::vector<float> observations(static_cast<size_t>(4 * lanes), 0.5F);
  std::vector<int64_t> actions(static_cast<size_t>(lanes));
  std::vector<float> private_values(static_cast<size_t>(2 * lanes));
  PolicyInput input;
  input.lanes = lanes;
  input.observations = observations.data();
  PolicyOutput output;
  output.actions = actions.data();
  output.private_values = private_values.data();
  const torch::Tensor batch = torch::full({lanes, 4}, 0.5F).to(context.device);
  const double forward_rate = Rate(kActs, [&](int64_t calls) {
    c10::InferenceMode inference;
    for (int64_t i = 0; i < calls; ++i) {
      network->Forward(batch).argmax(1).cpu();
    }
  });
  const double act_rate = Rate(kActs, [&](int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) {
      Must(policy->Act(input, ActMode::kExplore, &output));
    }
  });
  Print(absl::StrCat("act 64-64, ", lanes, " lanes ", device_name, " (limit: a bare forward pass and argmax)"),
        act_rate, "calls/s", forward_rate);
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  waggle::InitLogging("bench", waggle::LogLevel::kWarning);
  waggle::ConfigureTorch(1);
  std::string device = "cpu";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cpu-time") {
      waggle::measure_cpu_time = true;
    } else if (argument.rfind("--device=", 0) == 0) {
      device = argument.substr(std::string("--device=").size());
    } else if (argument.rfind("--filter=", 0) != 0) {
      std::fprintf(stderr, "usage: %s [--filter=PART_OF_A_CASE_NAME] [--device=cuda] [--cpu-time]\n", argv[0]);
      return 2;
    }
  }
  if (waggle::bench::AnySelected(argc, argv, {"learner 64-64 batch 256"})) {
    waggle::BenchLearner({64, 64}, device);
  }
  if (waggle::bench::AnySelected(argc, argv, {"learner 256-256 batch 256"})) {
    waggle::BenchLearner({256, 256}, device);
  }
  if (waggle::bench::AnySelected(argc, argv, {"act 64-64"})) {
    waggle::BenchPolicy(32, device);
    waggle::BenchPolicy(1, device);
  }
  return 0;
}
