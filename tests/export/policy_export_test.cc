// Every policy can be exported: those of the files in configs/, and of every algorithm in every kind of environment
// that it claims. With WAGGLE_POLICY_CASES the files stay in that folder, and exported_policies_test.py runs them.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/experiment.h"
#include "common/onnx/policy_model.h"
#include "common/rl/algorithms/policy_forms.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/conformance/subject.h"
#include "tests/export/policy_case.h"
#include "tests/export/shipped_specs.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

// The folder for the cases of a group.
class CaseFolder {
 public:
  explicit CaseFolder(const std::string& group) {
    const char* const kept = std::getenv("WAGGLE_POLICY_CASES");
    path_ = absl::StrCat(kept != nullptr ? std::string(kept) : temporary_.path(), "/", group);
    std::filesystem::create_directories(path_);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder temporary_;
  std::string path_;
};

TEST_CASE("the policy of every shipped experiment can be exported", "[unit][policy_cases]") {
  const CaseFolder folder("shipped");
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(WAGGLE_CONFIGS)) {
    const Experiment experiment = ValueOf(LoadExperiment(file.path().string(), {}, Definitions()));
    WritePolicyCase(file.path().stem().string(), experiment, ShippedSpec(experiment.evaluation.environment),
                    folder.path());
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("the policies of all algorithms can be exported in all kinds of environments", "[unit][policy_cases]") {
  const CaseFolder folder("kinds");
  for (const Subject& subject : Subjects()) {
    if (!subject.sampler.empty() || !subject.module.empty()) {
      continue;
    }
    WritePolicyCase(absl::StrCat(subject.algorithm, "-", Name(subject.kind), "-", subject.core),
                    SmallExperiment(subject), SpecOf(subject.kind), folder.path());
  }
}

TEST_CASE("transforms of single rows can be exported", "[unit][policy_cases]") {
  const CaseFolder folder("transforms");
  const auto write = [&](const std::string& name, const std::string& leaves, const std::string& transforms,
                         const Overrides& overrides = {}) {
    Overrides all = {{"environment.name", "Null-v1"},
                     {"environment.spec.observations", leaves},
                     {"environment.spec.actions", "[{name: action, kind: discrete, num_values: [4]}]"},
                     {"environment.transforms", transforms}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    WriteTransformedCase(name, ValueOf(Parse("apex_dqn", all)), folder.path());
  };
  const std::string last = "[{name: observation, kind: box, shape: [6, 5, 3], dtype: uint8, low: 0, high: 255}]";
  const std::string first = "[{name: observation, kind: box, shape: [3, 6, 5], dtype: uint8, low: 0, high: 255}]";
  const Overrides conv = {
      {"networks.q.torso", "[{type: conv, channels: 4, kernel: 3, stride: 1}, {type: mlp, units: [8]}]"}};
  write("grey", last, "[grayscale]", conv);
  write("grey_of_channels_first", first, "[grayscale, flatten]");
  write("scaled", last, "[channels_first, {scale: {min: -2, max: 0.5}}, flatten]");
  write("one_hots",
        "[{name: observation/a, kind: multi-discrete, num_values: [3, 4]}, "
        "{name: observation/b, kind: discrete, num_values: [5]}]",
        "[one_hot]");
  write("copied", last, "[copy, {flatten: {observation: observation/observation}}]",
        {{"networks.q.encoders", "{untransformed: [{type: flatten}]}"}});
}

TEST_CASE("weights in a run's folder are there for waggle export", "[unit][policy_cases]") {
  const CaseFolder folder("run");
  const Experiment experiment = ValueOf(LoadExperiment(WAGGLE_CONFIGS "/cartpole_ppo.yaml", {}, Definitions()));
  const EnvironmentSpec environment = ShippedSpec(experiment.evaluation.environment);
  std::vector<std::unique_ptr<Network>> networks;
  SavedModel model;
  model.snapshot = DrawWeights(ValueOf(PlanExperiment(experiment, environment, Definitions())), &networks);
  model.snapshot.version = {1, 300};
  model.experiment_yaml = ToYaml(experiment);
  const auto store = ValueOf(CheckpointStore::Open(folder.path() + "/best", 1));
  REQUIRE_OK(WriteSavedModel(model, store.get()));
}

TEST_CASE("every layer can be exported", "[unit][policy_cases]") {
  const CaseFolder folder("layers");
  const auto write = [&](const std::string& name, const std::string& algorithm, TinyKind kind,
                         const Overrides& overrides) {
    WritePolicyCase(name, ValueOf(Parse(algorithm, overrides)), SpecOf(kind), folder.path());
  };
  for (const char* const activation : {"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid"}) {
    write(
        activation, "ppo", TinyKind::kReal,
        {{"networks.actor_critic.torso", absl::StrCat("[{type: mlp, units: [16, 8], activation: ", activation, "}]")}});
  }
  write("norms", "crossq", TinyKind::kReal,
        {{"networks.actor.torso",
          "[{type: mlp, units: [16]}, {type: layer_norm}, {type: batch_norm}, {type: residual, units: [8]}]"}});
  write("normalizer", "ppo", TinyKind::kReal, {{"networks.actor_critic.normalize_observations", "true"}});
  write("convolution", "apex_dqn", TinyKind::kImage,
        {{"networks.q.encoders",
          "{camera: [{type: conv, channels: 3, kernel: 2, stride: 1, padding: 1}, {type: layer_norm}]}"},
         {"networks.q.torso", "[{type: mlp, units: [8]}]"}});
  write("embedding", "ppo", TinyKind::kDict, {{"networks.actor_critic.torso", "[{type: mlp, units: [8]}]"}});
  write("gru", "ppo", TinyKind::kMemory, {{"networks.actor_critic.core", "{type: gru, units: 8}"}});
  write("categorical_dueling", "rainbow", TinyKind::kMasked, {});
  write("quantiles", "qr_dqn", TinyKind::kMasked, {{"networks.q.heads", "{q: {type: dueling}}"}});
  write("std_of_state", "ppo", TinyKind::kMixed, {{"networks.actor_critic.heads", "{policy: {std: of_state}}"}});
  write("members", "maddpg", TinyKind::kRealAgents,
        {{"algorithm.policies", "3"},
         {"networks.actor.torso", "[{type: mlp, units: [8]}, {type: layer_norm}, {type: residual, units: [4]}]"}});
  write("members_of_choices", "maddpg", TinyKind::kAgents, {{"algorithm.policies", "3"}});
}

TEST_CASE("an export refuses weights of another network, and numbers that are not finite", "[unit]") {
  const Subject subject{"apex_dqn"};
  PolicySource source;
  source.experiment = SmallExperiment(subject);
  source.environment = SpecOf(subject.kind);
  const std::unique_ptr<AlgorithmTrainee> trainee = NewTrainee(subject, source.experiment);
  const ModelSnapshot snapshot = ValueOf(trainee->Publish());
  const PolicyForms forms = BuiltinPolicyForms();
  const auto code = [&](const ModelSnapshot& of) {
    source.weights.snapshot = of;
    return PolicyModel(source, Definitions(), forms).status().code();
  };
  CHECK(code(snapshot) == absl::StatusCode::kOk);
  ModelSnapshot other = snapshot;
  other.network_hash += 1;
  CHECK(code(other) == absl::StatusCode::kFailedPrecondition);
  other = snapshot;
  other.tensors.pop_back();
  CHECK(code(other) == absl::StatusCode::kFailedPrecondition);
  other = snapshot;
  const std::string nothing(snapshot.data.size(), '\xff');
  other.data = ByteSlices(ByteSlice{nothing.data(), nothing.size(), nullptr});
  CHECK(code(other) == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a policy of an algorithm's own without a form is refused, and not exported as another", "[unit]") {
  const Subject subject{"iqn"};
  PolicySource source;
  source.experiment = SmallExperiment(subject);
  source.environment = SpecOf(subject.kind);
  source.weights.snapshot = ValueOf(NewTrainee(subject, source.experiment)->Publish());
  const PolicyForms none("policy in ONNX of algorithm");
  REQUIRE_CODE(PolicyModel(source, Definitions(), none), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle::testing
