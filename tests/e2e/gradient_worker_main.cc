// gradient_worker HUB: an actor of the pool that pushes gradients until it is stopped. Prints the number of applied
// gradients as it goes, and all counts in its last line.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "common/base/process/process.h"
#include "common/hub/pool_client.h"
#include "tests/param_server/gradients/pushing_actor.h"

namespace waggle::testing {
namespace {

constexpr int64_t kPushesALine = 20;

class PushingWork final : public PoolWork {
 public:
  explicit PushingWork(std::string hub_address) : hub_address_(std::move(hub_address)) {}

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<PushingActor> actor,
                            PushingActor::Join(HubOptionsOf(hub_address_, order, run_worker_id), stop));
    for (int64_t push = 1; !stop.StopRequested(); ++push) {
      actor->Push(stop).IgnoreError();
      if (push % kPushesALine == 0) {
        std::printf("applied %lld\n", static_cast<long long>(actor->sink->counts().applied));
        std::fflush(stdout);
      }
    }
    WAGGLE_RETURN_IF_ERROR(actor->sink->Flush(absl::Minutes(1), StopToken()));
    const GradientCounts counts = actor->sink->counts();
    std::printf("pushed %lld of which applied %lld refused %lld\n", static_cast<long long>(counts.pushed),
                static_cast<long long>(counts.applied), static_cast<long long>(counts.Refused()));
    return absl::OkStatus();
  }

 private:
  const std::string hub_address_;
};

absl::Status Work(const std::string& hub_address, const StopToken& stop) {
  PoolClientOptions options;
  options.hub_address = hub_address;
  options.kind = WorkerKind::kActor;
  options.resources.environments = {"CartPole-v1"};  // Enough for the hub.
  options.grace = absl::Minutes(1);
  PushingWork work(hub_address);
  return WorkForPool(options, &work, stop);
}

}  // namespace
}  // namespace waggle::testing

int main(int argc, char** argv) {
  return argc != 2 ? 2 : waggle::RunProcess("worker", waggle::LogLevel::kInfo, [argv](const waggle::StopToken& stop) {
    return waggle::testing::Work(argv[1], stop);
  });
}
