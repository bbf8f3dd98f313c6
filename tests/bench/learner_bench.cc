// A learner's update beside bare ones over the same batches, its loop beside the update alone, and a policy's acting
// rate. With --device=cuda or cuda:N all of it runs there.

#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/nn/network.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/training/steppers.h"
#include "learner/train_loop.h"
#include "tests/bench/bare_learners.h"
#include "tests/bench/bench.h"
#include "tests/bench/learner_setting.h"
#include "tests/bench/must.h"
#include "tests/support/dqn.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLoopSteps = 320;
constexpr int64_t kActs = 100;

// Keeps nothing: a publication costs the learner only the copy.
class MemoryPublisher : public ModelPublisher {
 public:
  absl::Status Publish(const ModelSnapshot&, const StopToken&) override { return absl::OkStatus(); }
};

class NoUpdater : public PriorityUpdater {
 public:
  absl::Status Update(std::vector<uint64_t>, std::vector<uint64_t>, std::vector<double>) override {
    return absl::OkStatus();
  }
  absl::Status Flush(absl::Duration) override { return absl::OkStatus(); }
  PriorityUpdateCounts counts() const override { return PriorityUpdateCounts(); }
};

// `count` units per call beside the limit's `limit_count`.
Result RateBeside(const TimingBesideLimit& timing, double count, double limit_count, const std::string& unit,
                  const std::string& limit_name) {
  return Rate(timing.call, count, unit, limit_count / absl::ToDoubleSeconds(timing.limit.best), limit_name);
}

// Updates per second, over the prepared batches in turn, beside another learner's.
Result UpdatesBeside(const Setting& setting, const Learner& bare, const std::string& limit_name) {
  const Learner learner = WaggleLearner(setting);
  const auto count = static_cast<double>(setting.staged.size());
  return RateBeside(TimeBesideLimit([&] { LearnFromEach(setting, learner); }, [&] { LearnFromEach(setting, bare); }),
                    count, count, "steps/s", limit_name);
}

// Multiply-add operations of one row of inputs in a network.
struct Multiplications {
  double all = 0;
  double first = 0;  // In the first layers of its trunks, whose inputs need no gradient.
};

Multiplications MultiplicationsOf(const NetworkPlan& plan) {
  const auto elements = [&](int64_t parameter) {
    return static_cast<double>(plan.parameters[static_cast<size_t>(parameter)].NumElements());
  };
  const auto of_layer = [&](const LayerPlan& layer) {
    const bool is_conv = layer.kind == LayerPlan::Kind::kConv;
    const double positions = is_conv ? static_cast<double>(layer.output_shape[1] * layer.output_shape[2]) : 1;
    return elements(layer.weight) * positions;
  };
  Multiplications count;
  for (const TrunkPlan& trunk : plan.trunks) {
    count.first += of_layer(trunk.torso[0]);
    for (const LayerPlan& layer : trunk.torso) {
      count.all += of_layer(layer);
    }
    for (const CorePlan& core : trunk.cores) {
      count.all += elements(core.weight) + elements(core.weight + 1);
    }
  }
  for (const HeadPlan& head : plan.heads) {
    for (const LayerPlan& layer : head.layers) {
      count.all += of_layer(layer);
    }
  }
  return count;
}

// Three passes forward, and one back, for weights and for inputs.
double DqnMultiplications(const Setting& setting) {
  const Multiplications count = MultiplicationsOf(*setting.plan.acting()[0]);
  return static_cast<double>(setting.experiment.learner.batch_size) * (5 * count.all - count.first);
}

// One pass forward over all rows, then in each epoch one forward and back over the steps.
double PpoMultiplications(const Setting& setting) {
  const auto& options = setting.options<PpoOptions>();
  const Multiplications count = MultiplicationsOf(*setting.plan.acting()[0]);
  const auto rows = static_cast<double>(setting.experiment.learner.batch_size);
  const auto steps = static_cast<double>(options.unroll);
  const auto epochs = static_cast<double>(options.epochs);
  return rows * ((steps + 1) * count.all + epochs * steps * (3 * count.all - count.first));
}

// Updates beside the time of their matrix products at the rate of a large one.
Result UpdatesBesideProducts(const Setting& setting, double multiplications) {
  constexpr int64_t kSide = 1024;
  const Learner learner = WaggleLearner(setting);
  const torch::Tensor a = torch::randn({kSide, kSide}, setting.device);
  const torch::Tensor b = torch::randn({kSide, kSide}, setting.device);
  torch::Tensor product = torch::empty_like(a);
  const TimingBesideLimit timing = TimeBesideLimit([&] { LearnFromEach(setting, learner); },
                                                   [&] {
                                                     torch::mm_out(product, a, b);
                                                     product[0][0].item<float>();
                                                   });
  return RateBeside(timing, static_cast<double>(setting.staged.size()),
                    static_cast<double>(kSide * kSide * kSide) / multiplications, "steps/s",
                    absl::StrFormat("its %.4g million multiplications at the rate of a %dx%d matrix product",
                                    multiplications / 1e6, kSide, kSide));
}

// The learner's loop beside the update alone.
Result LoopBesideUpdates(const Setting& setting, ReplaySampler* source, PriorityUpdater* priorities,
                         const std::string& limit_name) {
  const Learner learner = WaggleLearner(setting);
  const auto trainee = NewTrainee(setting);
  LocalStepper stepper;
  MemoryPublisher publisher;
  Metrics metrics;
  const auto loop = [&] {
    TrainLoopOptions options;
    options.learner = setting.experiment.learner;
    options.max_learner_steps = kLoopSteps;
    options.device = setting.device;
    TrainLoop train(options, {{{source, priorities}}, &publisher, &metrics, nullptr, nullptr}, trainee.get(), &stepper);
    Must(train.Run(StopToken()));
  };
  // As long as the loop: the best of short rounds would be less disturbed.
  const auto updates = [&] {
    for (size_t done = 0; done < kLoopSteps; done += setting.staged.size()) {
      LearnFromEach(setting, learner);
    }
  };
  return RateBeside(TimeBesideLimit(loop, updates), kLoopSteps, kLoopSteps, "steps/s", limit_name);
}

Result Acting(int64_t lanes, torch::Device device) {
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
      Must(Network::Create(*Must(PlanExperiment(experiment, context.environment, definitions)).acting()[0], device, 1));
  const std::vector<float> observations(static_cast<size_t>(4 * lanes), 0.5F);
  std::vector<int64_t> actions(static_cast<size_t>(lanes));
  std::vector<float> private_values(static_cast<size_t>(2 * lanes));
  PolicyInput input;
  std::vector<int64_t> slots(static_cast<size_t>(lanes));
  std::iota(slots.begin(), slots.end(), 0);
  input.slots = slots;
  const void* const shown = observations.data();
  input.observations = {&shown, 1};
  const std::vector<uint8_t> first(static_cast<size_t>(lanes));
  input.first = first.data();
  PolicyOutput output;
  output.actions = {actions.data()};
  output.private_values = private_values.data();
  const torch::Tensor batch = torch::full({lanes, 4}, 0.5F).to(device);
  const TimingBesideLimit timing = TimeBesideLimit(
      [&] {
        for (int64_t i = 0; i < kActs; ++i) {
          Must(policy->Act(input, ActMode::kExplore, &output));
        }
      },
      [&] {
        const c10::InferenceMode inference;
        for (int64_t i = 0; i < kActs; ++i) {
          network->Forward({batch})[0].values.argmax(1).cpu();
        }
      });
  return RateBeside(timing, kActs, kActs, "calls/s", "forward pass and argmax");
}

// A network, and the batches that it learns from.
struct Subject {
  std::string name;
  SettingOptions options;
};

// Without a limit on samples: a benchmark takes as many as it can.
Subject DqnSubject(const std::string& name, const std::string& torso, int64_t batch_size, SpaceLeaf observation,
                   int64_t items) {
  EnvironmentSpec environment = testing::DqnEnvironment(4, 2);
  environment.observations = {std::move(observation)};
  return {absl::StrCat(name, "_batch_", batch_size),
          {absl::StrCat("algorithm: {name: apex_dqn}\nnetwork: {torso: [", torso, "], heads: {q: {type: q}}}\n",
                        "replay: {rate_limiter: {samples_per_insert: 0}}\nlearner: {batch_size: ", batch_size, "}\n"),
           environment, items}};
}

// The network of Nature's DQN (Mnih et al. 2015), for stacks of four frames.
Subject ConvSubject() {
  return DqnSubject(
      "conv",
      "{type: conv, channels: 32, kernel: 8, stride: 4}, {type: conv, channels: 64, kernel: 4, stride: 2}, "
      "{type: conv, channels: 64, kernel: 3, stride: 1}, {type: mlp, units: [512]}",
      32, Box("observation", DType::kUint8, {4, 84, 84}), 1024);
}

// The network of configs/cartpole_hidden_velocity_ppo_lstm.yaml.
Subject PpoSubject() {
  SettingOptions options;
  options.yaml =
      "algorithm: {name: ppo, unroll: 32, discount: 0.98, normalize_returns: false}\n"
      "network: {core: {type: lstm, units: 64}}\n";
  options.environment = testing::DqnEnvironment(2, 2);
  options.batches = 4;
  options.items = options.batches * 16;
  return {"ppo_lstm_unroll_32_batch_16", options};
}

Subject SacSubject() {
  EnvironmentSpec environment = testing::DqnEnvironment(3, 2);
  environment.actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
  return {"sac_256_256_batch_256",
          {"algorithm: {name: sac}\nreplay: {rate_limiter: {samples_per_insert: 0}}\n", environment, 16'000}};
}

constexpr char kModules[] = "LibTorch's modules and optimizer";
constexpr char kFlatBuffers[] = "autograd, flat buffers";

std::vector<Case> Cases(torch::Device device) {
  std::vector<Case> cases;
  const auto add = [&](const Subject& subject, const char* name, std::function<Result(const Setting&)> run) {
    cases.push_back({absl::StrCat("learner/", subject.name, "_", device.str(), "/", name),
                     [=] { return run(*NewSetting(subject.options, device)); }});
  };
  const auto mlp = [&](const std::string& name, const std::string& units) {
    return DqnSubject(name, absl::StrCat("{type: mlp, units: [", units, "]}"), 256,
                      Box("observation", DType::kFloat32, {4}), 16'000);
  };
  const auto table_loop = [](const Setting& s) {
    return LoopBesideUpdates(s, s.sampler.get(), s.updater.get(), "the same update called bare, without a table");
  };
  const Subject small = mlp("64_64", "64, 64");
  const Subject large = mlp("256_256", "256, 256");
  for (const Subject& dqn : {small, large, ConvSubject()}) {
    add(dqn, "update_beside_modules", [](const Setting& s) { return UpdatesBeside(s, DqnByModules(s), kModules); });
    add(dqn, "update_beside_flat_buffers",
        [](const Setting& s) { return UpdatesBeside(s, DqnByFlatBuffers(s), kFlatBuffers); });
    add(dqn, "update_beside_products",
        [](const Setting& s) { return UpdatesBesideProducts(s, DqnMultiplications(s)); });
  }
  for (const Subject& dqn : {small, large}) {
    add(dqn, "train_loop_prepared", [](const Setting& s) {
      NoUpdater no_updater;
      return LoopBesideUpdates(s, s.prepared.get(), &no_updater, "the same update called bare");
    });
    add(dqn, "train_loop_table", table_loop);
  }
  const Subject ppo = PpoSubject();
  add(ppo, "update_beside_modules", [](const Setting& s) { return UpdatesBeside(s, PpoByModules(s), kModules); });
  add(ppo, "update_beside_flat_buffers",
      [](const Setting& s) { return UpdatesBeside(s, PpoByFlatBuffers(s), kFlatBuffers); });
  add(ppo, "update_beside_products", [](const Setting& s) { return UpdatesBesideProducts(s, PpoMultiplications(s)); });
  const Subject sac = SacSubject();
  add(sac, "update_beside_modules", [](const Setting& s) { return UpdatesBeside(s, SacByModules(s), kModules); });
  add(sac, "train_loop_table", table_loop);
  for (const int64_t lanes : {1, 32}) {
    cases.push_back(
        {absl::StrCat("learner/act_64_64_", lanes, "_", device.str()), [=] { return Acting(lanes, device); }});
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
