#include "cli/run/resume_at_hub.h"

#include <string>
#include <vector>

#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

// A hub with one experiment.
class Hub {
 public:
  absl::StatusOr<std::string> Resume(const std::vector<std::pair<std::string, std::string>>& limits = {}) {
    return ResumeAtHub(ExperimentClient(services.address()), limits);
  }
  v1::ExperimentInfo* experiment() { return &services.experiments.experiments[0]; }
  const std::vector<std::string>& changes() const { return services.experiments.changes; }

  FakeServices services{FakeServices::Which::kHub};
};

TEST_CASE("An interrupted run goes on by itself", "[grpc]") {
  Hub hub;
  CHECK(ValueOf(hub.Resume()) == "pole-x7k2q");
  CHECK(hub.changes().empty());
}

TEST_CASE("A run that was stopped is resumed, and one that runs is stopped first if its limits change", "[grpc]") {
  Hub hub;
  CHECK(ValueOf(hub.Resume({{"stop.max_env_steps", "2000"}})) == "pole-x7k2q");
  CHECK(hub.changes() == std::vector<std::string>{"stop pole-x7k2q", "resume stop.max_env_steps=2000 pole-x7k2q"});
  hub.experiment()->set_state(v1::RUN_STATE_FAILED);
  CHECK(ValueOf(hub.Resume()) == "pole-x7k2q");
  CHECK(hub.changes().back() == "resume pole-x7k2q");
  CHECK(hub.changes().size() == 3);
}

TEST_CASE("A hub with none or several experiments is refused", "[grpc]") {
  Hub hub;
  hub.services.experiments.experiments.push_back(testing::RunningExperiment("pole-2"));
  CHECK(absl::IsFailedPrecondition(hub.Resume().status()));
  hub.services.experiments.experiments.clear();
  CHECK(absl::IsFailedPrecondition(hub.Resume().status()));
}

}  // namespace
}  // namespace waggle
