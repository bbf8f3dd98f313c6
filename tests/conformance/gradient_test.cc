// Compares each group's gradient with finite differences of its reported loss.

#include <cmath>

#include "common/base/random.h"
#include "common/config/plan/head_kinds.h"
#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

constexpr int kUpdates = 2;  // Enough for updates that happen every second time.
constexpr int kParameters = 6;
constexpr double kStep = 1e-6;

// True if a loss of the group depends on values that the group itself gives to the target: the gradient takes these for
// constant, but a difference does not.
bool IsItsOwnTarget(const AlgorithmPlan& plan, const ParameterGroup& group) {
  for (const NetworkNeed& need : plan.networks) {
    if (need.name == group.name() && !need.has_target) {
      for (const auto& [name, head] : need.heads) {
        // Numbers of a vector head are no values.
        if (!GivesPolicy(head.kind) && head.kind != HeadKind::kVector) {
          return true;
        }
      }
    }
  }
  return false;
}

// A descent of an update without a step.
struct Descent {
  std::string group;
  double loss = 0;
  torch::Tensor gradient;
};

class RecordingStepper : public Stepper {
 public:
  explicit RecordingStepper(std::vector<Descent>* descents) : descents_(descents) {}
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress&) override {
    descents_->push_back({group->name(), 0, group->gradients().clone()});
    return false;
  }

 private:
  std::vector<Descent>* const descents_;
};

// The descents of an algorithm that begins anew, always with the same random numbers, and with one parameter moved.
std::vector<Descent> DescentsWith(const Subject& subject, const Experiment& experiment, const TensorBatch& batch,
                                  size_t group, int64_t parameter, double by) {
  Parts parts(subject, experiment);
  parts.model->groups()[group]->values().data_ptr<double>()[parameter] += by;
  Noise noise(5, torch::kCPU);
  std::vector<Descent> descents;
  RecordingStepper stepper(&descents);
  size_t next = 0;
  for (int update = 0; update < kUpdates; ++update) {
    for (const auto& [name, loss] : ValueOf(parts.Update(batch, &stepper, &noise)).losses) {
      REQUIRE(next < descents.size());
      REQUIRE(name == descents[next].group + "_loss");
      descents[next++].loss = loss.item<double>();
    }
  }
  REQUIRE(next == descents.size());
  return descents;
}

TEST_CASE("every group's gradient equals finite differences of its loss", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = InFloat64(PlayedBatch(subject, experiment));
    const Parts parts(subject, experiment);
    const std::vector<ParameterGroup*> groups = parts.model->groups();
    Rng rng(3);
    for (size_t group = 0; group < groups.size(); ++group) {
      if (IsItsOwnTarget(parts.plan.algorithm, *groups[group])) {
        WARN(subject.Text() << ": " << groups[group]->name()
                            << " gives its own targets, which differences do not hold still; skipped");
        continue;
      }
      int checked = 0;
      for (int i = 0; i < kParameters; ++i) {
        const auto parameter =
            static_cast<int64_t>(rng.UniformInt(static_cast<uint64_t>(groups[group]->values().numel())));
        const auto at = DescentsWith(subject, experiment, batch, group, parameter, 0);
        const auto above = DescentsWith(subject, experiment, batch, group, parameter, kStep);
        const auto below = DescentsWith(subject, experiment, batch, group, parameter, -kStep);
        REQUIRE(above.size() == at.size());
        REQUIRE(below.size() == at.size());
        for (size_t descent = 0; descent < at.size(); ++descent) {
          if (at[descent].group == groups[group]->name()) {
            INFO(at[descent].group << ", parameter " << parameter);
            const double difference = (above[descent].loss - below[descent].loss) / (2 * kStep);
            CHECK(at[descent].gradient[parameter].item<double>() == Approx(difference).epsilon(1e-5).margin(1e-8));
            ++checked;
          }
        }
      }
      INFO(groups[group]->name());
      CHECK(checked > 0);
    }
  });
}

}  // namespace
}  // namespace waggle::testing
