#include "param_server/experiment_service.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/base/thread.h"
#include "common/rpc/status_convert.h"
#include "common/rpc/unary_call.h"
#include "tests/param_server/hub_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {
namespace {

class Client {
 public:
  explicit Client(const HubServer& hub) : stub_(v1::ExperimentService::NewStub(hub.channel)) {}

  template <class Request, class Response>
  absl::Status Ask(grpc::Status (v1::ExperimentService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response) {
    return CallUnary(absl::Seconds(60), StopToken(),
                     [&](grpc::ClientContext* context) { return (stub_.get()->*method)(context, request, response); });
  }
  v1::ExperimentService::Stub* stub() { return stub_.get(); }

 private:
  const std::unique_ptr<v1::ExperimentService::Stub> stub_;
};

using Stub = v1::ExperimentService::Stub;

TEST_CASE("an experiment is submitted, listed, watched, stopped and deleted by its id", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_submitted_yaml("as written");
  submission.set_effective_yaml(
      "experiment: {name: x, seed: 7}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  submission.set_priority(-3);
  v1::SubmitResponse submitted;
  REQUIRE_OK(client.Ask(&Stub::Submit, submission, &submitted));

  v1::ListExperimentsResponse list;
  REQUIRE_OK(client.Ask(&Stub::List, v1::ListExperimentsRequest(), &list));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == submitted.id());
  CHECK(list.experiments(0).effective_yaml().empty());

  v1::GetExperimentRequest get;
  get.set_id(submitted.id());
  v1::ExperimentInfo info;
  REQUIRE_OK(client.Ask(&Stub::Get, get, &info));
  CHECK(info.state() == v1::RUN_STATE_QUEUED);
  CHECK(info.seed() == 7);
  CHECK(info.priority() == -3);
  CHECK(info.algorithm() == "apex_dqn");
  CHECK(info.submitted_yaml() == "as written");
  CHECK_THAT(info.effective_yaml(), Catch::Contains("max_env_steps: 1\n"));
  CHECK(info.submitted_at_us() > 0);

  v1::WatchExperimentRequest watch;
  watch.set_id(submitted.id());
  grpc::ClientContext context;
  const auto stream = client.stub()->Watch(&context, watch);
  REQUIRE(stream->Read(&info));
  CHECK(info.state() == v1::RUN_STATE_QUEUED);
  v1::StopExperimentRequest stop;
  stop.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Stop, stop, &info));
  CHECK(info.state() == v1::RUN_STATE_STOPPED);
  REQUIRE(stream->Read(&info));
  CHECK(info.state() == v1::RUN_STATE_STOPPED);
  CHECK_FALSE(stream->Read(&info));  // It is over.
  CHECK(stream->Finish().ok());

  v1::EventsRequest ask_events;
  ask_events.set_id(submitted.id());
  v1::EventsResponse events;
  Eventually("that it was submitted, what it waited for, and that it was stopped", [&] {
    REQUIRE_OK(client.Ask(&Stub::Events, ask_events, &events));
    return events.events_size() == 3;
  });
  ask_events.set_after(events.events(0).number());
  REQUIRE_OK(client.Ask(&Stub::Events, ask_events, &events));
  CHECK(events.events_size() == 2);

  v1::ResumeExperimentRequest resume;
  resume.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Resume, resume, &info));
  CHECK(info.state() == v1::RUN_STATE_QUEUED);
  v1::DeleteExperimentRequest remove;
  remove.set_id(submitted.id());
  v1::DeleteExperimentResponse removed;
  CHECK(absl::IsFailedPrecondition(client.Ask(&Stub::Delete, remove, &removed)));
  REQUIRE_OK(client.Ask(&Stub::Stop, stop, &info));
  REQUIRE_OK(client.Ask(&Stub::Delete, remove, &removed));
  CHECK(absl::IsNotFound(client.Ask(&Stub::Get, get, &info)));
}

TEST_CASE("calls that wait for runs to close hold up no others", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::AttendRequest worker;
  worker.set_software_version(kVersion);
  worker.set_address("10.0.0.1:7001");
  worker.set_capacity(1);
  worker.mutable_resources()->add_environments("CartPole-v1");
  const auto pool = v1::PoolService::NewStub(hub.channel);
  const auto attend = [&](v1::WorkerKind kind) {
    worker.set_worker_id(absl::StrCat("worker-", kind));
    worker.set_kind(kind);
    v1::AttendResponse answer;
    REQUIRE_OK(CallUnary(absl::Seconds(60), StopToken(),
                         [&](grpc::ClientContext* context) { return pool->Attend(context, worker, &answer); }));
    return answer.orders_size();
  };
  v1::SubmitRequest submission;
  submission.set_effective_yaml(
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  v1::SubmitResponse submitted;
  REQUIRE_OK(client.Ask(&Stub::Submit, submission, &submitted));
  Eventually("an order", [&] {
    attend(v1::WORKER_KIND_LEARNER);
    attend(v1::WORKER_KIND_REPLAY_SERVER);
    return attend(v1::WORKER_KIND_ACTOR) == 1;
  });
  v1::StopExperimentRequest stop;
  stop.set_id(submitted.id());
  v1::ExperimentInfo info;
  REQUIRE_OK(client.Ask(&Stub::Stop, stop, &info));

  std::vector<Thread> deleting;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    deleting.emplace_back("deleting", [&] {
      v1::DeleteExperimentRequest remove;
      remove.set_id(submitted.id());
      v1::DeleteExperimentResponse removed;
      client.Ask(&Stub::Delete, remove, &removed).IgnoreError();
      ++answered;
    });
  }
  // As their server knows of them by now, in the order in which they came.
  v1::GetExperimentRequest get;
  get.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Get, get, &info));
  v1::EventsRequest ask_events;
  ask_events.set_id(submitted.id());
  v1::EventsResponse events;
  REQUIRE_OK(client.Ask(&Stub::Events, ask_events, &events));
  REQUIRE_OK(client.Ask(&Stub::Stop, stop, &info));
  CHECK(answered == 0);
  hub.host->BeginStop();
  deleting.clear();
  CHECK(answered == 8);
}

TEST_CASE("experiments are listed by page and by state", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    v1::SubmitRequest submission;
    submission.set_effective_yaml("algorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
    v1::SubmitResponse submitted;
    REQUIRE_OK(client.Ask(&Stub::Submit, submission, &submitted));
    ids.insert(ids.begin(), submitted.id());
  }
  v1::StopExperimentRequest stop;
  stop.set_id(ids[1]);
  v1::ExperimentInfo info;
  REQUIRE_OK(client.Ask(&Stub::Stop, stop, &info));

  v1::ListExperimentsRequest ask;
  ask.set_limit(2);
  v1::ListExperimentsResponse list;
  REQUIRE_OK(client.Ask(&Stub::List, ask, &list));
  REQUIRE(list.experiments_size() == 2);
  CHECK(list.experiments(0).id() == ids[0]);
  CHECK(list.experiments(1).id() == ids[1]);
  ask.set_page_token(list.next_page_token());
  REQUIRE_OK(client.Ask(&Stub::List, ask, &list));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == ids[2]);
  CHECK(list.next_page_token().empty());

  ask.Clear();
  ask.add_states(v1::RUN_STATE_STOPPED);
  REQUIRE_OK(client.Ask(&Stub::List, ask, &list));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == ids[1]);
  ask.add_states(static_cast<v1::RunState>(99));
  CHECK(absl::IsInvalidArgument(client.Ask(&Stub::List, ask, &list)));
  ask.Clear();
  ask.set_page_token("next");
  const absl::Status refused = client.Ask(&Stub::List, ask, &list);
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("\"next\""));
}

TEST_CASE("requests that cannot be are refused, each with its reason", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  v1::SubmitResponse submitted;
  submission.set_effective_yaml("algorithm: [");
  CHECK(absl::IsInvalidArgument(client.Ask(&Stub::Submit, submission, &submitted)));
  submission.set_effective_yaml(std::string(size_t{5} << 20, ' '));
  CHECK(absl::IsResourceExhausted(client.Ask(&Stub::Submit, submission, &submitted)));
  v1::WatchExperimentRequest watch;
  watch.set_id("nothing");
  grpc::ClientContext context;
  const auto stream = client.stub()->Watch(&context, watch);
  v1::ExperimentInfo info;
  CHECK_FALSE(stream->Read(&info));
  CHECK(stream->Finish().error_code() == grpc::StatusCode::NOT_FOUND);
  v1::PoolResponse pool;
  REQUIRE_OK(client.Ask(&Stub::Pool, v1::PoolRequest(), &pool));
  CHECK(pool.members_size() == 0);
}

}  // namespace
}  // namespace waggle::testing
