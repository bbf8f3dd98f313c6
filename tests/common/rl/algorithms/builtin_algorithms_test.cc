#include "common/rl/algorithm.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

// Sums the elements of all tensors.
class Elements : public StateVisitor {
 public:
  bool Loading() const override { return false; }
  int64_t count() const { return count_; }

 protected:
  void VisitTensor(const std::string&, torch::Tensor* value) override { count_ += value->numel(); }
  void VisitInt(const std::string&, int64_t*) override {}
  void VisitDouble(const std::string&, double*) override {}
  void VisitString(const std::string&, std::string*) override {}
  void Problem(std::string) override {}

 private:
  int64_t count_ = 0;
};

TEST_CASE("every algorithm knows how much its checkpoints hold", "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  for (const std::string& name : algorithms.Names()) {
    for (const char* const more : {"{}", "{type: sgd}", "{type: rmsprop}"}) {
      INFO(name << " " << more);
      const Experiment experiment =
          testing::ValueOf(ParseExperiment("algorithm: {name: " + name + "}\nstop: {max_seconds: 1}\n", "test",
                                           {{"algorithm.optimizer", more}}, definitions));
      const std::unique_ptr<Algorithm> algorithm =
          testing::ValueOf(testing::ValueOf(algorithms.Find(name))
                               ->new_algorithm({&experiment, testing::DqnEnvironment(4, 2), torch::kCPU}));
      const int64_t parameters = static_cast<int64_t>(testing::ValueOf(algorithm->Publish()).data.size()) / 4;
      const LearnerArrays arrays =
          testing::ValueOf(definitions.Find(name))->learner_arrays(*experiment.algorithm_options);
      Elements saved;
      algorithm->VisitState(&saved);
      CHECK(saved.count() == arrays.saved * parameters);
      CHECK(arrays.all > arrays.saved);
    }
  }
}

TEST_CASE("every algorithm that is defined is implemented, and makes a learner and a policy of its defaults",
          "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  REQUIRE(algorithms.Names() == definitions.Names());
  for (const std::string& name : algorithms.Names()) {
    INFO(name);
    Experiment experiment;
    experiment.algorithm = name;
    experiment.algorithm_options = testing::ValueOf(definitions.Find(name))->new_options();
    const EnvironmentSpec environment = testing::DqnEnvironment(4, 2);
    const AlgorithmImplementation& implementation = *testing::ValueOf(algorithms.Find(name));
    const std::unique_ptr<Algorithm> algorithm =
        testing::ValueOf(implementation.new_algorithm({&experiment, environment, torch::kCPU}));
    PolicyContext context;
    context.experiment = &experiment;
    context.environment = environment;
    context.lanes = 2;
    context.all_lanes = 2;
    const std::unique_ptr<Policy> policy = testing::ValueOf(implementation.new_policy(context));
    // What the learner publishes is what the policy takes.
    REQUIRE_OK(policy->LoadWeights(testing::ValueOf(algorithm->Publish())));
  }
}

}  // namespace
}  // namespace waggle
