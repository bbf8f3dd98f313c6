#include "common/rl/modules/diayn/diayn.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

constexpr int64_t kSkills = 4;

EnvironmentSpec SkilledEnvironment() {
  EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  environment.observations[0].array.name = "observation/observation";
  environment.observations.push_back(Discrete("observation/skill", kSkills));
  return environment;
}

// Transitions of one step whose next observation shows the skill's number, or does not.
TensorBatch Transitions(int64_t rows, bool shows) {
  TensorBatch batch = testing::RandomTransitions(SkilledEnvironment(), rows, 1);
  const torch::Tensor skill = torch::arange(rows, torch::kInt64) % kSkills;
  torch::Tensor next = batch.at("next_observation").clone();
  if (shows) {
    next.select(1, 0).copy_(skill);
  }
  batch.fields["observation/observation"] = batch.at(kObservation);
  batch.fields["next_observation/observation"] = next;
  batch.fields["observation/skill"] = skill;
  batch.fields["next_observation/skill"] = skill;
  return batch;
}

std::unique_ptr<AlgorithmTrainee> DiaynTrainee(const std::string& keys = "") {
  const std::string network = "{torso: [{type: mlp, units: [8], activation: tanh}]}";
  return testing::TraineeOn("{q: " + network + ", diayn_discriminator: " + network + "}",
                            "name: apex_dqn, n_step: 1, modules: [{type: diayn" + keys + "}]", SkilledEnvironment(),
                            torch::kFloat64, 1);
}

TEST_CASE("the discriminator descends minus the logarithm of the skill's probability", "[unit]") {
  const auto trainee = DiaynTrainee();
  testing::CheckGradients(trainee.get(), {trainee->model().net(kDiaynDiscriminator).group()}, Transitions(6, true));
}

TEST_CASE("skills that observations show are told apart, and are worth the logarithm of their number", "[unit]") {
  const auto trainee = DiaynTrainee(", optimizer: {learning_rate: 0.02}");
  const TensorBatch batch = Transitions(32, true);
  LocalStepper stepper;
  UpdateResult result = testing::Updated(trainee.get(), batch, &stepper);
  CHECK(testing::Metric(result, "diayn_bonus") < 0.2);
  for (int update = 0; update < 1000; ++update) {
    result = testing::Updated(trainee.get(), batch, &stepper);
  }
  CHECK(testing::Metric(result, "diayn_accuracy") == 1);
  const double bonus = testing::Metric(result, "diayn_bonus");
  CHECK(bonus == Approx(std::log(kSkills)).epsilon(0.1));
  CHECK(bonus == Approx(std::log(kSkills) - testing::Metric(result, "diayn_discriminator_loss")));
}

TEST_CASE("the discriminator does not see the skill itself", "[unit]") {
  const auto trainee = DiaynTrainee(", optimizer: {learning_rate: 0.02}");
  const NetworkPlan& plan = trainee->model().net(kDiaynDiscriminator).network().plan();
  REQUIRE(plan.trunks[0].encoders.size() == 1);
  CHECK(plan.trunks[0].encoders[0].name == "observation");
}

TEST_CASE("a skill that is no discrete observation is refused", "[unit]") {
  const auto problem = [](const EnvironmentSpec& environment, const std::string& keys) {
    const Experiment experiment = testing::ValueOf(
        ParseExperiment("algorithm: {name: ppo, modules: [{type: diayn" + keys + "}]}\nstop: {max_learner_steps: 1}\n",
                        "test.yaml", {}, BuiltinAlgorithmDefinitions()));
    return std::string(PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions()).status().message());
  };
  CHECK(problem(SkilledEnvironment(), "") == "");
  CHECK(problem(SkilledEnvironment(), ", skill: observation/observation") ==
        "algorithm.modules[0].skill: got observation/observation; wanted a discrete observation of test, such as "
        "observation/skill");
  CHECK_THAT(problem(testing::EnvironmentOf(3, Discrete("action", 2)), ""),
             Catch::Contains("such as environment.transforms: [{random_goal: {as: skill, choices: 8}}] adds"));
}

}  // namespace
}  // namespace waggle
