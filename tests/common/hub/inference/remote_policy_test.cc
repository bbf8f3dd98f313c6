#include "common/hub/inference/remote_policy.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/thread.h"
#include "common/net/server.h"
#include "learner/inference/inference_service.h"
#include "tests/learner/inference/counting_policy.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::CountingBatcher;
using testing::ValueOf;
using testing::Weights;

constexpr uint64_t kHash = 0x1234;

struct Server {
  Server() { server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service})); }
  InferenceService service;
  std::unique_ptr<RpcServer> server;
};

RemotePolicyOptions Options(std::function<std::string()> address, int64_t index = 0) {
  RemotePolicyOptions options;
  options.address = std::move(address);
  options.worker_id = "actor-x";
  options.index = index;
  options.lanes = 2;
  options.environment = testing::CountingEnvironment();
  options.columns = {ArraySpec{"sum", DType::kFloat32, {}}};
  options.private_columns = {"version"};
  options.network_hash = kHash;
  return options;
}

// A step of both lanes.
struct Acted {
  absl::Status status;
  std::vector<int64_t> actions = {-1, -1};
  std::vector<float> sums = {0, 0};
  std::vector<float> versions = {0, 0};
};

Acted ActOnce(Policy* policy, bool first, float value = 2) {
  Acted acted;
  const std::vector<int64_t> slots = {0, 1};
  const std::vector<float> observation = {value, 1, value, 2};
  const std::vector<uint8_t> firsts(2, first ? 1 : 0);
  const std::vector<const void*> observations = {observation.data()};
  PolicyInput input;
  input.slots = slots;
  input.observations = observations;
  input.first = firsts.data();
  PolicyOutput output;
  output.actions = {acted.actions.data()};
  output.columns = {acted.sums.data()};
  output.private_values = acted.versions.data();
  acted.status = policy->Act(input, ActMode::kExplore, &output);
  return acted;
}

TEST_CASE("a remote policy's actions are those of the server's policy", "[grpc]") {
  Server server;
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(5));
  server.service.SetBatcher(counting.batcher, kHash);
  const StopToken stop;
  const auto policy = NewRemotePolicy(Options([&] { return server.server->address(); }), stop);
  CHECK_FALSE(policy->acted_version().has_value());
  CHECK(policy->columns()[0].name == "sum");
  for (const int64_t count : {1, 2, 3}) {
    const Acted acted = ActOnce(policy.get(), /*first=*/false);
    REQUIRE_OK(acted.status);
    CHECK(acted.actions == std::vector<int64_t>{count, count});
    CHECK(acted.sums == std::vector<float>{3, 4});
    CHECK(acted.versions == std::vector<float>{5, 5});
  }
  CHECK(*policy->acted_version() == ModelVersion{1, 5});
  CHECK(absl::IsFailedPrecondition(policy->LoadWeights(Weights(1))));
  server.service.SetBatcher(nullptr, 0);
}

TEST_CASE("an actor waits for an absent learner, goes on with its successor, and ends with a stop", "[grpc]") {
  const StopToken stop;
  std::atomic<int> asked{0};
  Mutex mutex;
  std::string address;                       // Guarded by mutex.
  auto server = std::make_unique<Server>();  // Computes no actions yet.
  const auto policy = NewRemotePolicy(Options([&] {
                                        ++asked;
                                        MutexLock lock(&mutex);
                                        return address;
                                      }),
                                      stop);
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  Acted acted;
  {
    Thread actor("actor", [&] { acted = ActOnce(policy.get(), /*first=*/true); });
    testing::Eventually("the actor waits", [&] { return asked > 0 && policy->waits().waiting; });
    {
      MutexLock lock(&mutex);
      address = server->server->address();
    }
    testing::Eventually("the actor tries again", [&] { return asked > 2; });
    server->service.SetBatcher(counting.batcher, kHash);
  }
  REQUIRE_OK(acted.status);
  CHECK(acted.actions == std::vector<int64_t>{1, 1});
  REQUIRE_OK(ActOnce(policy.get(), /*first=*/false).status);
  // Another learner, without memory of the lanes.
  CountingBatcher later;
  later.batcher->SetWeights(Weights(2));
  Server successor;
  successor.service.SetBatcher(later.batcher, kHash);
  {
    MutexLock lock(&mutex);
    address = successor.server->address();
  }
  server->service.SetBatcher(nullptr, 0);
  server.reset();
  acted = ActOnce(policy.get(), /*first=*/false);
  REQUIRE_OK(acted.status);
  CHECK(acted.actions == std::vector<int64_t>{1, 1});
  CHECK(*policy->acted_version() == ModelVersion{1, 2});
  // No learner computes actions until the end.
  successor.service.SetBatcher(nullptr, 0);
  {
    Thread actor("actor", [&] { acted = ActOnce(policy.get(), /*first=*/false); });
    testing::Eventually("the actor waits", [&] { return policy->waits().waiting; });
    stop.RequestStop();
  }
  CHECK(absl::IsCancelled(acted.status));
}

TEST_CASE("a request that does not fit the policy is refused for good", "[grpc]") {
  Server server;
  CountingBatcher counting;
  counting.batcher->SetWeights(Weights(1));
  server.service.SetBatcher(counting.batcher, kHash);
  const StopToken stop;
  const auto address = [&] { return server.server->address(); };
  const auto refusal = [&](const RemotePolicyOptions& options) {
    return ActOnce(NewRemotePolicy(options, stop).get(), true).status;
  };
  RemotePolicyOptions options = Options(address);
  options.network_hash = 0x77;
  CHECK(absl::IsFailedPrecondition(refusal(options)));
  options = Options(address);
  options.columns.clear();
  CHECK(absl::IsFailedPrecondition(refusal(options)));
  options = Options(address, /*index=*/3);
  CHECK(absl::IsResourceExhausted(refusal(options)));
  const auto policy = NewRemotePolicy(Options(address), stop);
  CHECK(absl::IsInvalidArgument(ActOnce(policy.get(), true, /*value=*/-1).status));
  // Other requests are still answered.
  REQUIRE_OK(ActOnce(NewRemotePolicy(Options(address, 1), stop).get(), true).status);
  server.service.SetBatcher(nullptr, 0);
}

}  // namespace
}  // namespace waggle
