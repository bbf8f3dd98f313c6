#include "actor/evaluation/saved_evaluation.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/replay/file/replay_file.h"
#include "tests/actor/fakes.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::SnapshotOf;
using testing::ValueOf;

constexpr char kExperiment[] = R"(
experiment: {name: counting}
environment: {name: Counting}
algorithm: {name: fake}
actor: {device: cuda:3}
stop: {max_seconds: 1}
)";

class Fixture {
 public:
  Fixture() {
    REQUIRE_OK(environments_.Register("Counting", CountingEnvironment::Definition(9)));
    ports.environments = &environments_;
    ports.algorithms = &algorithms_;
    ports.new_policy = [this](const PolicyRequest& request) {
      lanes = request.lanes;
      device = request.experiment->actor.device;
      auto policy = std::make_unique<CountingPolicy>();
      policy->load_result = load_result;
      return absl::StatusOr<std::unique_ptr<Policy>>(std::move(policy));
    };
    ports.learner_weights = [this](const CheckpointContents& learner, const PolicyRequest&) {
      published = learner.step;
      return SnapshotOf(0);
    };
    weights.kind = SavedKind::kBest;
    weights.folder = "here";
    weights.experiment_yaml = kExperiment;
    weights.snapshot = SnapshotOf(12);
    weights.snapshot->version.epoch = 3;
    weights.env_steps = 400;
    options.episodes = 20;
    options.seed = 5;
  }

  absl::StatusOr<SavedEvaluation> Evaluate() { return EvaluateSaved(weights, options, ports, stop); }

  SavedWeights weights;
  SavedEvaluationOptions options;
  SavedEvaluationPorts ports;
  StopToken stop;
  int64_t lanes = 0;
  std::string device;
  int64_t published = -1;
  absl::Status load_result;

 private:
  EnvironmentDefinitions environments_{"environment"};
  const AlgorithmDefinitions algorithms_ = testing::FakeAlgorithms();
};

TEST_CASE("Saved weights are evaluated on their own experiment", "[unit]") {
  Fixture fixture;
  const SavedEvaluation evaluation = ValueOf(fixture.Evaluate());
  CHECK(evaluation.kind == SavedKind::kBest);
  CHECK(evaluation.folder == "here");
  CHECK(evaluation.experiment == "counting");
  CHECK(evaluation.algorithm == "fake");
  CHECK(evaluation.environment == "Counting");
  CHECK(evaluation.epoch == 3);
  CHECK(evaluation.version == 12);
  CHECK(evaluation.env_steps == 400);
  CHECK(evaluation.seed == 5);
  CHECK(evaluation.returns.count == 20);
  CHECK(evaluation.lengths.count == 20);
  CHECK(evaluation.lengths.min >= 1);
  CHECK(evaluation.lengths.max <= 9);
  CHECK(evaluation.lengths.max > evaluation.lengths.min);
  // The environment rewards step i with 10 i.
  CHECK(evaluation.returns.max == 5 * evaluation.lengths.max * (evaluation.lengths.max - 1));
  CHECK(fixture.device == "cuda:3");
  CHECK(fixture.lanes == 20);
}

TEST_CASE("Saved weights of a version that printed every key are evaluated", "[unit]") {
  Fixture fixture;
  fixture.weights.experiment_yaml += "evaluation: {enabled: false, episodes: 20}\nreplay: {log_sync: true}\n";
  CHECK(ValueOf(fixture.Evaluate()).returns.count == 20);
}

TEST_CASE("The same seed gives the same episodes, and another seed gives others", "[unit]") {
  Fixture fixture;
  const SavedEvaluation one = ValueOf(fixture.Evaluate());
  const SavedEvaluation again = ValueOf(fixture.Evaluate());
  fixture.options.seed = 6;
  const SavedEvaluation other = ValueOf(fixture.Evaluate());
  CHECK(one.returns.mean == again.returns.mean);
  CHECK(one.returns.standard_deviation == again.returns.standard_deviation);
  CHECK(one.returns.mean != other.returns.mean);
}

TEST_CASE("The number of lanes is limited, and the device may be overridden", "[unit]") {
  Fixture fixture;
  fixture.options.episodes = 1000;
  fixture.options.device = "cpu";
  CHECK(ValueOf(fixture.Evaluate()).returns.count == 1000);
  CHECK(fixture.lanes == 256);
  CHECK(fixture.device == "cpu");
}

TEST_CASE("The algorithm makes the weights of a learner's checkpoint", "[unit]") {
  Fixture fixture;
  fixture.weights.kind = SavedKind::kLearner;
  fixture.weights.snapshot.reset();
  fixture.weights.env_steps.reset();
  fixture.weights.learner = CheckpointContents();
  fixture.weights.learner->step = 77;
  const SavedEvaluation evaluation = ValueOf(fixture.Evaluate());
  CHECK(fixture.published == 77);
  CHECK(evaluation.version == 77);
  CHECK_FALSE(evaluation.epoch.has_value());
  CHECK_FALSE(evaluation.env_steps.has_value());
}

TEST_CASE("Filmed episodes equal those without a film", "[unit]") {
  const testing::TemporaryFolder folder;
  const EnvironmentDefinitions built_in = BuiltinEnvironments();
  Fixture fixture;
  fixture.ports.environments = &built_in;
  fixture.weights.experiment_yaml =
      "environment: {name: CartPole-v1}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  const SavedEvaluation plain = ValueOf(fixture.Evaluate());
  CHECK_FALSE(plain.video.has_value());
  fixture.options.video = VideoOptions{folder.File("films"), 2};
  const SavedEvaluation filmed = ValueOf(fixture.Evaluate());
  CHECK(filmed.video == folder.File("films"));
  CHECK(filmed.returns.mean == plain.returns.mean);
  CHECK(std::filesystem::exists(folder.File("films/episode-0.webp")));
  CHECK(std::filesystem::exists(folder.File("films/episode-1.webp")));
  CHECK_FALSE(std::filesystem::exists(folder.File("films/episode-2.webp")));
}

TEST_CASE("An experiment's file is evaluated by random actions, and needs no network", "[unit]") {
  Fixture fixture;
  fixture.weights = SavedWeights();
  fixture.weights.kind = SavedKind::kRandom;
  fixture.weights.folder = "x.yaml";
  fixture.weights.experiment_yaml = kExperiment;
  fixture.ports.new_policy = nullptr;
  const SavedEvaluation evaluation = ValueOf(fixture.Evaluate());
  CHECK(evaluation.returns.count == 20);
  CHECK_FALSE(evaluation.version.has_value());
  // A user's own file is read strictly.
  fixture.weights.experiment_yaml += "learner: {batch_sise: 3}\n";
  const absl::Status refused = fixture.Evaluate().status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("batch_sise"));
}

TEST_CASE("A script acts only in its own environment, without transforms and without weights", "[unit]") {
  Fixture fixture;
  const EnvironmentDefinitions built_in = BuiltinEnvironments();
  fixture.ports.environments = &built_in;
  fixture.weights.experiment_yaml =
      "environment: {name: CartPole-v1}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  fixture.options.scripted = true;
  const auto refusal = [&fixture] {
    const absl::Status refused = fixture.Evaluate().status();
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    return std::string(refused.message());
  };
  CHECK_THAT(refusal(), Catch::Contains("scripted: got weights "));
  fixture.weights.kind = SavedKind::kRandom;
  fixture.weights.experiment_yaml = "environment: {name: Catch-v0}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  CHECK_THAT(refusal(), Catch::Contains("scripted: got Catch-v0, "));
  fixture.weights.experiment_yaml =
      "environment: {name: CartPole-v1, transforms: [{frame_stack: {frames: 2}}]}\nalgorithm: {name: fake}\n"
      "stop: {max_seconds: 1}\n";
  CHECK_THAT(refusal(), Catch::Contains("scripted: got transforms "));
  fixture.weights.experiment_yaml =
      "environment: {name: CartPole-v1}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  const SavedEvaluation evaluation = ValueOf(fixture.Evaluate());
  CHECK(evaluation.scripted);
  CHECK(evaluation.returns.mean > 475);
}

TEST_CASE("Episodes are recorded one after the other in the training environment", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture fixture;
  fixture.options.record = folder.File("episodes");
  fixture.options.explore = true;
  const SavedEvaluation recorded = ValueOf(fixture.Evaluate());
  CHECK(recorded.returns.count == 20);
  CHECK(recorded.recorded == folder.File("episodes"));
  CHECK(recorded.explored);
  CHECK(fixture.lanes == 1);
  CHECK(ValueOf(ReplayFileReader::Open(folder.File("episodes")))->config().name == "episodes");
  REQUIRE_CODE(fixture.Evaluate(), absl::StatusCode::kAlreadyExists);
}

TEST_CASE("Episodes of an experiment of self-play are recorded in the evaluation environment", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture fixture;
  fixture.weights.experiment_yaml = absl::StrReplaceAll(
      kExperiment, {{"name: Counting}", "name: OfTwoAgents}\nevaluation: {environment: {name: Counting}}"},
                    {"cuda:3}", "cuda:3, self_play: {}}"}});
  fixture.options.record = folder.File("episodes");
  CHECK(ValueOf(fixture.Evaluate()).environment == "Counting");
}

TEST_CASE("An environment without pictures is refused before an episode begins", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture drawing;
  drawing.options.video = VideoOptions{folder.File("films"), 1};
  REQUIRE_CODE(drawing.Evaluate(), absl::StatusCode::kUnimplemented);
  Fixture writing;
  writing.options.video = VideoOptions{"/proc/films", 1};
  REQUIRE_CODE(writing.Evaluate(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Weights that cannot be evaluated are refused with their folder and the reason", "[unit]") {
  const auto check = [](Fixture* fixture, absl::StatusCode code) {
    const absl::Status refused = fixture->Evaluate().status();
    REQUIRE_CODE(refused, code);
    CHECK_THAT(std::string(refused.message()), Catch::StartsWith("here: "));
  };
  Fixture network;
  network.load_result = absl::FailedPreconditionError("another network");
  check(&network, absl::StatusCode::kFailedPrecondition);
  Fixture environment;
  environment.weights.experiment_yaml = "environment: {name: Hive}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  check(&environment, absl::StatusCode::kNotFound);
  Fixture experiment;
  experiment.weights.experiment_yaml = "of another time";
  check(&experiment, absl::StatusCode::kInvalidArgument);
  Fixture stopped;
  stopped.stop.RequestStop();
  REQUIRE_CODE(stopped.Evaluate(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
