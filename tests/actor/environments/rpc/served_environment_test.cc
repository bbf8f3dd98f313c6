#include "actor/environments/rpc/served_environment.h"

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actor/environments/rpc/tensor_elements.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

using testing::ManyLeaves;
using testing::ValueOf;

EnvironmentDefinition BuiltIn(const std::string& name) {
  return *ValueOf(BuiltinEnvironments().Find(name));
}

std::unique_ptr<ServedEnvironment> Serve(const EnvironmentDefinition& definition, std::optional<int64_t> lanes = {},
                                         const EnvironmentOptions& options = {}) {
  return ValueOf(ServedEnvironment::Create(definition, options, lanes, Rng(3)));
}

uint64_t UidOf(const google::protobuf::Map<uint64_t, dm::TensorSpec>& specs, const std::string& name) {
  for (const auto& [uid, spec] : specs) {
    if (spec.name() == name) {
      return uid;
    }
  }
  return 0;
}

// A request for all observations, with an action of CartPole for each lane.
dm::StepRequest Push(const ServedEnvironment& served, const std::vector<int64_t>& actions) {
  dm::StepRequest request;
  for (const auto& [uid, spec] : served.specs().observations()) {
    request.add_requested_observations(uid);
  }
  dm::Tensor& tensor = (*request.mutable_actions())[1];
  *tensor.mutable_int64s()->mutable_array() = {actions.begin(), actions.end()};
  if (served.specs().actions().at(1).shape_size() > 0) {
    tensor.add_shape(static_cast<int32_t>(actions.size()));
  }
  return request;
}

dm::StepResponse Step(ServedEnvironment* served, const dm::StepRequest& request, bool interrupted = false) {
  dm::StepResponse response;
  REQUIRE_OK(served->Step(request, interrupted, &response));
  return response;
}

template <class T>
std::vector<T> Elements(const ServedEnvironment& served, const dm::StepResponse& response, const std::string& name,
                        DType dtype) {
  const dm::Tensor& tensor = response.observations().at(UidOf(served.specs().observations(), name));
  std::vector<T> elements(static_cast<size_t>(PayloadSize(tensor)));
  REQUIRE_OK(ReadElements(tensor, 0, PayloadSize(tensor), dtype, {}, elements.data()));
  return elements;
}

TEST_CASE("A sequence begins with any first actions, ends, and is followed by another", "[unit]") {
  const auto served = Serve(BuiltIn("CartPole-v1"));
  dm::StepRequest request = Push(*served, {77});
  dm::StepResponse response = Step(served.get(), request);
  CHECK(response.state() == dm::RUNNING);
  CHECK(Elements<float>(*served, response, "reward", DType::kFloat32) == std::vector<float>{0});
  request = Push(*served, {1});
  int steps = 0;
  while (response.state() == dm::RUNNING) {
    response = Step(served.get(), request);
    ++steps;
  }
  CHECK(response.state() == dm::TERMINATED);
  CHECK(steps > 5);
  CHECK(steps < 20);
  CHECK(Elements<float>(*served, response, "reward", DType::kFloat32) == std::vector<float>{1});
  CHECK(Step(served.get(), request).state() == dm::RUNNING);
}

TEST_CASE("A sequence that is cut off by its length or by another client is interrupted", "[unit]") {
  const auto pendulum = Serve(BuiltIn("Pendulum-v1"));
  dm::StepRequest request;
  dm::Tensor& torque = (*request.mutable_actions())[1];
  torque.add_shape(1);
  torque.mutable_floats()->add_array(0);
  Step(pendulum.get(), request);
  for (int step = 0; step < 199; ++step) {
    REQUIRE(Step(pendulum.get(), request).state() == dm::RUNNING);
  }
  CHECK(Step(pendulum.get(), request).state() == dm::INTERRUPTED);
  // A step that begins a sequence is not interrupted.
  CHECK(Step(pendulum.get(), request, /*interrupted=*/true).state() == dm::RUNNING);
  CHECK(Step(pendulum.get(), request, /*interrupted=*/true).state() == dm::INTERRUPTED);
  CHECK(Step(pendulum.get(), request).state() == dm::RUNNING);
  pendulum->EndSequence();
  CHECK(Step(pendulum.get(), dm::StepRequest()).state() == dm::RUNNING);
}

TEST_CASE("A wrong step is refused with the reason and changes nothing", "[unit]") {
  const auto served = Serve(BuiltIn("Pendulum-v1"));
  const auto reference = Serve(BuiltIn("Pendulum-v1"));
  dm::StepRequest right;
  right.add_requested_observations(1);
  dm::Tensor& torque = (*right.mutable_actions())[1];
  torque.add_shape(1);
  torque.mutable_floats()->add_array(2);
  Step(served.get(), right);
  Step(reference.get(), right);
  const auto refusal = [&](const std::function<void(dm::StepRequest*)>& change) {
    dm::StepRequest wrong = right;
    change(&wrong);
    dm::StepResponse response;
    const absl::Status refused = served->Step(wrong, /*interrupted=*/false, &response);
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK(Step(served.get(), right).SerializeAsString() == Step(reference.get(), right).SerializeAsString());
    return std::string(refused.message());
  };
  const auto action = [](dm::StepRequest* request) { return &(*request->mutable_actions())[1]; };
  CHECK_THAT(refusal([](auto* wrong) { wrong->add_requested_observations(9); }), Catch::Contains("got 9; wanted 1 to"));
  CHECK_THAT(refusal([](auto* wrong) { wrong->clear_actions(); }), Catch::Contains("action: is missing"));
  CHECK_THAT(refusal([](auto* wrong) { (*wrong->mutable_actions())[5]; }), Catch::Contains("got 5; wanted 1 to 1"));
  CHECK_THAT(refusal([&](auto* wrong) { action(wrong)->mutable_doubles()->add_array(0); }), Catch::Contains("DOUBLE"));
  CHECK_THAT(refusal([&](auto* wrong) { action(wrong)->add_shape(1); }), Catch::Contains("[1, 1]; wanted [1]"));
  CHECK_THAT(refusal([&](auto* wrong) { action(wrong)->mutable_floats()->set_array(0, 2.001F); }),
             Catch::Contains("2.001; wanted"));
  CHECK_THAT(refusal([&](auto* wrong) { action(wrong)->mutable_floats()->set_array(0, NAN); }), Catch::Contains("nan"));
}

TEST_CASE("Specs have names with dots and inclusive bounds", "[unit]") {
  const auto served = Serve(ManyLeaves::Definition());
  const auto& actions = served->specs().actions();
  const auto& observations = served->specs().observations();
  const dm::TensorSpec& move = actions.at(UidOf(actions, "action.move"));
  CHECK(move.dtype() == dm::INT64);
  CHECK(move.min().int64s().array(0) == 0);
  CHECK(std::vector<int64_t>(move.max().int64s().array().begin(), move.max().int64s().array().end()) ==
        std::vector<int64_t>{2, 3});
  CHECK(actions.at(UidOf(actions, "action.turn")).max().floats().array(0) == 6);
  CHECK(observations.at(UidOf(observations, "observation.camera")).dtype() == dm::UINT8);
  CHECK(observations.at(UidOf(observations, "action_mask.move")).dtype() == dm::BOOL);
  CHECK_FALSE(observations.at(UidOf(observations, "observation.place")).has_min());
  CHECK(observations.at(UidOf(observations, "reward")).shape(0) == 2);
  CHECK(UidOf(observations, "discount") == 0);
}

TEST_CASE("Lanes that are stepped together have the rows of lanes stepped alone", "[unit]") {
  const auto lanes = Serve(ManyLeaves::Definition(), 3);
  // Each lane's expected rows, from a local environment.
  Rng rng(3);
  std::vector<std::unique_ptr<ManyLeaves>> alone;
  for (int lane = 0; lane < 3; ++lane) {
    alone.push_back(std::make_unique<ManyLeaves>(rng.Next()));
  }
  std::vector<int32_t> types(3, 2);
  dm::StepRequest request;
  for (const auto& [uid, spec] : lanes->specs().observations()) {
    request.add_requested_observations(uid);
  }
  const auto& actions = lanes->specs().actions();
  dm::Tensor& move = (*request.mutable_actions())[UidOf(actions, "action.move")];
  InitTensor(dm::INT64, std::vector<int64_t>{3, 2}, &move);
  dm::Tensor& turn = (*request.mutable_actions())[UidOf(actions, "action.turn")];
  InitTensor(dm::FLOAT, std::vector<int64_t>{3, 1}, &turn);
  std::vector<std::vector<float>> places(3, std::vector<float>(2));  // {seed, step}
  std::vector<uint8_t> camera(6);
  std::vector<uint8_t> mask(7);
  for (int step = 0; step < 60; ++step) {
    std::vector<int64_t> moves;
    for (const std::vector<float>& place : places) {
      const int64_t illegal =
          static_cast<int64_t>(place[1]) % 7;  // The index among all choices, the first part's first.
      moves.insert(moves.end(), {illegal == 0 ? 1 : 0, illegal == 3 ? 1 : 0});
    }
    WriteElements(DType::kInt64, moves.data(), dm::INT64, 0, 6, {}, &move);
    const dm::StepResponse response = Step(lanes.get(), request);
    CHECK(response.state() == dm::RUNNING);
    std::vector<float> rewards(6);
    std::vector<float> discounts(3, 1);
    std::vector<float> shown;
    for (size_t lane = 0; lane < 3; ++lane) {
      void* const observations[] = {camera.data(), places[lane].data(), mask.data()};
      if (types[lane] == 2) {
        REQUIRE_OK(alone[lane]->Reset(observations));
        types[lane] = 0;
      } else {
        const float still = 0;
        const void* const own[] = {&moves[2 * lane], &still};
        types[lane] = ValueOf(alone[lane]->Step(own, observations, &rewards[2 * lane])).terminated ? 2 : 1;
      }
      discounts[lane] = types[lane] == 2 ? 0 : 1;
      shown.insert(shown.end(), places[lane].begin(), places[lane].end());
    }
    CHECK(Elements<int32_t>(*lanes, response, "step_type", DType::kInt32) == types);
    CHECK(Elements<float>(*lanes, response, "discount", DType::kFloat32) == discounts);
    CHECK(Elements<float>(*lanes, response, "reward", DType::kFloat32) == rewards);
    CHECK(Elements<float>(*lanes, response, "observation.place", DType::kFloat32) == shown);
  }
}

TEST_CASE("Interrupted lanes end, and lanes that have ended begin", "[unit]") {
  const auto served = Serve(BuiltIn("CartPole-v1"), 2);
  const auto types = [&](const dm::StepResponse& response) {
    return Elements<int32_t>(*served, response, "step_type", DType::kInt32);
  };
  const dm::StepRequest request = Push(*served, {0, 1});
  CHECK(types(Step(served.get(), request)) == std::vector<int32_t>{0, 0});
  CHECK(types(Step(served.get(), request)) == std::vector<int32_t>{1, 1});
  const dm::StepResponse cut = Step(served.get(), request, /*interrupted=*/true);
  CHECK(types(cut) == std::vector<int32_t>{2, 2});
  CHECK(Elements<float>(*served, cut, "discount", DType::kFloat32) == std::vector<float>{1, 1});
  CHECK(types(Step(served.get(), request)) == std::vector<int32_t>{0, 0});
}

TEST_CASE("Specs of many lanes have one bound if all bounds are equal, and are refused if they are too large",
          "[unit]") {
  EnvironmentOptions equal;
  equal.spec.observations[0].shape = {4};
  equal.spec.actions[0] = {std::string(kActionRoot), SpaceKind::kMultiDiscrete, "int64", {2}, {}, {}, {6, 6}};
  CHECK(Serve(BuiltIn("Null-v1"), 1000, equal)->specs().actions().at(1).max().int64s().array_size() == 1);
  CHECK(Serve(BuiltIn("Acrobot-v1"), 1000)->specs().observations().at(1).min().floats().array_size() == 6000);
  const auto refused = ServedEnvironment::Create(BuiltIn("Acrobot-v1"), EnvironmentOptions(), 30'000, Rng(1));
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.status().message()), Catch::StartsWith("lanes: "));
}

TEST_CASE("Lanes that do not fit into a message are refused before they are stepped", "[unit]") {
  EnvironmentOptions large;
  large.spec.observations[0].shape = {1024, 1024};
  const auto refused = ServedEnvironment::Create(BuiltIn("Null-v1"), large, 100, Rng(1));
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.status().message()), Catch::StartsWith("lanes: "));
  // They are refused before memory is taken, too.
  EnvironmentDefinition counted = BuiltIn("Null-v1");
  int created = 0;
  counted.create = [&created](const EnvironmentOptions&, uint64_t) {
    ++created;
    return absl::InternalError("nothing should have been made");
  };
  REQUIRE_CODE(ServedEnvironment::Create(counted, large, 65'536, Rng(1)), absl::StatusCode::kInvalidArgument);
  CHECK(created == 0);
  CHECK(ServedEnvironment::MemoryBytes(large.spec.Spec(), int64_t{1} << 50) >= int64_t{1} << 60);
}

}  // namespace
}  // namespace waggle
