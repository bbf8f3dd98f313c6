// A device must compute the same as the CPU.

#include "tests/support/cuda.h"

#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

TensorBatch OnCuda(TensorBatch batch) {
  for (auto& [name, field] : batch.fields) {
    field = field.to(torch::kCUDA);
  }
  return batch;
}

void CheckClose(const std::string& what, const torch::Tensor& got, const torch::Tensor& wanted) {
  INFO(what << ": got " << got << ", wanted " << wanted);
  CHECK(got.is_cuda());
  CHECK(torch::allclose(got.cpu(), wanted, /*rtol=*/1e-6, /*atol=*/1e-9));
}

TEST_CASE("an update on a device has the same losses, priorities and values as one on the CPU", "[cuda]") {
  if (!HasCuda()) {
    return;
  }
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const TensorBatch batch = InFloat64(PlayedBatch(subject, experiment));
    Parts parts(subject, experiment);
    Parts there(subject, experiment, torch::kCUDA);
    CheckClose("first values", ValuesOf(there.plan.algorithm, *there.model),
               ValuesOf(parts.plan.algorithm, *parts.model));
    LocalStepper stepper;
    StillNoise noise;
    StillNoise noise_there(torch::kCUDA);
    const Parts::Result wanted = ValueOf(parts.Update(batch, &stepper, &noise));
    const Parts::Result got = ValueOf(there.Update(OnCuda(batch), &stepper, &noise_there));
    REQUIRE(got.losses.size() == wanted.losses.size());
    for (size_t i = 0; i < got.losses.size(); ++i) {
      CheckClose(got.losses[i].first, got.losses[i].second, wanted.losses[i].second);
    }
    REQUIRE(got.priorities.defined() == wanted.priorities.defined());
    if (got.priorities.defined()) {
      CheckClose("priorities", got.priorities, wanted.priorities);
    }
    CheckClose("values", ValuesOf(there.plan.algorithm, *there.model), ValuesOf(parts.plan.algorithm, *parts.model));
  });
}

TEST_CASE("a trainee on a device draws its own numbers, stays finite and publishes what it has learned", "[cuda]") {
  if (!HasCuda()) {
    return;
  }
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment, torch::kCUDA);
    const torch::Tensor before = ValuesOf(trainee->plan().algorithm, trainee->model()).clone();
    LocalStepper stepper;
    int64_t steps = 0;
    for (const TensorBatch& batch : PlayedBatches(subject, experiment, 4)) {
      const UpdateResult result = ValueOf(trainee->Update(OnCuda(batch), {0, ++steps, steps}, &stepper));
      for (const auto& [name, value] : result.metrics) {
        INFO(name);
        CHECK(torch::isfinite(value).all().item<bool>());
      }
    }
    CHECK(!torch::equal(ValuesOf(trainee->plan().algorithm, trainee->model()), before));
    REQUIRE_OK(NewTrainee(subject, experiment)->LoadPublished(ValueOf(trainee->Publish())));
  });
}

}  // namespace
}  // namespace waggle::testing
