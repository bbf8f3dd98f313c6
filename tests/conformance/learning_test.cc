// An algorithm must learn the simplest task, acting and learning as a run does, with its own defaults.

#include <algorithm>
#include <numeric>

#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

// Most algorithms need a tenth of it. A policy that draws real actions and cuts them to their bounds has a biased mean
// until its deviation has fallen, which takes hundreds of updates.
constexpr int64_t kMaxEnvSteps = 100'000;
// The updates between two measurements of the skill; an update that actors wait for takes one.
constexpr int64_t kUpdatesAMeasure = 50;
constexpr int64_t kMeasuredLanes = 64;
constexpr int kMeasuredRounds = 4;

// The greedy policy's reward, as a share of the way from a uniformly choosing policy to the best one.
double Skill(const Subject& subject, Policy* policy) {
  LocalVectorEnvironment environments = NewEnvironments(subject, /*are_long=*/false, kMeasuredLanes, 9);
  PolicyBuffers buffers(*policy, environments.spec().actions, kMeasuredLanes);
  const int64_t dimensions = environments.spec().rewards[0].NumElements();
  double total = 0;
  REQUIRE_OK(environments.Reset());
  for (int rounds = 0; rounds < kMeasuredRounds;) {
    const ReadyLanes ready = ValueOf(environments.Recv(kMeasuredLanes, StopToken()));
    for (const float* const rewards : ready.rewards) {  // Each agent's, of all dimensions.
      total = std::accumulate(rewards, rewards + kMeasuredLanes * dimensions, total);
    }
    // All episodes have one length.
    rounds += ready.step_types[0] == static_cast<int32_t>(StepType::kLast) ? 1 : 0;
    PolicyInput input;
    input.slots = ready.lanes;
    input.observations = ready.observations;
    input.first = ready.first;
    REQUIRE_OK(policy->Act(input, ActMode::kGreedy, buffers.output()));
    REQUIRE_OK(environments.Send(ready.lanes, buffers.output()->actions));
  }
  const auto agents = static_cast<int64_t>(environments.spec().rewards.size());
  const double reward = total / static_cast<double>(kMeasuredLanes * kMeasuredRounds * agents);
  const double random = TinyEnvironment::RandomReward(subject.kind);
  return (reward - random) / (TinyEnvironment::BestReward(subject.kind) - random);
}

// The number of updates that the table's limiter would have allowed so far.
int64_t AllowedUpdates(const RateLimiterConfig& limiter, int64_t batch_size, int64_t items) {
  if (items < std::max(limiter.min_items, batch_size)) {
    return 0;
  }
  const double samples = limiter.samples_per_insert > 0 ? static_cast<double>(items) * limiter.samples_per_insert
                                                        : static_cast<double>(items);
  return static_cast<int64_t>(samples) / batch_size;
}

struct Outcome {
  double skill = 0;
  int64_t env_steps = 0;
  int64_t updates = 0;
};

// Acts and learns by turns, at the ratio of the algorithm's own limiter.
Outcome Learn(const Subject& subject) {
  Experiment experiment = LearningExperiment(subject);
  RateLimiterConfig limiter =
      ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions())).algorithm.tables[0].table.rate_limiter;
  if (!experiment.actor.acts()) {  // As many updates as steps: they are recorded before.
    limiter.samples_per_insert = static_cast<double>(experiment.learner.batch_size);
  }
  RemoveLimit(&experiment);
  const auto trainee = NewTrainee(subject, experiment);
  // Causal cloning needs the step before.
  Player player(subject, experiment, /*is_long=*/subject.algorithm == "causal_bc");
  const int64_t updates_a_measure = trainee->plan().algorithm.rows_per_version.has_value() ? 1 : kUpdatesAMeasure;
  const std::unique_ptr<Policy> measured = NewPolicy(subject, experiment, kMeasuredLanes);
  LocalStepper stepper;
  Outcome outcome;
  while (player.env_steps() < kMaxEnvSteps && outcome.skill < 0.9) {
    const auto progress = [&] {
      const double run = static_cast<double>(player.env_steps()) / static_cast<double>(kMaxEnvSteps);
      return Progress{std::min(run, 1.0), outcome.updates, player.env_steps()};
    };
    ModelSnapshot weights = ValueOf(trainee->Publish());
    weights.progress = progress();
    REQUIRE_OK(player.policy()->LoadWeights(weights));
    player.Play(2);
    const int64_t allowed = AllowedUpdates(limiter, player.table().batch_size, player.items_written());
    while (outcome.updates < allowed && outcome.skill < 0.9) {
      ++outcome.updates;
      const TensorBatch batch = player.Sample();
      player.Prioritize(batch, ValueOf(trainee->Update(batch, progress(), &stepper)).priorities[0]);
      if (outcome.updates % updates_a_measure == 0) {
        REQUIRE_OK(measured->LoadWeights(ValueOf(trainee->Publish())));
        outcome.skill = Skill(subject, measured.get());
      }
    }
  }
  outcome.env_steps = player.env_steps();
  return outcome;
}

TEST_CASE("an algorithm learns the identity task", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& /*experiment*/) {
    if (!subject.module.empty()) {
      return;  // Modules change rewards and losses, not how an algorithm learns; twice the subjects would take minutes.
    }
    const Outcome outcome = Learn(subject);
    INFO(subject.Text() << ": " << outcome.skill << " of the best after " << outcome.env_steps << " steps and "
                        << outcome.updates << " updates");
    CHECK(outcome.skill >= 0.9);
  });
}

}  // namespace
}  // namespace waggle::testing
