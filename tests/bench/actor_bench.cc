// The actor without a network: environments alone, as a vector, and the whole loop with a policy that costs nothing.

#include "tests/bench/actor_bench.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/bench/bench.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kCalls = 10'000;

// Random actions from a table, and values that are no numbers of interest.
class FreePolicy : public Policy {
 public:
  FreePolicy() : actions_(1 << 16) {
    Rng rng(9);
    for (int64_t& action : actions_) {
      action = static_cast<int64_t>(rng.UniformInt(2));
    }
  }
  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {"q_taken", "q_max"}; }
  absl::Status Act(const PolicyInput& input, ActMode, PolicyOutput* output) override {
    if (next_ + input.slots.size() > actions_.size()) {
      next_ = 0;
    }
    std::copy_n(actions_.data() + next_, input.rows(), static_cast<int64_t*>(output->actions[0]));
    next_ += input.slots.size();
    return absl::OkStatus();
  }
  absl::Status LoadWeights(const ModelSnapshot&) override { return absl::OkStatus(); }

 private:
  std::vector<int64_t> actions_;
  size_t next_ = 0;
};

std::vector<int64_t> AllLanes() {
  std::vector<int64_t> lanes(kLanes);
  std::iota(lanes.begin(), lanes.end(), 0);
  return lanes;
}

// Steps a second of CartPoles stepped one by one, without any frame around them.
double BareStepsPerSecond() {
  std::vector<std::unique_ptr<CartPole>> poles;
  std::vector<float> observations(4 * kLanes);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    poles.push_back(std::make_unique<CartPole>(lane));
    WAGGLE_CHECK(poles[lane]->Reset({&observations[4 * lane]}).ok(), "CartPole can be reset");
  }
  FreePolicy policy;
  float reward = 0;
  std::vector<int64_t> actions(kLanes);
  const std::vector<int64_t> slots = AllLanes();
  PolicyInput input;
  input.slots = slots;
  PolicyOutput output;
  output.actions = {actions.data()};
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    WAGGLE_CHECK(policy.Act(input, ActMode::kExplore, &output).ok(), "a free policy acts");
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto outcome = poles[lane]->Step({&actions[lane]}, {&observations[4 * lane]}, &reward);
      if (outcome->terminated || outcome->truncated) {
        WAGGLE_CHECK(poles[lane]->Reset({&observations[4 * lane]}).ok(), "CartPole can be reset");
      }
    }
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

double VectorStepsPerSecond() {
  const auto environments = CartPoles(kLanes);
  FreePolicy policy;
  std::vector<int64_t> actions(kLanes);
  const std::vector<int64_t> slots = AllLanes();
  PolicyInput input;
  input.slots = slots;
  PolicyOutput output;
  output.actions = {actions.data()};
  WAGGLE_CHECK(environments->Reset().ok(), "CartPole can be reset");
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    WAGGLE_CHECK(policy.Act(input, ActMode::kExplore, &output).ok(), "a free policy acts");
    WAGGLE_CHECK(environments->Step(output.actions).ok(), "CartPole can be stepped");
  }
  return static_cast<double>(environments->env_steps()) / absl::ToDoubleSeconds(absl::Now() - began);
}

// As Ape-X DQN has it: three-step windows, prioritised by their temporal-difference error.
TablePlan ThreeStepPlan() {
  TablePlan plan;
  plan.table.name = "transitions";
  plan.table.signature = StreamColumns(CartPole::Spec(), {});
  plan.table.signature.pop_back();
  plan.table.max_window = 4;
  plan.window.length = 4;
  plan.initial_priority = [](const WindowRow* rows, int64_t count) {
    double target = rows[count - 1].extras[1];
    for (int64_t i = count - 2; i >= 0; --i) {
      target = rows[i].reward + 0.99 * rows[i].discount * target;
    }
    return std::abs(target - rows[0].extras[0]);
  };
  return plan;
}

std::vector<Case> Cases() {
  const auto bare = std::make_shared<double>(0);
  const auto limit = [bare] {
    if (*bare == 0) {
      *bare = BestRate(BareStepsPerSecond, "", 0, "").value;
    }
    return *bare;
  };
  return {
      {"actor/cartpole_vector_32",
       [limit] { return BestRate(VectorStepsPerSecond, "env_steps/s", limit(), "CartPoles stepped one by one"); }},
      {"actor/loop_free_policy_32",
       [limit] {
         FreePolicy policy;
         return BestRate([&] { return StepsPerSecond(&policy, ModelSnapshot(), ThreeStepPlan(), kLanes, kCalls); },
                         "env_steps/s", limit(), "CartPoles stepped one by one");
       }},
  };
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
