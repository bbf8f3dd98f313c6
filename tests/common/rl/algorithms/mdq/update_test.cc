#include <cmath>
#include <vector>

#include "tests/support/algorithm_checks.h"

namespace waggle::testing {
namespace {

using torch::Tensor;

constexpr int64_t kElements = 2;
constexpr double kAlpha = 0.5;

EnvironmentSpec Environment() {
  return EnvironmentOf(3, Box("action", DType::kFloat32, {kElements}, -1, 1));
}

std::unique_ptr<AlgorithmTrainee> Trainee(const std::string& options) {
  return TraineeOf(
      "name: mdq, temperature: 0.5, learn_temperature: false, importance_exponent: 0, discount: 0.9" + options,
      Environment());
}

// The logits and the value for a row at an element, given a prefix of the action, by a call for it alone.
std::pair<Tensor, double> AtElement(const Net& actor, const Tensor& observation, const std::vector<double>& action,
                                    int64_t element) {
  const torch::NoGradGuard no_grad;
  std::vector<double> prefix(2 * kElements, 0.0);
  std::copy_n(action.begin(), element, prefix.begin());
  prefix[static_cast<size_t>(kElements + element)] = 1;
  const Output out = actor({observation.unsqueeze(0)}, {}, {torch::tensor(prefix, torch::kFloat64).unsqueeze(0)});
  return {out.vector("logits")[0], out.value()[0].item<double>()};
}

// Five bins are the numbers -1, -0.5, 0, 0.5 and 1.
double NearestOfFive(double action) {
  return std::round(action * 2) / 2;
}

TEST_CASE("the policy of mdq, in advantage form, is compared with the least target critic", "[unit]") {
  const auto trainee = Trainee(", bins: 5, distill_noise: 0");
  const TensorBatch batch = RandomTransitions(Environment(), 6, 3);
  LocalStepper stepper;
  Updated(trainee.get(), batch, &stepper);  // Makes the target differ from the critics.
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  double loss = 0;
  for (int64_t row = 0; row < batch.size; ++row) {
    const Tensor observation = batch.at(kObservation)[row];
    std::vector<double> action;
    for (int64_t i = 0; i < kElements; ++i) {
      action.push_back(NearestOfFive(batch.at(kAction)[row][i].item<double>()));
    }
    double q = AtElement(actor, observation, action, 0).second;
    for (int64_t i = 0; i < kElements; ++i) {
      const Tensor logits = AtElement(actor, observation, action, i).first;
      const auto bin = static_cast<int64_t>(std::round(2 * (action[static_cast<size_t>(i)] + 1)));
      const double log_prob = (logits[bin] - logits.exp().sum().log()).item<double>();
      q += kAlpha * (log_prob + std::log(5));
    }
    const Tensor wanted =
        critic.target()({observation.unsqueeze(0)}, torch::tensor(action, torch::kFloat64).unsqueeze(0)).value().amin();
    loss += 0.5 * std::pow(q - wanted.item<double>(), 2) / static_cast<double>(batch.size);
  }
  // The critics' step comes first and leaves both the actor and the target as they are.
  CHECK(Metric(Updated(trainee.get(), batch, &stepper), "actor_loss") == Approx(loss));
}

TEST_CASE("critics of mdq learn the least next value minus the divergence from the uniform policy", "[unit]") {
  // One row of one transition, so that every draw is from the same policy, whose logits are all alike but for the
  // first.
  for (const double discount : {1.0, 0.0}) {
    const auto trainee = Trainee(", bins: 3, critics: 2, actor_optimizer: {learning_rate: 0}");
    TensorBatch batch = RandomTransitions(Environment(), 1, 3);
    batch.fields[kDiscount].fill_(discount);
    const Net& actor = trainee->model().net("actor");
    const Net& critic = trainee->model().net("critic");
    // Critics that give their bias for every action; logits 2, 0 and 0.
    const auto fix = [](Network* network) { network->parameters().values().zero_(); };
    {
      const torch::NoGradGuard no_grad;
      fix(&actor.network());
      fix(&critic.network());
      fix(critic.target_network());
      const auto set = [](Network* network, const std::string& name, const Tensor& values) {
        const auto& names = network->plan().parameters;
        for (size_t i = 0; i < names.size(); ++i) {
          if (names[i].name == name) {
            network->parameters().value_views()[i].copy_(values);
          }
        }
      };
      set(&actor.network(), "heads.logits.output.bias", torch::tensor({2.0, 0.0, 0.0}, torch::kFloat64));
      set(critic.target_network(), "heads.value.output.bias", torch::tensor({{3.0}, {4.0}}, torch::kFloat64));
    }
    double entropy = 0;
    const double total = std::exp(2) + 2;
    for (const double share : {std::exp(2) / total, 1 / total, 1 / total}) {
      entropy -= share * std::log(share);
    }
    const double divergence = static_cast<double>(kElements) * (std::log(3) - entropy);
    const double target = batch.at(kReward)[0][0].item<double>() + 0.9 * discount * (3 - kAlpha * divergence);
    LocalStepper stepper;
    const UpdateResult result = Updated(trainee.get(), batch, &stepper);
    CHECK(result.priorities[0][0].item<double>() == Approx(std::abs(target)));
    CHECK(Metric(result, "entropy") == Approx(static_cast<double>(kElements) * entropy));
  }
}

TEST_CASE("gradients of mdq equal finite differences of its losses", "[unit]") {
  const auto trainee = Trainee(", bins: 5, distill_noise: 0.2");
  for (const char* const network : {"actor", "critic"}) {
    CheckGradients(trainee.get(), {trainee->model().net(network).group()}, RandomTransitions(Environment(), 6, 3));
  }
  CheckTargetFollows(Trainee(", target_update_rate: 0.3").get(), "critic", RandomTransitions(Environment(), 6, 3), 0.3);
}

TEST_CASE("the temperature of mdq follows the target of the quantised policy's entropy", "[unit]") {
  // The default for 5 bins is -1 - ln 0.5 nats an element, less than the first policy has; 3.2188 nats, nearly those
  // of a uniform policy, are more.
  for (const auto& [target, grows] :
       std::vector<std::pair<std::string, bool>>{{"", false}, {", target_entropy: 3.2188", true}}) {
    const auto trainee = TraineeOf("name: mdq, bins: 5" + target, Environment());
    LocalStepper stepper;
    const TensorBatch batch = RandomTransitions(Environment(), 6, 3);
    Updated(trainee.get(), batch, &stepper);
    CHECK((Metric(Updated(trainee.get(), batch, &stepper), "temperature") > 1) == grows);
  }
}

}  // namespace
}  // namespace waggle::testing
