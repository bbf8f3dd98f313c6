#include "common/rl/publishing/initial_weights.h"

#include <limits>

#include "common/rl/algorithms/definitions.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

EnvironmentSpec Environment(int64_t features) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {features})};
  environment.actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
  return environment;
}

// An experiment with a plan.
struct Run {
  explicit Run(const std::string& sections, int64_t features = 3)
      : environment(Environment(features)),
        experiment(ValueOf(
            ParseExperiment(sections + "\nstop: {max_seconds: 1}\n", "test.yaml", {}, BuiltinAlgorithmDefinitions()))),
        plan(ValueOf(PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions()))) {}

  absl::StatusOr<InitialWeights> Find(const std::string& from, std::map<std::string, std::string> map = {}) const {
    return FindInitialWeights({from, std::move(map)}, plan, environment, BuiltinAlgorithmDefinitions());
  }

  EnvironmentSpec environment;
  Experiment experiment;
  ExperimentPlan plan;
};

// Numbers in order, from `first` on.
ByteSlices Numbers(const ArraySpec& spec, float first) {
  const std::shared_ptr<char> data = AllocateBytes(static_cast<size_t>(spec.NumBytes()));
  for (int64_t i = 0; i < spec.NumElements(); ++i) {
    reinterpret_cast<float*>(data.get())[i] = first + static_cast<float>(i);
  }
  return ByteSlices(ByteSlice{data.get(), static_cast<size_t>(spec.NumBytes()), data});
}

float FirstOf(const InitialWeights::Parameter& parameter) {
  return *reinterpret_cast<const float*>(InOneRun(parameter.array.data).get());
}

// A learner's checkpoint; network i's numbers begin at 100 i.
void SaveState(const Run& run, const std::string& folder) {
  CheckpointContents contents;
  contents.step = 10;
  contents.texts = {{kCheckpointAlgorithm, run.experiment.algorithm}, {kCheckpointExperiment, ToYaml(run.experiment)}};
  for (size_t i = 0; i < run.plan.networks.size(); ++i) {
    const NetworkPlan& network = run.plan.networks[i];
    for (ArraySpec spec : network.parameters) {
      const std::string name = spec.name;
      spec.name = "state/model/" + network.name + "/online/" + name;
      contents.arrays.push_back({spec, Numbers(spec, 100 * static_cast<float>(i))});
      spec.name = "state/model/" + network.name + "/target/" + name;
      contents.arrays.push_back({spec, Numbers(spec, -1)});
    }
  }
  for (const ScalarNeed& scalar : run.plan.algorithm.scalars) {
    const ArraySpec spec{"state/model/" + scalar.name + "/value", DType::kFloat32, {1}};
    contents.arrays.push_back({spec, Numbers(spec, 7)});
  }
  REQUIRE_OK(ValueOf(CheckpointStore::Open(folder, 1))->Save(contents));
}

// Published weights of the network that acts.
void SaveWeights(const Run& run, const std::string& folder, float first = 50) {
  SavedModel model;
  model.snapshot.model = "other";
  model.experiment_yaml = ToYaml(run.experiment);
  model.snapshot.tensors = run.plan.acting()[0]->parameters;
  for (const ArraySpec& spec : model.snapshot.tensors) {
    const ByteSlices numbers = Numbers(spec, first);
    for (const ByteSlice& slice : numbers.slices()) {
      model.snapshot.data.Append(slice);
    }
  }
  REQUIRE_OK(ValueOf(CheckpointStore::Open(folder, 1))->Save(ToCheckpoint(model)));
}

const std::string kSac =
    "algorithm: {name: sac}\nnetworks: {actor: {torso: [{type: mlp, units: [4]}]}, critic: {torso: [{type: mlp, "
    "units: [4]}]}}";

using Names = std::vector<std::string>;

TEST_CASE("all networks and learned numbers of the same names come from a learner's checkpoint", "[unit]") {
  const TemporaryFolder folder;
  const Run run(kSac);
  SaveState(run, folder.File("checkpoints"));
  SaveWeights(run, folder.File("best"));
  const InitialWeights all = ValueOf(run.Find(folder.path()));
  CHECK(all.folder == folder.File("checkpoints"));
  CHECK(all.parameters.size() == run.plan.networks[0].parameters.size() + run.plan.networks[1].parameters.size() + 1);
  CHECK(all.anew.empty());
  for (const InitialWeights::Parameter& parameter : all.parameters) {
    INFO(parameter.network << " " << parameter.name);
    CHECK(FirstOf(parameter) == (parameter.network == "actor" ? 0 : parameter.network == "critic" ? 100 : 7));
  }
  // Parameters of another environment's first layer have another shape.
  const absl::Status wider = Run(kSac, 5).Find(folder.path()).status();
  REQUIRE_CODE(wider, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(wider.message()),
             Catch::StartsWith("learner.init.map: got actor.torso.0.linear1.weight: float32[4, 3] of ") &&
                 Catch::Contains("; wanted actor.torso.0.linear1.weight: float32[4, 5], or a map that leaves it out"));
}

TEST_CASE("published weights are those of the network that acts, and all else begins anew", "[unit]") {
  const TemporaryFolder folder;
  const Run run(kSac);
  SaveWeights(run, folder.File("best"));
  const InitialWeights found = ValueOf(run.Find(folder.path()));
  CHECK(found.anew == Names{"critic", "log_temperature"});
  CHECK(found.left.empty());
  CHECK(found.parameters.size() == run.plan.networks[0].parameters.size());
  CHECK(FirstOf(found.parameters[0]) == 50);
  CHECK(ValueOf(run.Find(folder.path(), {{"actor", "actor"}})).parameters.size() == found.parameters.size());
}

TEST_CASE("a map gives parts of networks the weights of other networks", "[unit]") {
  const TemporaryFolder folder;
  SaveState(Run(kSac), folder.path());
  const std::string ppo =
      "algorithm: {name: ppo}\nnetworks: {actor_critic: {torso: [{type: mlp, units: [4]}], heads: {policy: {std: "
      "of_state}}}}";
  const Run run(ppo);
  const InitialWeights found = ValueOf(run.Find(folder.path(), {{"actor_critic.torso", "actor.torso"}}));
  CHECK(found.parameters.size() == 2);
  CHECK(found.anew == Names{"actor_critic.heads.policy", "actor_critic.heads.value"});
  CHECK(found.left == Names{"actor.heads.policy", "critic", "log_temperature"});

  const auto refused = [&](const std::map<std::string, std::string>& map) {
    const absl::Status status = run.Find(folder.path(), map).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  CHECK(refused({{"actor.torso", "actor.torso"}}) ==
        "learner.init.map: got actor.torso, with which no parameter of this run begins; wanted actor_critic, or a part "
        "of one");
  // The longest prefix counts: the torso is not the critics', two side by side.
  CHECK_THAT(refused({{"actor_critic", "critic"}, {"actor_critic.torso", "actor.torso"}}),
             Catch::Contains("got critic.heads.value.output.weight: float32[2, 1, 4]"));
  CHECK(refused({{"actor_critic.tors", "actor.torso"}}).find("got actor_critic.tors,") != std::string::npos);
  CHECK(refused({{"actor_critic", "policy"}}) ==
        "learner.init.map: got policy, with which no parameter of " + folder.path() +
            " begins; wanted actor, critic, log_temperature, or a part of one");
  CHECK(refused({}) == "learner.init.from: got " + folder.path() +
                           ", which has actor, critic, log_temperature; wanted one of actor_critic, or a map");
}

TEST_CASE("statistics by which a network normalises observations come with its other parameters", "[unit]") {
  const TemporaryFolder folder;
  const std::string normalized =
      "algorithm: {name: ppo}\nnetworks: {actor_critic: {normalize_observations: true, torso: [{type: mlp, units: "
      "[4]}]}}";
  const Run run(normalized);
  SaveState(run, folder.path());
  const InitialWeights found = ValueOf(run.Find(folder.path(), {{"actor_critic.torso", "actor_critic.torso"}}));
  CHECK(std::count_if(found.parameters.begin(), found.parameters.end(), [](const InitialWeights::Parameter& one) {
          return one.name.rfind("normalizers.", 0) == 0;
        }) == 2);
  CHECK(found.parameters.size() == 4);
}

TEST_CASE("a folder without weights, and weights that are not finite, are refused", "[unit]") {
  const TemporaryFolder folder;
  const Run run(kSac);
  const absl::Status missing = run.Find(folder.File("none")).status();
  REQUIRE_CODE(missing, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(missing.message()),
             Catch::StartsWith("learner.init.from: " + folder.File("none") + " is not there; wanted a run's folder"));
  CHECK_THAT(std::string(run.Find(folder.path()).status().message()), Catch::Contains(" is empty; wanted "));
  SaveWeights(run, folder.File("best"), std::numeric_limits<float>::infinity());
  const absl::Status infinite = run.Find(folder.path()).status();
  REQUIRE_CODE(infinite, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(infinite.message()), Catch::Contains("which is not finite; wanted finite numbers"));
}

}  // namespace
}  // namespace waggle
