#include "actor/environments/rpc/rpc_environments.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "common/base/threads/thread.h"
#include "tests/actor/environments/rpc/scripted_server.h"
#include "tests/actor/environments/rpc/served.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

using testing::BuiltIn;
using testing::LanesAt;
using testing::ManyLeaves;
using testing::ScriptedServer;
using testing::Served;
using testing::ValueOf;
using Exchange = ScriptedServer::Exchange;

std::unique_ptr<RpcEnvironments> Open(const RpcEnvironmentsOptions& options) {
  return ValueOf(RpcEnvironments::Create(options, StopToken()));
}

// Takes the action 1 in each of the lanes.
absl::Status Go(RpcEnvironments* environments, absl::Span<const int64_t> lanes) {
  const std::vector<int64_t> go(lanes.size(), 1);
  const void* const actions[] = {go.data()};
  return environments->Send(lanes, actions);
}

// Steps the ready lanes until there is an error, at most `steps` times, and returns it.
absl::Status StepUntilError(RpcEnvironments* environments, int steps) {
  absl::Status status;
  for (int step = 0; step < steps && status.ok(); ++step) {
    const absl::StatusOr<ReadyLanes> ready = environments->Recv(1, StopToken());
    status = ready.ok() ? Go(environments, ready->lanes) : ready.status();
  }
  return status;
}

// Checks rows of ManyLeaves against its definition, and chooses random actions.
class ManyLeavesDriver {
 public:
  explicit ManyLeavesDriver(RpcEnvironments* environments)
      : environments_(environments), lanes_(static_cast<size_t>(environments->lanes())) {}

  ReadyLanes Receive(int64_t at_least) {
    const ReadyLanes ready = ValueOf(environments_->Recv(at_least, StopToken()));
    REQUIRE(static_cast<int64_t>(ready.lanes.size()) >= at_least);
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      Check(ready, row);
    }
    return ready;
  }

  void Send(absl::Span<const int64_t> lanes) {
    std::vector<int64_t> moves;
    std::vector<float> turns;
    for (const int64_t lane : lanes) {
      Lane& own = lanes_[static_cast<size_t>(lane)];
      const int64_t illegal = own.step % 7;
      do {
        own.move[0] = static_cast<int64_t>(rng_.UniformInt(3));
      } while (own.move[0] == illegal);
      do {
        own.move[1] = static_cast<int64_t>(rng_.UniformInt(4));
      } while (3 + own.move[1] == illegal);
      own.turn = static_cast<float>(rng_.Uniform(-1, 1));
      moves.insert(moves.end(), {own.move[0], own.move[1]});
      turns.push_back(own.turn);
    }
    const void* const actions[] = {moves.data(), turns.data()};
    REQUIRE_OK(environments_->Send(lanes, actions));
  }

  int64_t episodes() const { return episodes_; }

 private:
  struct Lane {
    int32_t type = -1;
    int64_t step = 0;
    int64_t move[2] = {0, 0};
    float turn = 0;
  };

  void Check(const ReadyLanes& ready, size_t row) {
    Lane& lane = lanes_[static_cast<size_t>(ready.lanes[row])];
    const bool begins = lane.type == -1 || lane.type == 2;
    lane.step = begins ? 0 : lane.step + 1;
    lane.type = ready.step_types[row];
    CHECK((lane.type == 0) == begins);
    CHECK((ready.first[row] != 0) == begins);
    CHECK(ready.discounts[row] == (lane.type == 1 ? 1 : 0));
    episodes_ += lane.type == 2 ? 1 : 0;
    // action_mask/move, observation/camera and observation/place.
    const auto* const mask = static_cast<const uint8_t*>(ready.observations[0]) + 7 * row;
    const auto* const camera = static_cast<const uint8_t*>(ready.observations[1]) + 6 * row;
    const auto* const place = static_cast<const float*>(ready.observations[2]) + 2 * row;
    CHECK(place[1] == static_cast<float>(lane.step));
    for (int64_t i = 0; i < 6; ++i) {
      CHECK(camera[i] == (6 * lane.step + i + static_cast<int64_t>(place[0])) % 256);
    }
    for (int64_t i = 0; i < 7; ++i) {
      CHECK((mask[i] != 0) == (i != lane.step % 7));
    }
    const float* const rewards = ready.rewards[0] + 2 * row;
    if (begins) {
      CHECK(rewards[0] == 0);
      CHECK(rewards[1] == 0);
    } else {
      CHECK(rewards[0] == static_cast<float>(10 * (lane.step - 1) + lane.move[0] + 100 * lane.move[1]));
      CHECK(rewards[1] == Approx(-2 + 8 * (lane.turn + 1) / 2).margin(1e-5));
    }
  }

  RpcEnvironments* const environments_;
  std::vector<Lane> lanes_;
  Rng rng_{11};
  int64_t episodes_ = 0;
};

TEST_CASE("Rows of a server's lanes equal those of its environment", "[grpc]") {
  const Served served(ManyLeaves::Definition());
  const auto [batch, in_order, at_least] =
      GENERATE(std::tuple(0, false, 1), std::tuple(0, true, 7), std::tuple(3, false, 1), std::tuple(3, true, 7));
  RpcEnvironmentsOptions options = LanesAt(served.address(), 7);
  options.batch = batch;
  options.in_order = in_order;
  const auto environments = Open(options);
  CHECK(environments->lanes_step_together() == (batch > 0));
  REQUIRE_OK(environments->Reset());
  ManyLeavesDriver driver(environments.get());
  while (driver.episodes() < 200) {
    const ReadyLanes ready = driver.Receive(at_least);
    CHECK((!in_order || std::is_sorted(ready.lanes.begin(), ready.lanes.end())));
    driver.Send(ready.lanes);
  }
  CHECK(environments->health().processes == (batch == 0 ? 7 : 3));
  CHECK(environments->health().restarts == 0);
}

TEST_CASE("The same seed gives the same rows", "[grpc]") {
  const Served served(BuiltIn("CartPole-v1"));
  const auto rows = [&](uint64_t seed, bool world) {
    RpcEnvironmentsOptions options = LanesAt(served.address(), 4);
    options.in_order = true;
    options.seed = seed;
    (world ? options.seeds_world : options.seeds_join) = true;
    const auto environments = Open(options);
    REQUIRE_OK(environments->Reset());
    std::vector<float> shown;
    for (int step = 0; step < 50; ++step) {
      const ReadyLanes ready = ValueOf(environments->Recv(4, StopToken()));
      const auto* const observations = static_cast<const float*>(ready.observations[0]);
      shown.insert(shown.end(), observations, observations + 16);
      const std::vector<int64_t> actions = {0, 1, 1, 0};
      const void* const arrays[] = {actions.data()};
      REQUIRE_OK(environments->Send(ready.lanes, arrays));
    }
    return shown;
  };
  CHECK(rows(5, false) == rows(5, false));
  CHECK(rows(5, true) == rows(5, true));
  CHECK(rows(5, false) != rows(6, false));
}

TEST_CASE("Lanes are spread over servers, and worlds are destroyed at the end", "[grpc]") {
  Served first(BuiltIn("CartPole-v1"));
  Served second(BuiltIn("CartPole-v1"));
  RpcEnvironmentsOptions options = LanesAt(first.address(), 5);
  options.servers.push_back(LanesAt(second.address(), 1).servers[0]);
  {
    const auto environments = Open(options);
    REQUIRE_OK(first.worlds().Interrupt("world-3", nullptr));
    REQUIRE_OK(second.worlds().Interrupt("world-2", nullptr));
  }
  for (Served* const server : {&first, &second}) {
    REQUIRE_CODE(server->worlds().Interrupt("world-1", nullptr), absl::StatusCode::kNotFound);
    REQUIRE_CODE(server->worlds().Interrupt("world-2", nullptr), absl::StatusCode::kNotFound);
  }
  options.session.creates_world = false;  // Joins the world "".
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  REQUIRE_OK(environments->Recv(5, StopToken()));
  REQUIRE_CODE(first.worlds().Interrupt("world-4", nullptr), absl::StatusCode::kNotFound);
}

TEST_CASE("A reset begins episodes, even if others are under way", "[grpc]") {
  const ScriptedServer server([](Exchange*) {});
  const auto environments = Open(LanesAt(server.address(), 2));
  for (int round = 0; round < 20; ++round) {
    REQUIRE_OK(environments->Reset());
    ReadyLanes ready = ValueOf(environments->Recv(2, StopToken()));
    REQUIRE(ready.lanes.size() == 2);
    for (int step = 0; step < round % 7; ++step) {
      for (size_t row = 0; row < 2; ++row) {
        CHECK(ready.step_types[row] == (step == 0 ? 0 : step % 6 == 5 ? 2 : 1));
        CHECK(static_cast<const float*>(ready.observations[0])[row] == static_cast<float>(step % 6));
      }
      REQUIRE_OK(Go(environments.get(), ready.lanes));
      ready = ValueOf(environments->Recv(2, StopToken()));
    }
    REQUIRE_OK(Go(environments.get(), ready.lanes));  // The next reset comes during this step.
  }
}

TEST_CASE("Lanes that are started after an episode's end need no reset", "[grpc]") {
  std::atomic<int> resets{0};
  const ScriptedServer server([&resets](Exchange* exchange) { resets += exchange->request.has_reset() ? 1 : 0; });
  const auto environments = Open(LanesAt(server.address(), 1));
  const int64_t lane = 0;
  for (int episode = 0; episode < 3; ++episode) {
    REQUIRE_OK(environments->Start({&lane, 1}));
    ReadyLanes ready = ValueOf(environments->Recv(1, StopToken()));
    CHECK(ready.step_types[0] == 0);
    while (ready.step_types[0] != 2) {
      REQUIRE_OK(Go(environments.get(), ready.lanes));
      ready = ValueOf(environments->Recv(1, StopToken()));
    }
  }
  CHECK(resets == 0);
}

// Steps one lane `steps` times. Returns the step types.
std::string TypesOf(RpcEnvironments* environments, int steps, std::vector<float>* places = nullptr) {
  std::string types;
  REQUIRE_OK(environments->Reset());
  for (int step = 0; step < steps; ++step) {
    const ReadyLanes ready = ValueOf(environments->Recv(1, StopToken()));
    types += "FML"[ready.step_types[0]];
    if (ready.step_types[0] == 2) {
      types += ready.discounts[0] == 0 ? '0' : '1';
    }
    if (places != nullptr) {
      places->push_back(*static_cast<const float*>(ready.observations[0]));
    }
    REQUIRE_OK(Go(environments, ready.lanes));
  }
  return types;
}

TEST_CASE("A terminated sequence has a discount of 0, and an interrupted one of 1", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) {
    if (exchange->response.step().state() == dm::TERMINATED && exchange->steps > 6) {
      exchange->response.mutable_step()->set_state(dm::INTERRUPTED);
    }
  });
  CHECK(TypesOf(Open(LanesAt(server.address(), 1)).get(), 13) == "FMMMML0FMMMML1F");
}

TEST_CASE("A server's own discount is used", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) {
    if (exchange->response.has_join_world()) {
      dm::TensorSpec& spec = (*exchange->response.mutable_join_world()->mutable_specs()->mutable_observations())[100];
      spec.set_name("discount");
      spec.set_dtype(dm::DOUBLE);
    } else if (exchange->response.has_step()) {
      (*exchange->response.mutable_step()->mutable_observations())[100].mutable_doubles()->add_array(0.5);
    }
  });
  const auto environments = Open(LanesAt(server.address(), 1));
  REQUIRE_OK(environments->Reset());
  CHECK(ValueOf(environments->Recv(1, StopToken())).discounts[0] == 0);
  const int64_t lane = 0;
  REQUIRE_OK(Go(environments.get(), {&lane, 1}));
  CHECK(ValueOf(environments->Recv(1, StopToken())).discounts[0] == 0.5F);
}

// A change to one answer of a server, and the words of its error.
struct Fault {
  const char* said;
  std::function<void(Exchange*)> trick;  // Applied to the fourth step of the first stream.
};

TEST_CASE("A wrong answer truncates the episode, and the stream is reopened", "[grpc]") {
  const auto place = [](Exchange* exchange) -> dm::Tensor& {
    return (*exchange->response.mutable_step()->mutable_observations())[ScriptedServer::kPlace];
  };
  const std::vector<Fault> faults = {
      {"has ended the stream", [](Exchange* exchange) { exchange->peer->Close(absl::OkStatus()); }},
      {"out of coffee", [](Exchange* exchange) { exchange->peer->Close(absl::InternalError("out of coffee")); }},
      {"FAILED_PRECONDITION: no license",
       [](Exchange* exchange) { exchange->peer->Close(absl::FailedPreconditionError("no license")); }},
      {"CANCELLED", [](Exchange* exchange) { exchange->peer->Close(absl::CancelledError("away")); }},
      {"INTERNAL: no such thing  [2J",
       [](Exchange* exchange) {
         exchange->response.mutable_error()->set_code(13);
         exchange->response.mutable_error()->set_message("no such thing\n\x1b[2J");
       }},
      {"UNKNOWN", [](Exchange* exchange) { exchange->response.mutable_error()->set_code(-5); }},
      {"place: got a number that is not finite",
       [&](Exchange* exchange) { place(exchange).mutable_floats()->set_array(0, NAN); }},
      {"reward: got a number that is not finite",
       [](Exchange* exchange) {
         (*exchange->response.mutable_step()->mutable_observations())[ScriptedServer::kReward]
             .mutable_floats()
             ->set_array(0, INFINITY);
       }},
      {"place: got the shape [1]", [&](Exchange* exchange) { place(exchange).add_shape(1); }},
      {"place: got 3 elements",
       [&](Exchange* exchange) {
         place(exchange).mutable_floats()->add_array(1);
         place(exchange).mutable_floats()->add_array(1);
       }},
      {"place: got elements of type DOUBLE",
       [&](Exchange* exchange) { place(exchange).mutable_doubles()->add_array(1); }},
      {"place: is missing", [](Exchange* exchange) { exchange->response.mutable_step()->clear_observations(); }},
      {"state: got 0", [](Exchange* exchange) { exchange->response.mutable_step()->clear_state(); }},
      {"wanted 3, that of the request", [](Exchange* exchange) { exchange->response.mutable_leave_world(); }},
      {"wanted 3, that of the request", [](Exchange* exchange) { exchange->response.Clear(); }},
      {"bytes; wanted at most",
       [](Exchange* exchange) { exchange->response.mutable_error()->set_message(std::string(1'000'000, 'x')); }},
      {"no answer within", [](Exchange* exchange) { exchange->is_answered = false; }},
  };
  for (const Fault& fault : faults) {
    INFO(fault.said);
    const ScriptedServer server([&fault](Exchange* exchange) {
      if (exchange->stream == 0 && exchange->request.has_step() && exchange->steps == 3) {
        fault.trick(exchange);
      }
    });
    RpcEnvironmentsOptions options = LanesAt(server.address(), 1);
    if (std::string(fault.said) == "no answer within") {
      options.answer_timeout = absl::Milliseconds(200);
    }
    const auto environments = Open(options);
    std::vector<float> places;
    const std::string types = TypesOf(environments.get(), 11, &places);
    CHECK(types == "FMML1FMMMML0F");
    CHECK(places == std::vector<float>{0, 1, 2, 2, 0, 1, 2, 3, 4, 5, 0});
    CHECK(environments->health().restarts == 1);
    CHECK(environments->health().broken_episodes == 1);
    CHECK_THAT(environments->health().last_error, Catch::Contains(fault.said));
    CHECK_THAT(environments->health().last_error, Catch::StartsWith(server.address()));
    CHECK(environments->health().last_error.size() < 1000);
    CHECK(environments->health().last_error.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("A server that fails repeatedly ends the run with its error", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) {
    if (exchange->request.has_step() && exchange->steps == 3) {
      exchange->response.mutable_error()->set_message("the engine is broken");
    }
  });
  RpcEnvironmentsOptions options = LanesAt(server.address(), 1);
  options.restarts.max_failures = 4;
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  const absl::Status status = StepUntilError(environments.get(), 100);
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(status.message()), Catch::Contains("the engine is broken"));
  CHECK(server.streams() == 4);
}

TEST_CASE("An environment that has changed after a reopening or a reset is refused", "[grpc]") {
  const bool by_reset = GENERATE(false, true);
  const ScriptedServer server([by_reset](Exchange* exchange) {
    dm::EnvironmentResponse& response = exchange->response;
    if (by_reset ? response.has_reset() : response.has_join_world() && exchange->stream > 0) {
      dm::ActionObservationSpecs* const specs =
          by_reset ? response.mutable_reset()->mutable_specs() : response.mutable_join_world()->mutable_specs();
      (*specs->mutable_observations())[ScriptedServer::kPlace].set_name("another");
    } else if (!by_reset && exchange->request.has_step() && exchange->steps == 3) {
      exchange->peer->Close(absl::UnavailableError("away"));
    }
  });
  const auto environments = Open(LanesAt(server.address(), 1));
  REQUIRE_OK(environments->Reset());
  if (by_reset) {
    REQUIRE_OK(StepUntilError(environments.get(), 3));
    REQUIRE_OK(environments->Reset());
  }
  const absl::Status status = StepUntilError(environments.get(), 10);
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(status.message()), Catch::Contains("observation/another"));
}

TEST_CASE("Lanes continue while another lane's stream is lost", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) {
    exchange->is_answered = exchange->stream != 1 || !exchange->request.has_step() || exchange->steps < 3;
  });
  RpcEnvironmentsOptions options = LanesAt(server.address(), 3);
  options.answer_timeout = absl::Seconds(1);
  options.restarts.first_retry = absl::Milliseconds(100);
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  std::vector<int> rows(3);
  while (environments->health().restarts == 0 || *std::min_element(rows.begin(), rows.end()) < 20) {
    const ReadyLanes ready = ValueOf(environments->Recv(1, StopToken()));
    for (const int64_t lane : ready.lanes) {
      ++rows[static_cast<size_t>(lane)];
    }
    REQUIRE_OK(Go(environments.get(), ready.lanes));
  }
  CHECK(environments->health().broken_episodes == 1);
  CHECK(rows[0] > rows[1]);
}

TEST_CASE("A batch whose stream is lost ends all of its episodes and begins them together", "[grpc]") {
  auto served = std::make_unique<Served>(ManyLeaves::Definition());
  const std::string address = served->address();
  RpcEnvironmentsOptions options = LanesAt(address, 4);
  options.batch = 4;
  options.restarts.max_failures = 1000;
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  int64_t begun = 0;
  for (int step = 0; step < 40 || begun < 4; ++step) {
    const ReadyLanes ready = ValueOf(environments->Recv(4, StopToken()));
    const bool is_lost = environments->health().broken_episodes > 0;
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      begun += is_lost && ready.first[row] != 0 ? 1 : 0;
    }
    if (step == 10) {
      served.reset();
      served = std::make_unique<Served>(ManyLeaves::Definition(), EnvironmentOptions(), int64_t{1} << 30, address);
    }
    std::vector<int64_t> moves;
    const auto* const masks = static_cast<const uint8_t*>(ready.observations[0]);
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      moves.insert(moves.end(), {masks[7 * row] != 0 ? 0 : 1, masks[7 * row + 3] != 0 ? 0 : 1});
    }
    const std::vector<float> turns(ready.lanes.size());
    const void* const actions[] = {moves.data(), turns.data()};
    REQUIRE_OK(environments->Send(ready.lanes, actions));
  }
  CHECK(environments->health().restarts > 0);
}

// Makes a scripted server's answer that of a batch of four lanes in step.
void AnswerAsFour(Exchange* exchange) {
  dm::EnvironmentResponse& response = exchange->response;
  constexpr uint64_t kStepType = 11;
  if (response.has_join_world()) {
    dm::ActionObservationSpecs* const specs = response.mutable_join_world()->mutable_specs();
    dm::TensorSpec& step_type = (*specs->mutable_observations())[kStepType];
    step_type.set_name(kStepTypeName);
    step_type.set_dtype(dm::INT32);
    for (auto* const tensors : {specs->mutable_observations(), specs->mutable_actions()}) {
      for (auto& [uid, spec] : *tensors) {
        spec.add_shape(4);
      }
    }
  } else if (response.has_step()) {
    auto& observations = *response.mutable_step()->mutable_observations();
    const float place = observations[ScriptedServer::kPlace].floats().array(0);
    for (auto& [uid, tensor] : observations) {
      tensor.add_shape(4);
      tensor.mutable_floats()->mutable_array()->Resize(4, tensor.floats().array(0));
    }
    dm::Tensor& step_type = observations[kStepType];
    step_type.add_shape(4);
    step_type.mutable_int32s()->mutable_array()->Resize(4, place == 0 ? 0 : place == ScriptedServer::kLength ? 2 : 1);
    response.mutable_step()->set_state(dm::RUNNING);
  }
}

TEST_CASE("A batch with a wrong row truncates all of its episodes at their previous rows", "[grpc]") {
  const int64_t wrong_step = GENERATE(0, 3);
  const ScriptedServer server([wrong_step](Exchange* exchange) {
    AnswerAsFour(exchange);
    if (exchange->stream == 0 && exchange->response.has_step() && exchange->steps == wrong_step) {
      dm::Tensor& place = (*exchange->response.mutable_step()->mutable_observations())[ScriptedServer::kPlace];
      place.mutable_floats()->set_array(2, NAN);
    }
  });
  RpcEnvironmentsOptions options = LanesAt(server.address(), 4);
  options.batch = 4;
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  std::vector<std::string> types(4);
  std::vector<std::vector<float>> places(4);
  for (int step = 0; step < 6; ++step) {
    const ReadyLanes ready = ValueOf(environments->Recv(4, StopToken()));
    for (size_t row = 0; row < 4; ++row) {
      const auto lane = static_cast<size_t>(ready.lanes[row]);
      types[lane] += "FML"[ready.step_types[row]];
      types[lane] += ready.step_types[row] != 2 ? "" : ready.discounts[row] == 1 ? "1" : "0";
      places[lane].push_back(static_cast<const float*>(ready.observations[0])[row]);
    }
    REQUIRE_OK(Go(environments.get(), ready.lanes));
  }
  for (size_t lane = 0; lane < 4; ++lane) {
    CHECK(types[lane] == (wrong_step == 0 ? "FMMMML1" : "FMML1FM"));
    CHECK(places[lane] ==
          (wrong_step == 0 ? std::vector<float>{0, 1, 2, 3, 4, 5} : std::vector<float>{0, 1, 2, 2, 0, 1}));
  }
  CHECK(environments->health().broken_episodes == (wrong_step == 0 ? 0 : 4));
  CHECK(environments->health().restarts == 1);
}

TEST_CASE("A reset after a final failure begins episodes", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) {
    if (exchange->stream == 0 && exchange->request.has_step() && exchange->steps == 3) {
      exchange->response.mutable_error();
    }
  });
  RpcEnvironmentsOptions options = LanesAt(server.address(), 1);
  options.restarts.max_failures = 1;
  const auto environments = Open(options);
  REQUIRE_OK(environments->Reset());
  REQUIRE_OK(StepUntilError(environments.get(), 3));
  REQUIRE_CODE(environments->Recv(1, StopToken()), absl::StatusCode::kFailedPrecondition);
  CHECK(TypesOf(environments.get(), 7) == "FMMMML0F");
}

TEST_CASE("A world that was created and could not be joined is destroyed", "[grpc]") {
  const bool is_refused = GENERATE(false, true);
  std::atomic<int> destroyed{0};
  const ScriptedServer server([&](Exchange* exchange) {
    if (exchange->request.has_destroy_world() && exchange->request.destroy_world().world_name() == "world") {
      ++destroyed;
    } else if (is_refused && exchange->request.has_join_world()) {
      exchange->response.mutable_error()->set_message("it is full");
    } else if (exchange->request.has_join_world() && exchange->stream == 0) {
      exchange->peer->Close(absl::UnavailableError("away"));
    }
  });
  const auto opened = RpcEnvironments::Create(LanesAt(server.address(), 1), StopToken());
  CHECK(opened.ok() == !is_refused);
  CHECK(destroyed == 1);
}

TEST_CASE("An environment that cannot be opened is an error at once", "[grpc]") {
  const auto refusal = [](const std::function<void(Exchange*)>& trick, absl::Duration timeout = absl::Minutes(1)) {
    const ScriptedServer server(trick);
    RpcEnvironmentsOptions options = LanesAt(server.address(), 1);
    options.open_timeout = timeout;
    const auto opened = RpcEnvironments::Create(options, StopToken());
    REQUIRE_FALSE(opened.ok());
    CHECK_THAT(std::string(opened.status().message()), Catch::StartsWith(server.address()));
    return opened.status();
  };
  const absl::Status world = refusal([](Exchange* exchange) {
    if (exchange->request.has_create_world()) {
      exchange->response.mutable_error()->set_code(13);
      exchange->response.mutable_error()->set_message("needs the setting \"level\"");
    }
  });
  REQUIRE_CODE(world, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(world.message()), Catch::Contains("needs the setting"));
  const absl::Status text = refusal([](Exchange* exchange) {
    if (exchange->response.has_join_world()) {
      (*exchange->response.mutable_join_world()->mutable_specs()->mutable_observations())[3].set_dtype(dm::STRING);
    }
  });
  REQUIRE_CODE(text, absl::StatusCode::kInvalidArgument);
  const absl::Status silent =
      refusal([](Exchange* exchange) { exchange->is_answered = false; }, absl::Milliseconds(200));
  REQUIRE_CODE(silent, absl::StatusCode::kDeadlineExceeded);
  CHECK_THAT(std::string(silent.message()), Catch::Contains("a worker for each stream"));

  RpcEnvironmentsOptions nobody = LanesAt("127.0.0.1:1", 1);
  nobody.open_patience = absl::Milliseconds(20);
  REQUIRE_CODE(RpcEnvironments::Create(nobody, StopToken()), absl::StatusCode::kUnavailable);
  const StopToken stopped;
  stopped.RequestStop();
  REQUIRE_CODE(RpcEnvironments::Create(nobody, stopped), absl::StatusCode::kCancelled);
  nobody.servers.clear();
  REQUIRE_CODE(RpcEnvironments::Create(nobody, StopToken()), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A server that starts a little later is waited for", "[grpc]") {
  std::string address;
  {
    const ScriptedServer server([](Exchange*) {});
    address = server.address();
  }
  std::unique_ptr<ScriptedServer> later;
  RpcEnvironmentsOptions options = LanesAt(address, 1);
  Thread starter("later", [&] {
    grpc::Channel* const channel = options.servers[0].channel.get();
    grpc_connectivity_state state = GRPC_CHANNEL_IDLE;
    while (state != GRPC_CHANNEL_TRANSIENT_FAILURE) {  // Until an attempt to connect has failed.
      channel->WaitForStateChange(state, gpr_inf_future(GPR_CLOCK_MONOTONIC));
      state = channel->GetState(/*try_to_connect=*/false);
    }
    later = std::make_unique<ScriptedServer>([](Exchange*) {}, address);
  });
  const auto environments = Open(options);
  CHECK(TypesOf(environments.get(), 3) == "FMM");
}

TEST_CASE("Waiting for a server ends with a stop", "[grpc]") {
  const ScriptedServer server([](Exchange* exchange) { exchange->is_answered = !exchange->request.has_step(); });
  const auto environments = Open(LanesAt(server.address(), 1));
  REQUIRE_OK(environments->Reset());
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(environments->Recv(1, stop), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
