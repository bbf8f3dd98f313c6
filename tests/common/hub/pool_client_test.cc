#include "common/hub/pool_client.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/deadline.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/hub/pool_convert.h"
#include "common/net/server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "waggle/v1/pool.grpc.pb.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::ValueOf;

// Answers as the hub does: at once if its orders differ from the worker's, otherwise after a second, or when they
// change.
class FakePool final : public v1::PoolService::Service {
 public:
  grpc::Status Attend(grpc::ServerContext* context, const v1::AttendRequest* request,
                      v1::AttendResponse* response) override {
    const Deadline second(absl::Seconds(1));
    MutexLock lock(&mutex_);
    requests_.push_back(*request);
    const int64_t calls = ++calls_;
    if (!refusal_.ok()) {
      return refusal_;
    }
    for (const v1::HeldOrder& held : request->held()) {
      if (held.ended()) {
        orders_.erase(held.order().number());
        failures_[held.order().number()] = held.failure();
      }
    }
    const int64_t seen = changes_;
    while (!request->leaving() && !HasNews(*request) && changes_ == seen && calls == calls_ &&
           second.Left() > absl::ZeroDuration() && !context->IsCancelled()) {
      changed_.WaitFor(&mutex_, absl::Milliseconds(10));
    }
    for (const auto& [number, order] : orders_) {
      *response->add_orders() = order;
    }
    for (const std::string& id : discarded_) {
      response->add_discarded(id);
    }
    return grpc::Status::OK;
  }

  void Give(uint64_t number, const std::string& experiment, v1::Role role = v1::ROLE_EVALUATOR) {
    v1::WorkOrder order;
    order.set_number(number);
    order.set_experiment_id(experiment);
    order.set_role(role);
    order.set_output_folder("/output");
    Change([&] { orders_[number] = order; });
  }
  void TakeBack(uint64_t number) {
    Change([&] { orders_.erase(number); });
  }
  void Refuse(const grpc::Status& status) {
    Change([&] { refusal_ = status; });
  }
  void DiscardWhatIsKeptOf(const std::string& experiment) {
    Change([&] { discarded_.insert(experiment); });
  }

  std::vector<v1::AttendRequest> requests() const {
    MutexLock lock(&mutex_);
    return requests_;
  }
  v1::AttendRequest last() const {
    MutexLock lock(&mutex_);
    return requests_.empty() ? v1::AttendRequest() : requests_.back();
  }
  // The end of an order; absent while it has not ended.
  std::optional<std::string> failure(uint64_t number) const {
    MutexLock lock(&mutex_);
    const auto found = failures_.find(number);
    return found == failures_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  bool HasNews(const v1::AttendRequest& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::set<uint64_t> held;
    for (const v1::HeldOrder& each : request.held()) {
      held.insert(each.order().number());
    }
    std::set<uint64_t> wanted;
    for (const auto& [number, order] : orders_) {
      wanted.insert(number);
    }
    return held != wanted;
  }

  void Change(const std::function<void()>& change) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    change();
    ++changes_;
    changed_.SignalAll();
  }

  mutable Mutex mutex_;
  CondVar changed_;
  int64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, v1::WorkOrder> orders_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> discarded_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> failures_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AttendRequest> requests_ ABSL_GUARDED_BY(mutex_);
  grpc::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

// Carries out each order until it is stopped, or until the test ends it.
class FakeWork final : public PoolWork {
 public:
  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    const StopToken::Callback wake(stop, [this] {
      MutexLock lock(&mutex_);
      changed_.SignalAll();
    });
    MutexLock lock(&mutex_);
    names_[order.number] = run_worker_id;
    running_.insert(order.number);
    most_ = std::max(most_, running_.size());
    while (endings_.count(order.number) == 0 && (deaf_ || !stop.StopRequested())) {
      changed_.Wait(&mutex_);
    }
    running_.erase(order.number);
    const auto ending = endings_.find(order.number);
    if (ending != endings_.end() && ending->second.message() == "throw") {
      throw std::runtime_error("a bug");
    }
    return ending == endings_.end() ? absl::CancelledError("stopped") : ending->second;
  }

  std::vector<std::string> Kept() override {
    MutexLock lock(&mutex_);
    return {kept_.begin(), kept_.end()};
  }
  void Discard(const std::string& experiment_id) override {
    MutexLock lock(&mutex_);
    kept_.erase(experiment_id);
  }

  void End(uint64_t number, const absl::Status& status) {
    MutexLock lock(&mutex_);
    endings_[number] = status;
    changed_.SignalAll();
  }
  // From now on a stop does not end orders.
  void TurnDeaf() {
    MutexLock lock(&mutex_);
    deaf_ = true;
  }
  void Keep(const std::string& experiment) {
    MutexLock lock(&mutex_);
    kept_.insert(experiment);
  }
  std::set<uint64_t> running() const {
    MutexLock lock(&mutex_);
    return running_;
  }
  std::map<uint64_t, std::string> names() const {
    MutexLock lock(&mutex_);
    return names_;
  }
  size_t most() const {  // The most orders that ran at a time.
    MutexLock lock(&mutex_);
    return most_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool deaf_ ABSL_GUARDED_BY(mutex_) = false;
  size_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> running_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> names_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::Status> endings_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> kept_ ABSL_GUARDED_BY(mutex_);
};

// A worker of the pool in threads of this process, and a hub on a port that it keeps.
class Fixture {
 public:
  Fixture() { StartHub(); }
  ~Fixture() {
    stop.RequestStop();
    for (uint64_t number = 0; number < 100; ++number) {
      work.End(number, absl::OkStatus());
    }
    thread_.Join();
  }

  void StartHub() {
    server = ValueOf(RpcServer::Start(address, {&pool}));
    address = server->address();
  }

  void StartWorker() {
    options.hub_address = address;
    thread_ = Thread("worker", [this] { ended = WorkForPool(options, &work, stop); });
  }
  const absl::Status& Join() {
    thread_.Join();
    return *ended;
  }
  void AwaitRunning(const std::set<uint64_t>& numbers) {
    Eventually("orders are worked on", [&] { return work.running() == numbers; });
  }

  std::string address = "127.0.0.1:0";
  FakePool pool;
  std::unique_ptr<RpcServer> server;
  PoolClientOptions options = [] {
    PoolClientOptions defaults;
    defaults.kind = WorkerKind::kEvaluator;
    defaults.capacity = 8;
    return defaults;
  }();
  FakeWork work;
  const StopToken stop;
  std::optional<absl::Status> ended;

 private:
  Thread thread_;
};

TEST_CASE("A worker introduces itself, and works on several orders at once", "[grpc]") {
  Fixture fixture;
  fixture.options.address = "10.0.0.1:7003";
  fixture.options.wanted_index = 5;
  fixture.options.resources.devices = {"cuda:0"};
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.AwaitRunning({1});
  fixture.pool.Give(2, "b-2");
  fixture.AwaitRunning({1, 2});
  Eventually("it says so", [&] { return fixture.pool.last().held_size() == 2; });
  const v1::AttendRequest said = fixture.pool.last();
  CHECK(said.kind() == v1::WORKER_KIND_EVALUATOR);
  CHECK(said.address() == "10.0.0.1:7003");
  CHECK(said.capacity() == 8);
  CHECK(said.wanted_index() == 5);
  CHECK(said.resources().devices_size() == 1);
  CHECK_FALSE(said.software_version().empty());
  CHECK_FALSE(said.host().empty());
  CHECK_FALSE(said.leaving());
  CHECK(said.worker_id() == fixture.pool.requests().front().worker_id());
  CHECK(fixture.work.names().at(1) == RunWorkerId(said.worker_id(), 1));
  CHECK(said.held(0).order().output_folder() == "/output");
}

TEST_CASE("The hub learns the end of an order, and the reason of its failure", "[grpc]") {
  Fixture fixture;
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.pool.Give(2, "b-2");
  fixture.pool.Give(3, "c-3");
  fixture.AwaitRunning({1, 2, 3});
  fixture.work.End(1, absl::OkStatus());
  fixture.work.End(2, absl::InvalidArgumentError("no such device"));
  Eventually("the hub knows", [&] { return fixture.pool.failure(1) && fixture.pool.failure(2); });
  CHECK(fixture.pool.failure(1)->empty());
  CHECK_THAT(*fixture.pool.failure(2), Catch::Contains("no such device"));
  Eventually("it is not told for ever", [&] { return fixture.pool.last().held_size() == 1; });
  fixture.work.End(3, absl::UnknownError("throw"));
  Eventually("the hub knows of the exception", [&] { return fixture.pool.failure(3).has_value(); });
  CHECK_THAT(*fixture.pool.failure(3), Catch::Contains("a bug"));
  fixture.pool.Give(4, "a-1");
  fixture.AwaitRunning({4});
}

TEST_CASE("An order that the hub does not name any more is stopped without a failure", "[grpc]") {
  Fixture fixture;
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.pool.Give(2, "b-2");
  fixture.AwaitRunning({1, 2});
  fixture.pool.TakeBack(1);
  fixture.AwaitRunning({2});
  Eventually("it is told that it has ended", [&] { return fixture.pool.failure(1).has_value(); });
  CHECK(fixture.pool.failure(1)->empty());
}

TEST_CASE("A worker begins no order without room while one that was taken back ends", "[grpc]") {
  Fixture fixture;
  fixture.options.capacity = 1;
  fixture.work.TurnDeaf();
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.AwaitRunning({1});
  fixture.pool.TakeBack(1);
  fixture.pool.Give(2, "b-2");
  const size_t before = fixture.pool.requests().size();
  Eventually("it is told of both", [&] { return fixture.pool.requests().size() > before + 3; });
  CHECK(fixture.work.running() == std::set<uint64_t>{1});
  fixture.work.End(1, absl::OkStatus());
  fixture.AwaitRunning({2});
  CHECK(fixture.work.most() == 1);
}

TEST_CASE("Orders go on while the hub is away, and their ends are reported when it is back", "[grpc]") {
  Fixture fixture;
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.pool.Give(2, "b-2");
  fixture.AwaitRunning({1, 2});
  fixture.server.reset();
  fixture.work.End(1, absl::OutOfRangeError("diverged"));
  fixture.AwaitRunning({2});
  fixture.StartHub();
  Eventually("the hub knows", [&] { return fixture.pool.failure(1).has_value(); });
  CHECK_THAT(*fixture.pool.failure(1), Catch::Contains("diverged"));
  CHECK(fixture.work.running() == std::set<uint64_t>{2});
  CHECK_FALSE(fixture.pool.last().leaving());
}

TEST_CASE("A worker waits for an absent hub", "[grpc]") {
  Fixture fixture;
  fixture.server.reset();
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.StartHub();
  fixture.AwaitRunning({1});
}

TEST_CASE("A worker says after each call whether the hub answers, and why not", "[grpc]") {
  Fixture fixture;
  fixture.server.reset();
  Mutex mutex;
  std::string last = "not called";
  int calls = 0;
  fixture.options.attended = [&](const std::string& why_not) {
    MutexLock lock(&mutex);
    last = why_not;
    ++calls;
  };
  const auto said = [&] {
    MutexLock lock(&mutex);
    return last;
  };
  fixture.StartWorker();
  Eventually("it says why not", [&] { return absl::StrContains(said(), "does not answer"); });
  fixture.StartHub();
  Eventually("the hub answers", [&] { return said().empty(); });
  const auto count = [&] {
    MutexLock lock(&mutex);
    return calls;
  };
  const int before = count();
  Eventually("it goes on", [&] { return count() > before + 1; });
  fixture.stop.RequestStop();
  fixture.Join().IgnoreError();
}

TEST_CASE("A refusal is final, and ends the worker's orders", "[grpc]") {
  Fixture fixture;
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.AwaitRunning({1});
  fixture.pool.Refuse({grpc::StatusCode::FAILED_PRECONDITION, "the hub is of version 9"});
  const absl::Status ended = fixture.Join();
  CHECK(ended.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(ended.message()), Catch::Contains("version 9"));
  CHECK(fixture.work.running().empty());
}

TEST_CASE("An order that this worker cannot do is a bug of the hub, and final", "[grpc]") {
  Fixture fixture;
  SECTION("an order for another role") {
    fixture.pool.Give(1, "a-1", v1::ROLE_LEARNER);
  }
  SECTION("an order without an experiment") {
    fixture.pool.Give(1, "");
  }
  SECTION("more orders than its capacity") {
    for (uint64_t number = 1; number <= 9; ++number) {
      fixture.pool.Give(number, "a-1");
    }
  }
  fixture.StartWorker();
  CHECK(fixture.Join().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A worker that is stopped ends its orders, and says goodbye", "[grpc]") {
  Fixture fixture;
  fixture.work.TurnDeaf();
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.pool.Give(2, "b-2");
  fixture.AwaitRunning({1, 2});
  fixture.stop.RequestStop();
  Eventually("it is leaving", [&] { return fixture.pool.last().leaving(); });
  CHECK(fixture.pool.last().held_size() == 2);
  fixture.pool.Give(3, "c-3");
  fixture.work.End(1, absl::OkStatus());
  fixture.work.End(2, absl::OkStatus());
  CHECK(fixture.Join() == absl::OkStatus());
  const v1::AttendRequest goodbye = fixture.pool.last();
  CHECK(goodbye.leaving());
  CHECK(goodbye.held_size() == 0);
  CHECK(fixture.work.names().count(3) == 0);
}

TEST_CASE("A worker is stopped while the hub is away", "[grpc]") {
  Fixture fixture;
  fixture.StartWorker();
  fixture.pool.Give(1, "a-1");
  fixture.AwaitRunning({1});
  fixture.server.reset();
  fixture.stop.RequestStop();
  CHECK(fixture.Join() == absl::OkStatus());
}

TEST_CASE("An experiment's data is dropped when the hub says so, unless it is worked on", "[grpc]") {
  Fixture fixture;
  fixture.work.Keep("old-1");
  fixture.work.Keep("new-2");
  fixture.StartWorker();
  fixture.pool.Give(1, "new-2");
  fixture.AwaitRunning({1});
  Eventually("it is told", [&] { return fixture.pool.last().kept_size() == 2; });
  fixture.pool.DiscardWhatIsKeptOf("new-2");
  fixture.pool.DiscardWhatIsKeptOf("old-1");
  Eventually("one is dropped", [&] { return fixture.pool.last().kept_size() == 1; });
  CHECK(fixture.pool.last().kept(0) == "new-2");
  fixture.work.End(1, absl::OkStatus());
  Eventually("the other one too", [&] { return fixture.pool.last().kept_size() == 0; });
}

TEST_CASE("Invalid options are refused, each by its name", "[unit]") {
  PoolClientOptions options;
  options.hub_address = "nowhere";
  options.kind = WorkerKind::kReplayServer;
  options.capacity = 0;
  options.wanted_index = -1;
  FakeWork work;
  const absl::Status status = WorkForPool(options, &work, StopToken());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  for (const char* const field : {"hub_address", "; address: got none", "capacity", "wanted_index"}) {
    CHECK_THAT(std::string(status.message()), Catch::Contains(field));
  }
}

}  // namespace
}  // namespace waggle
