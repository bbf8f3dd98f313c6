#include "learner/group/shared_steps.h"

#include <limits>
#include <memory>
#include <vector>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

// Two parameter groups of two numbers that begin at 0, and SGD with a learning rate of 1.
struct Setting {
  explicit Setting(const GradientServerOptions& options, int64_t learners = 2) {
    for (const char* const name : {"q", "actor"}) {
      parameters.push_back(std::make_unique<FlatParameters>(
          ValueOf(FlatParameters::Create({ArraySpec{name, DType::kFloat32, {2}}}, torch::kCPU))));
      OptimizerOptions sgd;
      sgd.type = "sgd";
      sgd.learning_rate = 1;
      sgd.gradient_clip_norm = 0;
      groups.push_back(ValueOf(ParameterGroup::Create(name, parameters.back().get(), sgd)));
    }
    steps = std::make_unique<SharedSteps>(options, learners,
                                          std::vector<ParameterGroup*>{groups[0].get(), groups[1].get()});
    steps->SetProgress({0, 7, 0});
  }
  absl::StatusOr<PushOutcome> Push(int64_t group, int64_t based_on, float gradient) {
    newest = torch::zeros({2});
    return steps->Push(group, based_on, torch::full({2}, gradient), newest);
  }

  std::vector<std::unique_ptr<FlatParameters>> parameters;
  std::vector<std::unique_ptr<ParameterGroup>> groups;
  std::unique_ptr<SharedSteps> steps;
  torch::Tensor newest;
};

GradientServerOptions Batches(int64_t gradients, double flush_seconds = 60) {
  GradientServerOptions options;
  options.primary_batch = gradients;
  options.flush_seconds = flush_seconds;
  return options;
}

// Pushes a gradient of each value at the same time. Returns the newest values that each got.
std::vector<torch::Tensor> PushTogether(Setting* setting, const std::vector<float>& gradients,
                                        GradientVerdict verdict = GradientVerdict::kApplied) {
  std::vector<torch::Tensor> newest(gradients.size());
  std::vector<absl::StatusOr<PushOutcome>> outcomes(gradients.size());
  std::vector<Thread> threads;
  for (size_t i = 0; i < gradients.size(); ++i) {
    newest[i] = torch::zeros({2});
    threads.emplace_back(
        "pushes", [&, i] { outcomes[i] = setting->steps->Push(0, 0, torch::full({2}, gradients[i]), newest[i]); });
  }
  threads.clear();
  const bool applied = verdict == GradientVerdict::kApplied;
  for (const absl::StatusOr<PushOutcome>& outcome : outcomes) {
    CHECK(ValueOf(outcome).verdict == verdict);
    CHECK(ValueOf(outcome).steps == (applied ? 1 : 0));
    CHECK(ValueOf(outcome).learner_steps == 7);
    CHECK(ValueOf(outcome).gradient_norm.defined() == applied);
  }
  return newest;
}

TEST_CASE("a step is by the mean, or the sum, of a batch of gradients, and all that gave one get its values",
          "[unit]") {
  const std::string reduce = GENERATE(as<std::string>(), "mean", "sum");
  GradientServerOptions options = Batches(3);
  options.reduce = reduce;
  Setting setting(options, /*learners=*/3);
  const std::vector<torch::Tensor> newest = PushTogether(&setting, {1, 2, 6});
  for (const torch::Tensor& values : newest) {
    CHECK(torch::equal(values, torch::full({2}, reduce == "mean" ? -3.0F : -9.0F)));
  }
}

TEST_CASE("a batch is of at most one gradient of each learner", "[unit]") {
  Setting setting(Batches(5), /*learners=*/2);
  const std::vector<torch::Tensor> newest = PushTogether(&setting, {1, 3});
  CHECK(torch::equal(newest[0], torch::full({2}, -2.0F)));
}

TEST_CASE("a step does not wait for stragglers beyond its time, and a late gradient makes one of its own", "[unit]") {
  Setting setting(Batches(2, /*flush_seconds=*/0.001));
  CHECK(ValueOf(setting.Push(0, 0, 1)).steps == 1);
  const PushOutcome late = ValueOf(setting.Push(0, 0, 3));
  CHECK(late.verdict == GradientVerdict::kApplied);
  CHECK(late.steps == 2);
  CHECK(torch::equal(setting.newest, torch::full({2}, -4.0F)));
}

TEST_CASE("each parameter group has steps and values of its own", "[unit]") {
  Setting setting(Batches(1));
  CHECK(ValueOf(setting.Push(0, 0, 1)).steps == 1);
  CHECK(ValueOf(setting.Push(0, 1, 1)).steps == 2);
  CHECK(ValueOf(setting.Push(1, 0, 5)).steps == 1);
  CHECK(torch::equal(setting.newest, torch::full({2}, -5.0F)));
  REQUIRE_OK(setting.steps->WithNewest([&](const std::vector<int64_t>& steps) {
    CHECK(steps == std::vector<int64_t>{2, 1});
    CHECK(torch::equal(setting.groups[0]->values(), torch::full({2}, -2.0F)));
    CHECK(torch::equal(setting.groups[1]->values(), torch::full({2}, -5.0F)));
    return absl::OkStatus();
  }));
}

TEST_CASE("a gradient that is too old is refused, or scaled down, and the newest values come back", "[unit]") {
  const std::string stale = GENERATE(as<std::string>(), "refuse", "scale");
  GradientServerOptions options = Batches(1);
  options.max_staleness = 1;
  options.stale = stale;
  Setting setting(options);
  for (int64_t step = 0; step < 3; ++step) {
    CHECK(ValueOf(setting.Push(0, step, 0)).steps == step + 1);
  }
  CHECK(ValueOf(setting.Push(0, 2, 1)).verdict == GradientVerdict::kApplied);
  const PushOutcome old = ValueOf(setting.Push(0, 1, 3));  // Two steps above the limit.
  CHECK(old.verdict == (stale == "refuse" ? GradientVerdict::kStale : GradientVerdict::kApplied));
  CHECK(old.steps == (stale == "refuse" ? 4 : 5));
  CHECK(torch::equal(setting.newest, torch::full({2}, stale == "refuse" ? -1.0F : -2.0F)));
}

TEST_CASE("gradients whose sum is not finite are refused, and the next step is without them", "[unit]") {
  GradientServerOptions options = Batches(2);
  options.reduce = "sum";
  Setting setting(options);
  const float largest = std::numeric_limits<float>::max();
  CHECK(torch::equal(PushTogether(&setting, {largest, largest}, GradientVerdict::kNotFinite)[0], torch::zeros({2})));
  CHECK(torch::equal(PushTogether(&setting, {1, 1})[0], torch::full({2}, -2.0F)));
}

TEST_CASE("a gradient of no group, of another size, or of values that there were never, is invalid", "[unit]") {
  Setting setting(Batches(1));
  CHECK(setting.Push(2, 0, 1).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(setting.Push(-1, 0, 1).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(setting.Push(0, 1, 1).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(setting.Push(0, -1, 1).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(setting.steps->Push(0, 0, torch::zeros({3}), torch::zeros({2})).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("pushes fail once the learners' group is abandoned, also if they wait for others or for its end", "[unit]") {
  const bool ended = GENERATE(true, false);
  Setting setting(Batches(2));
  if (ended) {
    setting.steps->End();
  }
  absl::StatusOr<PushOutcome> pushed;
  {
    const Thread waits("waits", [&] { pushed = setting.Push(0, 0, 1); });
    setting.steps->Abandon();
  }
  CHECK(pushed.status().code() == absl::StatusCode::kAborted);
  CHECK(setting.Push(0, 0, 1).status().code() == absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace waggle
