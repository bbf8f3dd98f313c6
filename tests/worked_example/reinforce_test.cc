// The loss of the first worked example of docs/authoring.md against a loop over the steps of each episode.

#include <cmath>

#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

TEST_CASE("The worked example's REINFORCE weighs what was done by what the episode earned from there on", "[unit]") {
  const Subject subject{"reinforce", TinyKind::kDiscrete};
  const Experiment experiment = SmallExperiment(subject, {{"algorithm.discount", "0.9"}});
  const TensorBatch batch = InFloat64(PlayedBatches(subject, experiment, 1)[0]);
  Parts parts(subject, experiment);
  std::vector<double> returns;
  std::vector<double> log_probs;
  for (int64_t row = 0; row < batch.size; ++row) {
    double following = 0;
    for (int64_t t = batch.at(kItemLength)[row].item<int64_t>() - 2; t >= 0; --t) {
      following = batch.at(kReward)[row][t].item<double>() + 0.9 * following;
      returns.push_back(following);
      const Output out = parts.model->net("policy")({batch.at(kObservation)[row][t].unsqueeze(0)});
      const torch::Tensor log_probabilities = out.policy().LogProbabilities();
      log_probs.push_back(log_probabilities[0][batch.at(kAction)[row][t]].item<double>());
    }
  }
  const auto count = static_cast<double>(returns.size());
  REQUIRE(returns.size() > static_cast<size_t>(2 * batch.size));
  double mean = 0;
  double variance = 0;
  for (const double value : returns) {
    mean += value / count;
  }
  for (const double value : returns) {
    variance += (value - mean) * (value - mean) / count;
  }
  double loss = 0;
  for (size_t step = 0; step < returns.size(); ++step) {
    loss -= (returns[step] - mean) / std::sqrt(variance + 1e-8) * log_probs[step] / count;
  }
  CaptureStepper stepper;
  Noise noise(1, torch::kCPU);
  const Parts::Result result = ValueOf(parts.Update(batch, &stepper, &noise));
  REQUIRE(result.losses.size() == 1);
  CHECK(result.losses[0].second.item<double>() == Approx(loss));
}

}  // namespace
}  // namespace waggle::testing
