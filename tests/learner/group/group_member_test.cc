#include "learner/group/group_member.h"

#include <utility>

#include "common/base/threads/mutex.h"
#include "common/rl/training/steppers.h"
#include "learner/train_loop.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/learner/fakes.h"
#include "tests/param_server/group_store_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::CountingTrainee;

// A hub whose group for a learner the test sets.
class GroupHub : public testing::FakeHubLink {
 public:
  void Say(const GroupSeat& seat) {
    MutexLock lock(&mutex_);
    said_.group = seat;
    changed_.SignalAll();
  }
  uint64_t broken() const {
    MutexLock lock(&mutex_);
    return broken_;
  }

  Assignment assignment() const override {
    MutexLock lock(&mutex_);
    return said_;
  }
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    const StopToken::Callback wake(stop, [this] {
      MutexLock lock(&mutex_);
      changed_.SignalAll();
    });
    MutexLock lock(&mutex_);
    while (!condition(said_)) {
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped");
      }
      changed_.Wait(&mutex_);
    }
    return said_;
  }
  void ReportBrokenGroup(uint64_t epoch) override {
    MutexLock lock(&mutex_);
    broken_ = epoch;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  Assignment said_ ABSL_GUARDED_BY(mutex_);
  uint64_t broken_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A learner and its hub.
struct Learner {
  explicit Learner(const testing::GroupStoreServer* server) {
    GroupMemberOptions options;
    options.hub = &hub;
    options.new_store = [server](uint64_t epoch) { return NewGrpcKeyStore(server->server->address(), epoch); };
    options.host = "127.0.0.1";
    options.watch_period = absl::Milliseconds(1);
    options.retry_pause = absl::Milliseconds(1);
    member = std::make_unique<GroupMember>(options);
  }
  absl::Status Attend() { return member->Attend("counting", &trainee, &step, stop); }

  GroupHub hub;
  CountingTrainee trainee;
  int64_t step = 0;
  StopToken stop;
  std::unique_ptr<GroupMember> member;
};

// Makes all learners attend, each in its own thread.
std::vector<absl::Status> AttendAll(const std::vector<Learner*>& learners) {
  std::vector<absl::Status> results(learners.size());
  std::vector<Thread> threads;
  for (size_t i = 0; i < learners.size(); ++i) {
    threads.emplace_back("attends", [&, i] { results[i] = learners[i]->Attend(); });
  }
  threads.clear();
  return results;
}

TEST_CASE("a group continues from the state of its furthest member; among equals, of one that was a member before",
          "[grpc]") {
  testing::GroupStoreServer server;
  Learner a(&server), b(&server);
  a.step = 3;
  b.step = 5;
  b.trainee.updates = 77;
  CHECK_FALSE(a.member->is_first());
  a.hub.Say({server.epoch, 0, 2});
  b.hub.Say({server.epoch, 1, 2});
  for (const absl::Status& result : AttendAll({&a, &b})) {
    REQUIRE_OK(result);
  }
  CHECK(a.step == 5);
  CHECK(a.trainee.updates == 77);
  CHECK(a.member->is_first());
  CHECK_FALSE(b.member->is_first());
  CHECK(a.member->epoch() == server.epoch);
  // The first learner is lost; another one replaces it, with only the weights of step 5.
  Learner later(&server);
  later.step = 5;
  a.member.reset();
  server.store.Begin(++server.epoch);
  later.hub.Say({server.epoch, 0, 2});
  b.hub.Say({server.epoch, 1, 2});
  for (const absl::Status& result : AttendAll({&later, &b})) {
    REQUIRE_OK(result);
  }
  CHECK(later.trainee.updates == 77);
  // They hear of a setting at different times.
  const std::vector<std::pair<std::string, std::string>> heard = {
      {"", "x=1\n"}, {"x=1\n", "x=1\n"}, {"x=1\n", "x=1\n"}, {"x=2\n", "x=1\n"}};
  for (auto [our_settings, their_settings] : heard) {
    const std::string first = our_settings;
    Progress ours, theirs;
    ours.run = 0.5;
    theirs.run = 0.25;
    absl::Status agreed;
    {
      const Thread other("agrees",
                         [&, &their_settings = their_settings] { agreed = b.member->Agree(&theirs, &their_settings); });
      REQUIRE_OK(later.member->Agree(&ours, &our_settings));
    }
    REQUIRE_OK(agreed);
    CHECK(theirs.run == 0.5);
    CHECK(our_settings == first);
    CHECK(their_settings == first);
  }
}

TEST_CASE("a learner that waits for another hears at once of a later group, even if that has no other member",
          "[grpc]") {
  testing::GroupStoreServer server;
  Learner learner(&server);
  learner.step = 4;
  learner.hub.Say({server.epoch, 1, 2});
  absl::Status attended;
  {
    const Thread attends("attends", [&] { attended = learner.Attend(); });
    // It has come to the first group's meeting.
    REQUIRE_OK(server.Client()->Get({"here/1"}, /*wait=*/true, StopToken()));
    learner.hub.Say({server.epoch + 1, 0, 1});
  }
  REQUIRE_OK(attended);
  CHECK(learner.member->is_first());
  CHECK(learner.member->epoch() == server.epoch + 1);
  CHECK(learner.hub.broken() == server.epoch);
  CHECK(learner.step == 4);
  REQUIRE_OK(learner.member->Average(torch::ones({2})));
  CHECK_FALSE(learner.member->abandoned().StopRequested());
  learner.hub.Say({server.epoch + 2, 0, 2});
  learner.member->abandoned().Wait();
}

TEST_CASE("a learner that waits for a group, or for its members, stops on request", "[grpc]") {
  testing::GroupStoreServer server;
  Learner early(&server), late(&server);
  late.hub.Say({server.epoch, 0, 2});
  absl::Status without_group, without_others;
  {
    const Thread first("attends", [&] { without_group = early.Attend(); });
    const Thread second("attends", [&] { without_others = late.Attend(); });
    REQUIRE_OK(server.Client()->Get({"here/0"}, /*wait=*/true, StopToken()));
    early.stop.RequestStop();
    late.stop.RequestStop();
  }
  CHECK(without_group.code() == absl::StatusCode::kCancelled);
  CHECK(without_others.code() == absl::StatusCode::kCancelled);
}

// A member's train loop.
struct Training {
  explicit Training(Learner* learner) : learner_(learner) {
    options.algorithm = "counting";
    options.learner.publish_period_steps = 5;
    options.max_learner_steps = 12;
    options.epoch = 1;  // Not used: nothing is published under it.
    options.finish_timeout = absl::Seconds(60);
  }
  absl::Status Run() {
    TrainLoopPorts ports;
    ports.tables = {{&sampler, &updater}};
    ports.publisher = &publisher;
    ports.metrics = &metrics;
    ports.trained = [this](const ModelVersion& version) { trained = version; };
    ports.group = learner_->member.get();
    TrainLoop loop(options, ports, &learner_->trainee, &stepper);
    return loop.Run(learner_->stop);
  }

  TrainLoopOptions options;
  testing::FakeSampler sampler;
  testing::RecordingUpdater updater;
  testing::ScriptedPublisher publisher;
  Metrics metrics;
  LocalStepper stepper;
  std::optional<ModelVersion> trained;

 private:
  Learner* const learner_;
};

TEST_CASE("the first learner of a group publishes and reports for all, and another replaces it when it is lost",
          "[grpc]") {
  testing::GroupStoreServer server;
  Learner a(&server), b(&server);
  a.hub.Say({server.epoch, 0, 2});
  b.hub.Say({server.epoch, 1, 2});
  Training first(&a), second(&b);
  first.sampler.batches = 7;  // Then it hangs.
  absl::Status first_ended, second_ended;
  {
    const Thread trains_second("trains", [&] { second_ended = second.Run(); });
    {
      const Thread trains_first("trains", [&] { first_ended = first.Run(); });
      testing::Eventually("that the first one hangs", [&] {
        const ReplaySampler::Stats stats = first.sampler.stats();
        return stats.batches == 7 && stats.waiting;
      });
      const uint64_t epoch = server.epoch + 1;
      server.store.Begin(epoch);
      b.hub.Say({epoch, 0, 1});
      a.stop.RequestStop();
    }
  }
  REQUIRE_OK(first_ended);
  REQUIRE_OK(second_ended);
  for (const ModelVersion& version : first.publisher.versions()) {
    CHECK(version.epoch == server.epoch);
    CHECK(version.version <= 7);
  }
  CHECK(second.publisher.versions().back() == ModelVersion{server.epoch + 1, 12});
  CHECK(second.publisher.versions().front().epoch == server.epoch + 1);
  CHECK(second.trained == ModelVersion{server.epoch + 1, 12});
  CHECK(b.trainee.updates == 12);
  CHECK(second.metrics.TakeSnapshot().counters.at("learner_steps") == 12);
  CHECK(first.metrics.TakeSnapshot().counters.at("learner_steps") == 7);
  CHECK(second.updater.items.size() == 48);
}

}  // namespace
}  // namespace waggle
