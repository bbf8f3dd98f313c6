#include "common/rl/modules/decoder/decoder.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

const char kNetwork[] = "{q: {torso: [{type: mlp, units: [8], activation: tanh}]}}";

std::unique_ptr<AlgorithmTrainee> DecoderTrainee(const EnvironmentSpec& environment, const std::string& keys) {
  return testing::TraineeOn(kNetwork, "name: apex_dqn, n_step: 1, modules: [{type: decoder" + keys + "}]", environment,
                            torch::kFloat64, 1);
}

TEST_CASE("the algorithm's loss has the decoder's error as a term, and so has its gradient", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  const TensorBatch batch = testing::RandomTransitions(environment, 6, 1);
  for (const std::string predicts : {"next_observation", "observation", "reward"}) {
    INFO(predicts);
    const auto trainee = DecoderTrainee(environment, ", weight: 0.5, predicts: " + predicts);
    const auto weightless = DecoderTrainee(environment, ", weight: 0, predicts: " + predicts);
    const torch::Tensor wanted = predicts == "next_observation" ? batch.at("next_observation")
                                 : predicts == "observation"    ? batch.at(kObservation)
                                                                : batch.at(kReward).narrow(1, 0, 1);
    const torch::Tensor error =
        (trainee->model().net("q")({batch.at(kObservation)}).vector(kDecoderHead) - wanted).square().mean().detach();
    CaptureStepper stepper;
    const double with = testing::Metric(testing::Updated(trainee.get(), batch, &stepper), "q_loss");
    const double without = testing::Metric(testing::Updated(weightless.get(), batch, &stepper), "q_loss");
    CHECK(with - without == Approx(0.5 * error.item<double>()));
    testing::CheckGradients(trainee.get(), trainee->groups(), batch);
  }
}

TEST_CASE("a decoder wants a network of observations alone", "[unit]") {
  const auto check = [](const std::string& algorithm, const SpaceLeaf& action) {
    const Experiment experiment =
        testing::ValueOf(ParseExperiment("algorithm: {" + algorithm + "}\nstop: {max_learner_steps: 1}\n", "test.yaml",
                                         {}, BuiltinAlgorithmDefinitions()));
    return std::string(
        CheckAgainstEnvironment(experiment, testing::EnvironmentOf(3, action), BuiltinAlgorithmDefinitions())
            .message());
  };
  const SpaceLeaf real = Box("action", DType::kFloat32, {1}, -1, 1);
  CHECK(check("name: td3, modules: [{type: decoder}]", real).empty());
  CHECK_THAT(check("name: td3, modules: [{type: decoder, network: critic}]", real),
             Catch::StartsWith("algorithm.modules[0].network: got critic; wanted one that has observations"));
  CHECK_THAT(check("name: apex_dqn, modules: [{type: decoder, network: actor}]", Discrete("action", 2)),
             Catch::StartsWith("algorithm.modules[0].network: got actor; wanted"));
}

}  // namespace
}  // namespace waggle
