#include "common/hub_client/pool_convert.h"

#include <functional>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

WorkOrder SomeOrder() {
  WorkOrder order;
  order.number = 17;
  order.experiment_id = "cartpole-x7k2p";
  order.role = Role::kReducer;
  order.index = 3;
  order.output_folder = "/data/experiments/cartpole-x7k2p/output";
  return order;
}

TEST_CASE("Every kind of worker survives the round trip, and other numbers are refused", "[unit]") {
  for (const WorkerKind kind : {WorkerKind::kActor, WorkerKind::kLearner, WorkerKind::kReplayServer,
                                WorkerKind::kEvaluator, WorkerKind::kGradient}) {
    CHECK(ValueOf(FromProto(ToProto(kind))) == kind);
  }
  CHECK_FALSE(FromProto(v1::WORKER_KIND_UNSPECIFIED).ok());
  CHECK_FALSE(FromProto(static_cast<v1::WorkerKind>(99)).ok());
}

TEST_CASE("An order survives the round trip", "[unit]") {
  CHECK(ValueOf(FromProto(ToProto(SomeOrder()))) == SomeOrder());
}

TEST_CASE("An order whose values can do harm is refused", "[unit]") {
  const auto refused = [](const std::function<void(v1::WorkOrder*)>& change) {
    v1::WorkOrder proto = ToProto(SomeOrder());
    change(&proto);
    return FromProto(proto).status().code() == absl::StatusCode::kInvalidArgument;
  };
  CHECK_FALSE(refused([](v1::WorkOrder*) {}));
  CHECK(refused([](v1::WorkOrder* order) { order->set_experiment_id(""); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_experiment_id(".."); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_experiment_id("a/b"); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_role(v1::ROLE_UNSPECIFIED); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_index(4'000'000'000); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_output_folder(std::string("/data\0/x", 8)); }));
  CHECK(refused([](v1::WorkOrder* order) { order->set_output_folder(std::string(10'000, 'x')); }));
}

TEST_CASE("A process's resources survive the round trip", "[unit]") {
  WorkerResources resources;
  resources.cores = 16;
  resources.memory_bytes = int64_t{1} << 37;
  resources.devices = {"cuda:0", "cuda:1"};
  resources.environments = {"CartPole-v1"};
  const WorkerResources back = ValueOf(FromProto(ToProto(resources)));
  CHECK(back.cores == resources.cores);
  CHECK(back.memory_bytes == resources.memory_bytes);
  CHECK(back.devices == resources.devices);
  CHECK(back.environments == resources.environments);
}

TEST_CASE("More resources than a machine can have are refused", "[unit]") {
  v1::Resources memory;
  memory.set_memory_bytes(~uint64_t{0});
  CHECK_FALSE(FromProto(memory).ok());
  v1::Resources devices;
  for (int i = 0; i < 100'000; ++i) {
    devices.add_devices("cuda:0");
  }
  CHECK_FALSE(FromProto(devices).ok());
  v1::Resources environments;
  environments.add_environments(std::string(1 << 20, 'x'));
  CHECK_FALSE(FromProto(environments).ok());
}

}  // namespace
}  // namespace waggle
