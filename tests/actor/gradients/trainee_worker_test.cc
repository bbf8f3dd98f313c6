#include "actor/gradients/trainee_worker.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actor/acting/rollout_loop.h"
#include "actor/acting/weight_refresher.h"
#include "actor/environments/environment.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/status_macros.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/training/steppers.h"
#include "common/rl/training/trainee.h"
#include "learner/batch_stager.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"
#include "tests/support/slices.h"

namespace waggle {
namespace {

using testing::ScriptedSubscriber;
using testing::ValueOf;

constexpr int64_t kLanes = 3;
constexpr char kNoCore[] = "{type: none}";

const AlgorithmDefinitions& Definitions() {
  static const auto* const definitions = new AlgorithmDefinitions(BuiltinAlgorithmDefinitions());
  return *definitions;
}

// A3C in CartPole: its first episodes are shorter than the unrolls of a few blocks together.
Experiment ExperimentWith(const std::string& core, int units = 8) {
  return ValueOf(
      ParseExperiment("environment: {name: CartPole-v1}\nalgorithm: {name: a3c, unroll: 12}\n"
                      "network: {torso: [{type: mlp, units: [" +
                          std::to_string(units) + "]}], core: " + core +
                          "}\n"
                          "actor: {lanes: 3}\nstop: {max_seconds: 1}\n",
                      "test.yaml", {}, Definitions()));
}

EnvironmentSpec CartPole() {
  return ValueOf(ValueOf(BuiltinEnvironments().Find("CartPole-v1"))->spec(EnvironmentOptions()));
}

// Keeps pushed gradients.
class RecordingSink : public GradientSink {
 public:
  absl::Status Push(std::shared_ptr<const float> gradient, const ModelVersion& based_on, const StopToken&) override {
    gradients.push_back(torch::from_blob(const_cast<float*>(gradient.get()), {elements}).clone());
    versions.push_back(based_on);
    return push_result;
  }
  absl::Status Flush(absl::Duration, const StopToken&) override { return absl::OkStatus(); }
  GradientCounts counts() const override { return {}; }

  int64_t elements = 0;
  std::vector<torch::Tensor> gradients;
  std::vector<ModelVersion> versions;
  absl::Status push_result;
};

struct Worker {
  explicit Worker(const Experiment& experiment)
      : trainee(ValueOf(AlgorithmTrainee::Create(experiment, CartPole(), Definitions(), algorithms, torch::kCPU))),
        worker(ValueOf(
            NewTraineeWorker(experiment, CartPole(), Definitions(), algorithms, torch::kCPU, &sink, &metrics))) {
    sink.elements = trainee->plan().networks[0].num_learned;
  }

  // The trainee's weights, as version 7.
  ModelSnapshot Weights() const {
    ModelSnapshot weights = ValueOf(trainee->Publish());
    weights.version = {2, 7};
    return weights;
  }

  RecordingSink sink;
  Metrics metrics;
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  const std::unique_ptr<AlgorithmTrainee> trainee;  // Another trainee, with weights of the same seed.
  const std::unique_ptr<GradientWorker> worker;
};

// Passes each block to the worker and to replay.
class Tee : public ReplayWriter {
 public:
  Tee(ReplayWriter* worker, ReplayWriter* replay, int64_t wanted, StopToken enough)
      : worker_(worker), replay_(replay), left_(wanted), enough_(std::move(enough)) {}

  absl::Status Append(InsertBlock block, const StopToken& stop) override {
    if (block.items.empty()) {
      return absl::OkStatus();
    }
    blocks.push_back(block);
    if (--left_ == 0) {
      enough_.RequestStop();
    }
    WAGGLE_RETURN_IF_ERROR(replay_->Append(block, StopToken()));
    return worker_->Append(std::move(block), stop);
  }
  absl::Status Flush(absl::Duration timeout) override { return replay_->Flush(timeout); }
  Stats stats() const override { return {}; }

  std::vector<InsertBlock> blocks;

 private:
  ReplayWriter* const worker_;
  ReplayWriter* const replay_;
  int64_t left_;
  const StopToken enough_;
};

// Plays `blocks` blocks, like an actor that pushes gradients.
std::vector<InsertBlock> Play(const Experiment& experiment, const Worker& worker, ReplayWriter* replay,
                              int64_t blocks) {
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &Definitions();
  context.environment = CartPole();
  context.lanes = context.all_lanes = kLanes;
  const std::unique_ptr<Policy> policy = ValueOf(NetworkPolicy::Create(context));
  const EnvironmentDefinitions built_in = BuiltinEnvironments();
  const EnvironmentDefinition* const definition = ValueOf(built_in.Find("CartPole-v1"));
  LocalVectorEnvironment environments(ValueOf(MakeEnvironments(*definition, EnvironmentOptions(), kLanes, Rng(1))));
  const StopToken enough;
  Tee tee(worker.worker.get(), replay, blocks, enough);
  TrajectoryWriterOptions options;
  options.lanes = kLanes;
  options.environment = CartPole();
  options.policy_columns = policy->columns();
  options.plans = worker.trainee->plan().algorithm.tables;
  options.chunk_rows = options.plans[0].window.length;
  const auto writer = ValueOf(TrajectoryWriter::Create(options, &tee));
  const auto script = std::make_shared<ScriptedSubscriber::Script>();
  script->Add(std::make_optional(worker.Weights()));
  Metrics metrics;
  WeightRefresher weights(absl::Milliseconds(1), Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
                          std::make_unique<ScriptedSubscriber>(script), enough);
  RolloutOptions rollout;
  rollout.rows_per_version = options.plans[0].window.length - 1;
  rollout.awaits_versions = false;
  RolloutLoop::Parts parts{policy.get(), &environments, writer.get(), &tee, &weights, &metrics};
  parts.on_weights = [&worker](const ModelSnapshot& snapshot) { return worker.worker->LoadWeights(snapshot); };
  REQUIRE_OK(RolloutLoop(rollout, parts).Run(enough));
  return tee.blocks;
}

TEST_CASE("a worker pushes the gradient that a learner computes from a sampled batch of the same block", "[unit]") {
  const auto core = GENERATE(as<std::string>(), kNoCore, "{type: lstm, units: 6}");
  INFO(core);
  constexpr int64_t kBlocks = 6;
  const Experiment experiment = ExperimentWith(core);
  Worker worker(experiment);
  const TablePlan& plan = worker.trainee->plan().algorithm.tables[0];
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  REQUIRE_OK(replay.CreateTable(plan.table, StopToken()));
  ReplayWriterOptions writer_options;
  writer_options.writer_id = "tee";
  writer_options.tables = {plan.table.name};
  writer_options.signature = plan.table.signature;
  const auto writer = ValueOf(replay.NewWriter(writer_options));
  Play(experiment, worker, writer.get(), kBlocks);
  REQUIRE_OK(writer->Flush(absl::Seconds(60)));
  REQUIRE(worker.sink.gradients.size() == kBlocks);
  CHECK(worker.metrics.TakeSnapshot().counters.at("items_learned") == kBlocks * kLanes);

  ReplaySamplerOptions sampler_options;
  sampler_options.table = plan.table;
  sampler_options.batch_size = kLanes;
  const auto sampler = ValueOf(replay.NewSampler(sampler_options));
  int64_t episodes = 0;
  for (int64_t block = 0; block < kBlocks; ++block) {
    INFO("block " << block);
    StagedBatch staged;
    REQUIRE_OK(StageBatch(ValueOf(sampler->Next(StopToken())), torch::kCPU, &staged));
    episodes += (staged.tensors.at(kStepType) == static_cast<int32_t>(StepType::kLast)).sum().item<int64_t>();
    CaptureStepper captured;
    REQUIRE_OK(worker.trainee->Update(staged.tensors, Progress(), &captured).status());
    const torch::Tensor& wanted = captured.gradients().at("actor_critic");
    const torch::Tensor& pushed = worker.sink.gradients[static_cast<size_t>(block)];
    CHECK(wanted.norm().item<double>() > 1e-3);
    CHECK(torch::allclose(pushed, wanted, 1e-5, 1e-7));
    CHECK(worker.sink.versions[static_cast<size_t>(block)] == ModelVersion{2, 7});
  }
  CHECK(episodes > 0);  // Within unrolls: the case that is easiest to get wrong.
}

TEST_CASE("a block without an unroll of every lane is refused, unless the run has ended, and nothing is pushed",
          "[unit]") {
  const Experiment experiment = ExperimentWith(kNoCore);
  Worker worker(experiment);
  testing::RecordingWriter replay;
  std::vector<InsertBlock> blocks = Play(experiment, worker, &replay, 1);
  REQUIRE(worker.sink.gradients.size() == 1);
  InsertBlock rest = blocks[0];
  rest.items.clear();
  REQUIRE_OK(worker.worker->Append(rest, StopToken()));
  InsertBlock shorter = blocks[0];
  --shorter.chunks[1].rows;
  REQUIRE_CODE(worker.worker->Append(shorter, StopToken()), absl::StatusCode::kInvalidArgument);
  CHECK(worker.sink.gradients.size() == 1);
  // The sink's error, here a stop, is returned.
  worker.sink.push_result = absl::CancelledError("stopped");
  REQUIRE_CODE(worker.worker->Append(blocks[0], StopToken()), absl::StatusCode::kCancelled);
}

TEST_CASE("a worker computes gradients by the settings", "[unit]") {
  const Experiment experiment = ExperimentWith(kNoCore);
  Worker worker(experiment);
  testing::RecordingWriter replay;
  const InsertBlock block = Play(experiment, worker, &replay, 1)[0];
  REQUIRE_OK(worker.worker->Set("algorithm.value_weight=0\n"));
  REQUIRE_OK(worker.worker->Append(block, StopToken()));
  REQUIRE_OK(worker.worker->Set(""));
  REQUIRE_OK(worker.worker->Append(block, StopToken()));
  REQUIRE(worker.sink.gradients.size() == 3);
  CHECK_FALSE(torch::allclose(worker.sink.gradients[0], worker.sink.gradients[1]));
  CHECK(torch::equal(worker.sink.gradients[0], worker.sink.gradients[2]));
  CHECK_FALSE(worker.worker->Set("algorithm.value_weight=-1\n").ok());
}

TEST_CASE("weights of another network are refused, and the loaded weights do not change", "[unit]") {
  const Experiment experiment = ExperimentWith(kNoCore);
  Worker worker(experiment);
  testing::RecordingWriter replay;
  const InsertBlock block = Play(experiment, worker, &replay, 1)[0];
  const Worker other(ExperimentWith(kNoCore, /*units=*/9));
  REQUIRE_CODE(worker.worker->LoadWeights(other.Weights()), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(worker.worker->Append(block, StopToken()));
  REQUIRE(worker.sink.gradients.size() == 2);
  CHECK(torch::equal(worker.sink.gradients[0], worker.sink.gradients[1]));
  CHECK(worker.sink.versions[1] == ModelVersion{2, 7});
}

TEST_CASE("the first weights of all workers of a seed are the same", "[unit]") {
  Worker worker(ExperimentWith(kNoCore));
  const ModelSnapshot first = ValueOf(worker.worker->FirstWeights());
  const ModelSnapshot wanted = worker.Weights();
  CHECK(first.network_hash == wanted.network_hash);
  CHECK(testing::BytesOf(first.data) == testing::BytesOf(wanted.data));
}

}  // namespace
}  // namespace waggle
