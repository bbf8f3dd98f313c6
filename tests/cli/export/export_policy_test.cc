#include "cli/export/export_policy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actor/environments/environment.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/checkpoint/saved_model.h"
#include "onnx/onnx.pb.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

// Weights of zeros, in the folder as a run leaves its best ones.
void WriteRun(const std::string& config, const std::string& folder,
              const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const Experiment experiment =
      ValueOf(LoadExperiment(std::string(WAGGLE_TEST_CONFIG_DIR) + "/" + config, overrides, algorithms));
  const EnvironmentOptions& options = experiment.evaluation.environment;
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  const EnvironmentSpec spec = ValueOf(ValueOf(environments.Find(options.name))->spec(options));
  const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, spec, algorithms));
  SavedModel model;
  ModelSnapshot& snapshot = model.snapshot;
  REQUIRE(plan.acting().size() == 1);
  snapshot.tensors = plan.acting()[0]->parameters;
  snapshot.network_hash = plan.acting_hash();
  snapshot.version = {2, 700};
  snapshot.progress.env_steps = 12345;
  const size_t bytes = static_cast<size_t>(plan.acting()[0]->num_parameters) * sizeof(float);
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  std::fill_n(data.get(), bytes, '\0');
  snapshot.data = ByteSlices(ByteSlice{data.get(), bytes, data});
  model.experiment_yaml = ToYaml(experiment);
  const auto store = ValueOf(CheckpointStore::Open(folder + "/best", 1));
  REQUIRE_OK(WriteSavedModel(model, store.get()));
}

onnx::ModelProto Read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromIstream(&stream));
  return model;
}

template <class List>
std::vector<std::string> NamesOf(const List& values) {
  std::vector<std::string> names;
  for (const auto& value : values) {
    names.push_back(value.name());
  }
  return names;
}

TEST_CASE("A run's best policy becomes a file with the facts about it", "[unit]") {
  const TemporaryFolder folder;
  WriteRun("cartpole_ppo.yaml", folder.path());
  std::ofstream(folder.File("summary.json")) << R"({"result": {"return_mean": 500}})";
  REQUIRE_OK(ExportSavedPolicy(folder.path(), /*newest=*/false, "", StopToken()));
  const onnx::ModelProto model = Read(folder.File("policy.onnx"));
  CHECK(NamesOf(model.graph().input()) == std::vector<std::string>{"observation"});
  CHECK(NamesOf(model.graph().output()) == std::vector<std::string>{"action", "logits"});
  const std::vector<std::string> parameters = NamesOf(model.graph().initializer());
  CHECK(std::count(parameters.begin(), parameters.end(), "torso.0.linear1.weight") == 1);
  // The value only serves learning.
  CHECK(std::count(parameters.begin(), parameters.end(), "heads.value.output.weight") == 0);
  std::map<std::string, std::string> facts;
  for (const onnx::StringStringEntryProto& fact : model.metadata_props()) {
    facts[fact.key()] = fact.value();
  }
  CHECK(facts["waggle.algorithm"] == "ppo");
  CHECK(facts["waggle.environment"] == "CartPole-v1");
  CHECK(facts["waggle.weights"] == "best");
  CHECK(facts["waggle.weights_version"] == "700");
  CHECK(facts["waggle.env_steps"] == "12345");
  CHECK(facts["waggle.result"] == R"({"return_mean":500})");
  CHECK(facts["waggle.state_size"] == "0");
}

TEST_CASE("A policy with a memory takes its state and gives the next one", "[unit]") {
  const TemporaryFolder folder;
  WriteRun("memory_cue_r2d2.yaml", folder.path());
  const std::string file = folder.File("memory.onnx");
  REQUIRE_OK(ExportSavedPolicy(folder.path(), /*newest=*/false, file, StopToken()));
  const onnx::ModelProto model = Read(file);
  CHECK(NamesOf(model.graph().input()) == std::vector<std::string>{"observation", "state"});
  CHECK(NamesOf(model.graph().output()) == std::vector<std::string>{"next_state", "action", "q"});
  CHECK_FALSE(std::filesystem::exists(folder.File("policy.onnx")));
}

TEST_CASE("An export that cannot be made says why, and leaves an older file", "[unit]") {
  const TemporaryFolder folder;
  const std::string file = folder.File("policy.onnx");
  std::ofstream(file) << "older";
  REQUIRE_CODE(ExportSavedPolicy(folder.path(), false, file, StopToken()), absl::StatusCode::kNotFound);
  REQUIRE_CODE(ExportSavedPolicy(folder.File("missing"), false, file, StopToken()), absl::StatusCode::kNotFound);
  REQUIRE_CODE(ExportSavedPolicy(std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_ppo.yaml", false, file, StopToken()),
               absl::StatusCode::kInvalidArgument);
  WriteRun("cartpole_ppo.yaml", folder.path());
  SavedWeights weights = ValueOf(LoadSavedWeights(folder.path(), false));
  weights.snapshot->network_hash += 1;
  REQUIRE_CODE(ExportPolicy(weights, "", file, StopToken()), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(ExportSavedPolicy(folder.path(), false, folder.File("no/such/folder.onnx"), StopToken()),
               absl::StatusCode::kNotFound);
  std::ifstream stream(file);
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "older");
}

}  // namespace
}  // namespace waggle::testing
