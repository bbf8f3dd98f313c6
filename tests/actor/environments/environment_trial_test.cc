#include "actor/environments/environment_trial.h"

#include "actor/environments/threaded_environments.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("A trial continues over the ends of episodes and measures its speed", "[unit]") {
  const auto environment =
      ValueOf(MakeLocalEnvironment(CountingEnvironment::Definition(3), EnvironmentOptions(), 2, Rng(1)));
  const EnvironmentTrial trial = ValueOf(TryEnvironment(environment.get(), 10, StopToken()));
  CHECK(trial.steps_per_second > 0);
  CHECK(trial.reset_seconds >= 0);
}

TEST_CASE("A trial returns the environment's error", "[unit]") {
  class Refusing : public VectorEnvironment {
   public:
    const EnvironmentSpec& spec() const override { return spec_; }
    int64_t lanes() const override { return 1; }
    absl::Status Start(absl::Span<const int64_t>) override { return Reset(); }
    absl::Status Reset() override { return absl::InternalError("no"); }
    absl::Status Send(absl::Span<const int64_t>, absl::Span<const void* const>) override { return Reset(); }
    absl::StatusOr<ReadyLanes> Recv(int64_t, const StopToken&) override { return Reset(); }

   private:
    const EnvironmentSpec spec_ = ValueOf(CountingEnvironment::Definition(3).spec(EnvironmentOptions()));
  };
  Refusing refusing;
  REQUIRE_CODE(TryEnvironment(&refusing, 1, StopToken()), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace waggle::testing
