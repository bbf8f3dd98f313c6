#include "learner/inference/learner_inference.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/training/trainee.h"
#include "tests/actor/fakes.h"
#include "tests/learner/scripted_publisher.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::ScriptedPublisher;
using testing::ValueOf;

EnvironmentSpec TwoChoices() {
  return testing::EnvironmentOf(4, Discrete("action", 2));
}

struct Setting {
  // An experiment with IMPALA's network with this many units.
  Experiment ExperimentWith(const std::string& units) const {
    return ValueOf(ParseExperiment("algorithm: {name: impala}\nnetwork: {torso: [{type: mlp, units: [" + units +
                                       "]}]}\nactor: {inference: server, lanes: 2}\nstop: {max_seconds: 1}\n",
                                   "test.yaml", {}, definitions));
  }
  ModelSnapshot Weights(const std::string& units, uint64_t version) const {
    const auto trainee = ValueOf(
        AlgorithmTrainee::Create(ExperimentWith(units), TwoChoices(), definitions, BuiltinAlgorithms(), torch::kCPU));
    ModelSnapshot weights = ValueOf(trainee->Publish());
    weights.version = {1, version};
    return weights;
  }
  absl::Status Begin(LearnerInference* inference) {
    return inference->Begin(ExperimentWith("8"), TwoChoices(), definitions, implementations, torch::kCPU, &hub,
                            &metrics);
  }

  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations implementations = BuiltinAlgorithms();
  testing::FakeHub hub;
  Metrics metrics;
};

TEST_CASE("actors are answered from the first published weights on, by weights that fit", "[unit]") {
  Setting setting;
  std::shared_ptr<InferenceBatcher> served;
  uint64_t hash = 0;
  auto inference = std::make_unique<LearnerInference>([&](std::shared_ptr<InferenceBatcher> batcher, uint64_t network) {
    served = std::move(batcher);
    hash = network;
  });
  REQUIRE_OK(setting.Begin(inference.get()));
  REQUIRE(served != nullptr);
  CHECK(hash == setting.Weights("8", 0).network_hash);
  auto inner = std::make_unique<ScriptedPublisher>([](size_t) { return absl::UnavailableError("noted"); });
  const ScriptedPublisher* const published = inner.get();
  const auto publisher = inference->Publisher(std::move(inner));

  const uint64_t stream = ValueOf(served->Open(1, [] {}));
  Mutex mutex;
  std::vector<absl::StatusOr<InferenceBatcher::Answer>> answers;  // Guarded by mutex.
  const auto ask = [&] {
    const size_t bytes = 2 * served->layout().RequestBytes();
    const std::shared_ptr<char> rows = AllocateBytes(bytes);
    std::fill_n(rows.get(), bytes, '\0');
    REQUIRE_OK(served->Ask(stream, {0, 1}, ByteSlices(ByteSlice{rows.get(), bytes, rows}), [&](auto answer) {
      MutexLock lock(&mutex);
      answers.push_back(std::move(answer));
    }));
  };
  const auto answered = [&] {
    MutexLock lock(&mutex);
    return answers.size();
  };
  ask();
  CHECK(answered() == 0);
  // The error is the inner publisher's.
  CHECK(absl::IsUnavailable(publisher->Publish(setting.Weights("8", 3), StopToken())));
  testing::Eventually("an answer", [&] { return answered() == 1; });
  // Weights of another network are not used for answers.
  CHECK(absl::IsUnavailable(publisher->Publish(setting.Weights("9", 4), StopToken())));
  ask();
  testing::Eventually("another answer", [&] { return answered() == 2; });
  CHECK((published->versions() == std::vector<ModelVersion>{{1, 3}, {1, 4}}));
  for (const auto& answer : answers) {
    REQUIRE_OK(answer.status());
    CHECK(answer->version == ModelVersion{1, 3});
    CHECK(answer->data.size() == 2 * served->layout().ResponseBytes());
  }
  inference.reset();  // No actor is answered any more.
  CHECK(served == nullptr);
}

TEST_CASE("a learner that does not listen reports it, and publishes its weights as before", "[unit]") {
  Setting setting;
  LearnerInference inference(nullptr);
  REQUIRE_CODE(setting.Begin(&inference), absl::StatusCode::kFailedPrecondition);
  auto publisher = std::make_unique<ScriptedPublisher>();
  const ModelPublisher* const same = publisher.get();
  CHECK(inference.Publisher(std::move(publisher)).get() == same);
}

}  // namespace
}  // namespace waggle
