#include "param_server/services/experiment_service.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/base/threads/thread.h"
#include "common/net/status_convert.h"
#include "common/net/unary_call.h"
#include "tests/param_server/hub_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {
namespace {

class Client {
 public:
  explicit Client(const HubServer& hub) : stub_(v1::ExperimentService::NewStub(hub.channel)) {}

  template <class Request, class Response>
  absl::StatusOr<Response> Ask(StubMethod<v1::ExperimentService::Stub, Request, Response> method,
                               const Request& request) {
    return CallUnary(stub_.get(), method, request, absl::Seconds(60));
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
  const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));

  const auto list = ValueOf(client.Ask(&Stub::List, v1::ListExperimentsRequest()));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == submitted.id());
  CHECK(list.experiments(0).effective_yaml().empty());

  v1::GetExperimentRequest get;
  get.set_id(submitted.id());
  auto info = ValueOf(client.Ask(&Stub::Get, get));
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
  info = ValueOf(client.Ask(&Stub::Stop, stop));
  CHECK(info.state() == v1::RUN_STATE_STOPPED);
  REQUIRE(stream->Read(&info));
  CHECK(info.state() == v1::RUN_STATE_STOPPED);
  CHECK_FALSE(stream->Read(&info));  // It is over.
  CHECK(stream->Finish().ok());

  v1::EventsRequest ask_events;
  ask_events.set_id(submitted.id());
  v1::EventsResponse events;
  Eventually("that it was submitted, what it waited for, and that it was stopped", [&] {
    events = ValueOf(client.Ask(&Stub::Events, ask_events));
    return events.events_size() == 3;
  });
  ask_events.set_after(events.events(0).number());
  events = ValueOf(client.Ask(&Stub::Events, ask_events));
  CHECK(events.events_size() == 2);

  v1::ResumeExperimentRequest resume;
  resume.set_id(submitted.id());
  info = ValueOf(client.Ask(&Stub::Resume, resume));
  CHECK(info.state() == v1::RUN_STATE_QUEUED);
  v1::DeleteExperimentRequest remove;
  remove.set_id(submitted.id());
  CHECK(absl::IsFailedPrecondition(client.Ask(&Stub::Delete, remove).status()));
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));
  REQUIRE_OK(client.Ask(&Stub::Delete, remove));
  CHECK(absl::IsNotFound(client.Ask(&Stub::Get, get).status()));
}

TEST_CASE("a population is submitted in one call, which answers with the ids of its members", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_effective_yaml(
      "experiment: {name: x, population: {size: 3, every: 9, mutate: {algorithm.optimizer.learning_rate: {}}}}\n"
      "algorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));
  REQUIRE(submitted.members_size() == 3);
  CHECK(submitted.id() == submitted.members(0));
  v1::GetExperimentRequest get;
  get.set_id(submitted.members(2));
  const auto info = ValueOf(client.Ask(&Stub::Get, get));
  CHECK(absl::StrCat(info.population(), "-2") == submitted.members(2));
  CHECK_THAT(info.effective_yaml(), Catch::Contains("size: 3\n"));

  submission.set_effective_yaml(
      "experiment: {population: {size: 1, every: 9, mutate: {algorithm.n_step: {}}}}\n"
      "algorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  CHECK(absl::IsInvalidArgument(client.Ask(&Stub::Submit, submission).status()));
  CHECK(ValueOf(client.Ask(&Stub::List, v1::ListExperimentsRequest())).experiments_size() == 3);
}

TEST_CASE("a group is submitted, listed in one line, found by the beginning of its id, and given priorities",
          "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  for (const char* const seed : {"4", "5"}) {
    v1::SubmitRequest::Member* const member = submission.add_members();
    member->set_effective_yaml(absl::StrCat("experiment: {name: pole, seed: ", seed,
                                            "}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n"));
    member->add_settings(absl::StrCat("experiment.seed=", seed));
  }
  submission.add_tags("paper");
  submission.set_owner("ada");
  const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));
  REQUIRE(submitted.members_size() == 2);
  CHECK(submitted.members(1) == submitted.group() + "-1");
  CHECK(submitted.warnings_size() == 1);  // The pool is empty.

  v1::ListExperimentsRequest ask;
  ask.set_fold_groups(true);
  ask.add_tags("paper");
  const auto list = ValueOf(client.Ask(&Stub::List, ask));
  CHECK(list.experiments().empty());
  REQUIRE(list.groups_size() == 1);
  CHECK(list.groups(0).members() == 2);
  ask.set_owner("bob");
  CHECK(ValueOf(client.Ask(&Stub::List, ask)).groups().empty());

  v1::ResolveRequest resolve;
  resolve.set_word("pole");
  CHECK(ValueOf(client.Ask(&Stub::Resolve, resolve)).ids_size() == 2);
  resolve.set_word("none");
  CHECK(absl::IsNotFound(client.Ask(&Stub::Resolve, resolve).status()));

  v1::SetPriorityRequest priority;
  priority.set_id(submitted.members(1));
  priority.set_priority(4);
  CHECK(ValueOf(client.Ask(&Stub::SetPriority, priority)).priority() == 4);

  v1::ResumeExperimentRequest resume;
  resume.set_id(submitted.members(1));
  CHECK(absl::IsFailedPrecondition(client.Ask(&Stub::Resume, resume).status()));
  v1::StopExperimentRequest stop;
  stop.set_id(submitted.members(1));
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));
  v1::SetNumbersRequest::Number* const limit = resume.add_limits();
  limit->set_key("stop.max_env_steps");
  limit->set_value("9");
  CHECK(ValueOf(client.Ask(&Stub::Resume, resume)).limits(0) == "stop.max_env_steps=9");
}

// A pool for one experiment attends until it has work.
void AttendUntilOrdered(const HubServer& hub) {
  v1::AttendRequest worker;
  worker.set_software_version(kVersion);
  worker.set_address("10.0.0.1:7001");
  worker.set_capacity(1);
  worker.mutable_resources()->add_environments("CartPole-v1");
  const auto pool = v1::PoolService::NewStub(hub.channel);
  const auto attend = [&](v1::WorkerKind kind) {
    worker.set_worker_id(absl::StrCat("worker-", kind));
    worker.set_kind(kind);
    return ValueOf(CallUnary(pool.get(), &v1::PoolService::Stub::Attend, worker, absl::Seconds(60))).orders_size();
  };
  Eventually("an order", [&] {
    attend(v1::WORKER_KIND_LEARNER);
    attend(v1::WORKER_KIND_REPLAY_SERVER);
    return attend(v1::WORKER_KIND_ACTOR) == 1;
  });
}

TEST_CASE("calls that wait for runs to close do not delay others", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_effective_yaml(
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));
  AttendUntilOrdered(hub);
  v1::StopExperimentRequest stop;
  stop.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));

  std::vector<Thread> deleting;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; ++i) {
    deleting.emplace_back("deleting", [&] {
      v1::DeleteExperimentRequest remove;
      remove.set_id(submitted.id());
      client.Ask(&Stub::Delete, remove).status().IgnoreError();
      ++answered;
    });
  }
  // The server has them by now, in the order of their arrival.
  v1::GetExperimentRequest get;
  get.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Get, get));
  v1::EventsRequest ask_events;
  ask_events.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Events, ask_events));
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));
  CHECK(answered == 0);
  hub.host->BeginStop();
  deleting.clear();
  CHECK(answered == 8);
}

TEST_CASE("numbers of a running experiment are set, and wrong ones are refused", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_effective_yaml(
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n"
      "stop: {max_env_steps: 1}\n");
  v1::SetNumbersRequest set;
  set.set_id(ValueOf(client.Ask(&Stub::Submit, submission)).id());
  v1::SetNumbersRequest::Number* const number = set.add_numbers();
  number->set_key("algorithm.optimizer.learning_rate");
  number->set_value("5e-1");
  REQUIRE_CODE(client.Ask(&Stub::Set, set).status(), absl::StatusCode::kFailedPrecondition);
  AttendUntilOrdered(hub);
  v1::GetExperimentRequest get;
  get.set_id(set.id());
  const std::string before = ValueOf(client.Ask(&Stub::Get, get)).effective_yaml();
  set.set_dry_run(true);
  const v1::SetNumbersResponse planned = ValueOf(client.Ask(&Stub::Set, set));
  REQUIRE(planned.changes_size() == 1);
  CHECK(planned.changes(0).key() == number->key());
  CHECK(planned.changes(0).from() == "0.001");
  CHECK(planned.changes(0).to() == "0.5");
  CHECK(ValueOf(client.Ask(&Stub::Get, get)).effective_yaml() == before);
  set.set_dry_run(false);
  CHECK(ValueOf(client.Ask(&Stub::Set, set)).changes_size() == 1);
  CHECK(ValueOf(client.Ask(&Stub::Set, set)).changes_size() == 0);
  CHECK_THAT(ValueOf(client.Ask(&Stub::Get, get)).effective_yaml(), Catch::Contains("learning_rate: 0.5\n"));

  number->set_value("11");
  absl::Status refused = client.Ask(&Stub::Set, set).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK(refused.message() == "algorithm.optimizer.learning_rate: got the number 11; wanted a number in [0, 10]");
  number->set_key("algorithm.mode");
  refused = client.Ask(&Stub::Set, set).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()),
             Catch::StartsWith("algorithm.mode: is no key that can change while the experiment"));
  set.set_id("nothing");
  REQUIRE_CODE(client.Ask(&Stub::Set, set).status(), absl::StatusCode::kNotFound);
}

TEST_CASE("an experiment that does not run gets no cut, and one without cuts lists none", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_effective_yaml("experiment: {name: x}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));
  v1::CheckpointExperimentRequest checkpoint;
  checkpoint.set_id(submitted.id());
  CHECK(absl::IsFailedPrecondition(client.Ask(&Stub::Checkpoint, checkpoint).status()));
  v1::CutsRequest ask;
  ask.set_id(submitted.id());
  const auto cuts = ValueOf(client.Ask(&Stub::Cuts, ask));
  CHECK(cuts.cuts_size() == 0);
  CHECK(cuts.in_progress() == 0);
  checkpoint.set_id("none-1");
  CHECK(absl::IsNotFound(client.Ask(&Stub::Checkpoint, checkpoint).status()));
  ask.set_id("none-1");
  CHECK(absl::IsNotFound(client.Ask(&Stub::Cuts, ask).status()));
  v1::StopExperimentRequest stop;
  stop.set_id(submitted.id());
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));
  v1::ResumeExperimentRequest resume;
  resume.set_id(submitted.id());
  resume.set_cut(4);
  CHECK(absl::IsNotFound(client.Ask(&Stub::Resume, resume).status()));
}

TEST_CASE("experiments are listed by page and by state", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    v1::SubmitRequest submission;
    submission.set_effective_yaml("algorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
    const auto submitted = ValueOf(client.Ask(&Stub::Submit, submission));
    ids.insert(ids.begin(), submitted.id());
  }
  v1::StopExperimentRequest stop;
  stop.set_id(ids[1]);
  REQUIRE_OK(client.Ask(&Stub::Stop, stop));

  v1::ListExperimentsRequest ask;
  ask.set_limit(2);
  auto list = ValueOf(client.Ask(&Stub::List, ask));
  REQUIRE(list.experiments_size() == 2);
  CHECK(list.experiments(0).id() == ids[0]);
  CHECK(list.experiments(1).id() == ids[1]);
  ask.set_page_token(list.next_page_token());
  list = ValueOf(client.Ask(&Stub::List, ask));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == ids[2]);
  CHECK(list.next_page_token().empty());

  ask.Clear();
  ask.add_states(v1::RUN_STATE_STOPPED);
  list = ValueOf(client.Ask(&Stub::List, ask));
  REQUIRE(list.experiments_size() == 1);
  CHECK(list.experiments(0).id() == ids[1]);
  ask.add_states(static_cast<v1::RunState>(99));
  CHECK(absl::IsInvalidArgument(client.Ask(&Stub::List, ask).status()));
  ask.Clear();
  ask.set_page_token("next");
  const absl::Status refused = client.Ask(&Stub::List, ask).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("\"next\""));
}

TEST_CASE("wrong requests are refused with their reasons", "[grpc]") {
  const HubServer hub;
  Client client(hub);
  v1::SubmitRequest submission;
  submission.set_effective_yaml("algorithm: [");
  CHECK(absl::IsInvalidArgument(client.Ask(&Stub::Submit, submission).status()));
  submission.set_effective_yaml(std::string(size_t{33} << 20, ' '));
  CHECK(absl::IsResourceExhausted(client.Ask(&Stub::Submit, submission).status()));
  v1::WatchExperimentRequest watch;
  watch.set_id("nothing");
  grpc::ClientContext context;
  const auto stream = client.stub()->Watch(&context, watch);
  v1::ExperimentInfo info;
  CHECK_FALSE(stream->Read(&info));
  CHECK(stream->Finish().error_code() == grpc::StatusCode::NOT_FOUND);
  const auto pool = ValueOf(client.Ask(&Stub::Pool, v1::PoolRequest()));
  CHECK(pool.members_size() == 0);
}

}  // namespace
}  // namespace waggle::testing
