#include "common/hub/pool_convert.h"

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

TEST_CASE("Every kind of worker has its number, and other numbers are refused", "[unit]") {
  CHECK(ToProto(WorkerKind::kActor) == v1::WORKER_KIND_ACTOR);
  CHECK(ToProto(WorkerKind::kLearner) == v1::WORKER_KIND_LEARNER);
  CHECK(ToProto(WorkerKind::kReplayServer) == v1::WORKER_KIND_REPLAY_SERVER);
  CHECK(ToProto(WorkerKind::kEvaluator) == v1::WORKER_KIND_EVALUATOR);
  CHECK(ValueOf(FromProto(v1::WORKER_KIND_GRADIENT)) == WorkerKind::kGradient);
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

TEST_CASE("A process's resources are in its message, which is valid", "[unit]") {
  const v1::Resources proto = ToProto(WorkerResources{16, int64_t{1} << 37, {"cuda:0", "cuda:1"}, {"CartPole-v1"}});
  CHECK(proto.cores() == 16);
  CHECK(proto.memory_bytes() == uint64_t{1} << 37);
  CHECK(proto.devices_size() == 2);
  CHECK(proto.environments(0) == "CartPole-v1");
  REQUIRE_OK(Validate(proto));
}

TEST_CASE("More resources than a machine can have are refused", "[unit]") {
  v1::Resources memory;
  memory.set_memory_bytes(~uint64_t{0});
  CHECK_FALSE(Validate(memory).ok());
  v1::Resources devices;
  for (int i = 0; i < 100'000; ++i) {
    devices.add_devices("cuda:0");
  }
  CHECK_FALSE(Validate(devices).ok());
  v1::Resources environments;
  environments.add_environments(std::string(1 << 20, 'x'));
  CHECK_FALSE(Validate(environments).ok());
}

}  // namespace
}  // namespace waggle
