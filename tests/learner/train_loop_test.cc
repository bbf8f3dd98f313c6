#include "learner/train_loop.h"

#include <optional>

#include "common/base/failpoint.h"
#include "common/rl/training/steppers.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/common/hub/ports/turn_hub.h"
#include "tests/learner/answering_subscriber.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

// A loop around an algorithm unlike Q-learning.
struct Fixture {
  Fixture() {
    options.algorithm = "counting";
    options.learner.publish_period_steps = 5;
    options.learner.priority_update_steps = 2;
    options.learner.checkpoint.period_seconds = 0;
    options.max_learner_steps = 12;
    options.epoch = 3;
    options.finish_timeout = absl::Seconds(60);
  }

  absl::Status Run() {
    TrainLoopPorts ports;
    ports.tables = tables;
    ports.publisher = publisher.get();
    ports.metrics = &metrics;
    ports.checkpoints = checkpoints.get();
    ports.known_version = known_version;
    ports.run_over = run_over;
    ports.turns = turns;
    ports.settings = settings;
    ports.evaluated_rewards = evaluated_rewards;
    ports.peers = peers;
    TrainLoop loop(options, ports, &algorithm, &stepper);
    const absl::Status status = loop.Run(stop);
    last_step = loop.step();
    return status;
  }

  // Gives the publisher these answers. The first batch waits until the first weights were published, as the actors do
  // that make it.
  void Answer(std::function<absl::Status(size_t attempt)> answer) {
    const StopToken published;
    publisher = std::make_unique<testing::ScriptedPublisher>([published, answer = std::move(answer)](size_t attempt) {
      published.RequestStop();
      return answer(attempt);
    });
    sampler.before_first = [published] { CHECK(published.WaitFor(absl::Seconds(60))); };
  }
  void KeepCheckpoints() { checkpoints = testing::ValueOf(CheckpointStore::Open(folder.path(), 2)); }

  const testing::TemporaryFolder folder;
  TrainLoopOptions options;
  testing::FakeSampler sampler;
  testing::RecordingUpdater updater;
  std::vector<TrainLoopPorts::Table> tables = {{&sampler, &updater}};
  std::unique_ptr<testing::ScriptedPublisher> publisher = std::make_unique<testing::ScriptedPublisher>();
  Metrics metrics;
  std::unique_ptr<CheckpointStore> checkpoints;
  std::function<std::optional<ModelVersion>()> known_version;
  const StopToken* run_over = nullptr;
  std::function<std::string()> settings;
  std::function<std::vector<double>()> evaluated_rewards;
  PeerWeights* peers = nullptr;
  TurnTaker* turns = nullptr;
  testing::CountingTrainee algorithm;
  LocalStepper stepper;
  StopToken stop;
  int64_t last_step = 0;
};

TEST_CASE("the loop trains up to its limit with a batch of each table, and sends every priority to its item",
          "[unit]") {
  Fixture fixture;
  testing::FakeSampler second_sampler;
  testing::RecordingUpdater second_updater;
  second_sampler.policy_version = [](int64_t batch) { return batch; };
  fixture.tables.push_back({&second_sampler, &second_updater});
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.last_step == 12);
  CHECK(fixture.algorithm.updates == 12);
  for (const testing::RecordingUpdater& updater : {fixture.updater, second_updater}) {
    CHECK(updater.sizes == std::vector<size_t>(6, 8));
    for (const auto& item : updater.items) {
      CHECK(item.priority == static_cast<double>(item.key));
      CHECK(item.generation == 2 * item.key);
    }
  }
  const Metrics::Snapshot snapshot = fixture.metrics.TakeSnapshot();
  CHECK(snapshot.counters.at("items_sampled") == 96);
  CHECK(snapshot.counters.at("policy_lag_sum") == 4 * 66);
  CHECK(snapshot.counters.at("priorities_applied") == 96);
  // The mean over the updates since the last report: the loss of the nth update is n.
  CHECK(snapshot.gauges.at("algorithm/loss") == 6.5);
}

TEST_CASE("a table that is drawn every few updates has batches in these alone", "[unit]") {
  Fixture fixture;
  testing::FakeSampler seldom;
  testing::RecordingUpdater updater;
  fixture.tables.push_back({&seldom, &updater, /*every=*/5});
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.algorithm.updates == 12);
  CHECK(fixture.sampler.stats().batches == 12);
  CHECK(seldom.stats().batches == 3);  // Updates 0, 5 and 10 draw it.
  CHECK(updater.items.size() == 12);
}

TEST_CASE("a member that takes another's weights publishes them at once", "[unit]") {
  Fixture fixture;
  fixture.options.learner.publish_period_steps = 1'000;
  fixture.Answer([](size_t) { return absl::OkStatus(); });
  testing::FakeHubLink hub;
  hub.before.exploit = {"other", 1};
  ModelSnapshot other;
  other.model = "counting";
  other.version = {9, 700};
  PeerWeights peers(
      &hub,
      [&other](const std::string&) {
        return std::make_unique<testing::AnsweringSubscriber>([&other](int) { return other; });
      },
      &fixture.algorithm, /*obeyed=*/0);
  fixture.peers = &peers;
  fixture.sampler.batches = 2;
  fixture.sampler.stop_when_done = true;
  fixture.sampler.on_wait = [&fixture] {
    testing::Eventually("its publication", [&] { return fixture.publisher->versions().back() == ModelVersion{3, 1}; });
  };
  fixture.KeepCheckpoints();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.algorithm.updates == 701);  // It took the weights once, after its first step.
  CHECK(fixture.last_step == 2);
  CHECK(testing::ValueOf(fixture.checkpoints->LoadLatest())->texts.at(kCheckpointExploit) == "1");
}

TEST_CASE("weights are published before the first step and after the last, under the learner's epoch", "[unit]") {
  Fixture fixture;
  fixture.Answer([](size_t) { return absl::OkStatus(); });
  REQUIRE_OK(fixture.Run());
  const std::vector<ModelVersion> versions = fixture.publisher->versions();
  CHECK(versions.front() == ModelVersion{3, 0});
  // Between these two, a version may be skipped while the last one is being sent.
  CHECK(std::is_sorted(versions.begin(), versions.end()));
  CHECK(versions.back() == ModelVersion{3, 12});
  for (const ModelVersion& version : versions) {
    CHECK((version.version % 5 == 0 || version.version == 12));
  }
  Fixture restored;
  restored.options.first_step = 12;
  REQUIRE_OK(restored.Run());
  CHECK(restored.algorithm.updates == 0);
  CHECK(restored.metrics.TakeSnapshot().counters.at("learner_steps") == 12);
  CHECK((restored.publisher->versions() == std::vector<ModelVersion>{{3, 12}}));
}

TEST_CASE("while the loop waits for items, weights that the hub has lost are published again", "[unit]") {
  Fixture fixture;
  const StopToken again;
  fixture.publisher = std::make_unique<testing::ScriptedPublisher>([again](size_t attempt) {
    if (attempt == 1) {
      again.RequestStop();
    }
    return absl::OkStatus();
  });
  fixture.options.publish_patience = absl::Milliseconds(1);
  fixture.known_version = [] { return std::nullopt; };
  fixture.sampler.batches = 0;
  // The items' actors wait for these weights.
  fixture.sampler.on_wait = [&] {
    CHECK(again.WaitFor(absl::Seconds(60)));
    fixture.stop.RequestStop();
  };
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.publisher->versions().at(1) == ModelVersion{3, 0});
}

TEST_CASE("counters and measurements are reported by name", "[unit]") {
  Fixture fixture;
  fixture.options.report_period = absl::ZeroDuration();
  REQUIRE_OK(fixture.Run());
  const Metrics::Snapshot snapshot = fixture.metrics.TakeSnapshot();
  CHECK(snapshot.counters.at("learner_steps") == 12);
  CHECK(snapshot.counters.at("items_sampled") == 48);
  CHECK(snapshot.counters.at("priorities_applied") == 48);
  CHECK(snapshot.counters.at("priorities_stale") == 0);
  CHECK(snapshot.counters.at("priorities_unknown") == 0);
  CHECK(snapshot.gauges.at("algorithm/loss") == 12);
  CHECK(snapshot.gauges.count("waiting_fraction") == 1);
  // All items are of version 0, and batches of 4 were used at steps 0 to 11.
  CHECK(snapshot.counters.at("policy_lag_sum") == 4 * 66);
  CHECK(snapshot.gauges.at("policy_lag_mean") == 11);
  CHECK(snapshot.gauges.at("policy_lag_max") == 11);
  CHECK(snapshot.activity == "finishing");
}

TEST_CASE("the activity shows that the loop waits for items", "[unit]") {
  Fixture fixture;
  fixture.sampler.batches = 3;
  Metrics::Snapshot stuck;
  fixture.sampler.on_wait = [&] {
    stuck = fixture.metrics.TakeSnapshot();
    fixture.stop.RequestStop();
  };
  REQUIRE_OK(fixture.Run());
  CHECK(stuck.activity == "waiting for items");
  CHECK(fixture.metrics.TakeSnapshot().activity == "finishing");
}

TEST_CASE("a stop ends training in order", "[unit]") {
  Fixture fixture;
  fixture.options.max_learner_steps = 0;
  fixture.sampler.batches = 7;
  fixture.sampler.stop_when_done = true;
  fixture.KeepCheckpoints();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.last_step == 7);
  CHECK(fixture.publisher->versions().back() == ModelVersion{3, 7});
  CHECK(fixture.updater.items.size() == 28);
  const auto contents = testing::ValueOf(fixture.checkpoints->LoadLatest());
  REQUIRE(contents.has_value());
  CHECK(contents->step == 7);
  CHECK(contents->texts.at("state/inner/updates") == "7");
}

TEST_CASE("a disk that is full for a while does not end training, and checkpoints are written again", "[unit]") {
  Fixture fixture;
  fixture.options.learner.checkpoint.period_seconds = 1e-9;
  fixture.KeepCheckpoints();
  std::optional<testing::FullDisk> full(std::in_place, 0);
  fixture.sampler.policy_version = [&](int64_t batch) {
    if (batch == 4) {  // One is due after the second step at the latest.
      testing::Eventually("a checkpoint that failed", [&] {
        const auto gauges = fixture.metrics.TakeSnapshot().gauges;
        return gauges.count("checkpoint_failing") == 1 && gauges.at("checkpoint_failing") == 1;
      });
      full.reset();
    } else if (batch == 8) {
      testing::Eventually("one that was written",
                          [&] { return fixture.metrics.TakeSnapshot().gauges.at("checkpoint_failing") == 0; });
    }
    return 0;
  };
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.algorithm.updates == 12);
  CHECK(fixture.metrics.TakeSnapshot().counters.at("checkpoints_failed") >= 1);
  CHECK(testing::ValueOf(fixture.checkpoints->LoadLatest())->step == 12);
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("the last checkpoint is tried again for a while", "[unit]") {
  Fixture fixture;
  fixture.KeepCheckpoints();
  REQUIRE_OK(SetFailpoints("folder.create=error(no space)@1; file.create=error(no space)@1"));
  fixture.options.last_checkpoint_timeout = absl::Seconds(60);
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.metrics.TakeSnapshot().counters.at("checkpoints_failed") == 2);
  CHECK(testing::ValueOf(fixture.checkpoints->LoadLatest())->step == 12);
  REQUIRE_OK(SetFailpoints(""));
}
#endif

TEST_CASE("a last checkpoint that cannot be written is an error, after all else is done", "[unit]") {
  Fixture fixture;
  fixture.KeepCheckpoints();
  const testing::FullDisk full(0);
  fixture.options.last_checkpoint_timeout = absl::ZeroDuration();
  REQUIRE_CODE(fixture.Run(), absl::StatusCode::kResourceExhausted);
  CHECK(fixture.publisher->versions().back() == ModelVersion{3, 12});
  CHECK(fixture.updater.items.size() == 48);
  CHECK(fixture.metrics.TakeSnapshot().counters.at("learner_steps") == 12);
}

TEST_CASE("at the end the first of several errors is returned, and none stops the rest", "[unit]") {
  Fixture fixture;
  fixture.KeepCheckpoints();
  fixture.options.learner.publish_period_steps = 100;
  const bool both = GENERATE(true, false);
  if (both) {
    fixture.options.learner.priority_update_steps = 100;
    fixture.updater.result = absl::InvalidArgumentError("priority 0 is nan");
  }
  fixture.Answer([](size_t attempt) {
    return attempt == 0 ? absl::OkStatus() : absl::FailedPreconditionError("epoch 4 has published");
  });
  CHECK(fixture.Run().code() == (both ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kFailedPrecondition));
  CHECK(fixture.publisher->versions().back() == ModelVersion{3, 12});
  CHECK(testing::ValueOf(fixture.checkpoints->LoadLatest())->step == 12);
}

TEST_CASE("an error of the algorithm, the sampler or the updater ends training and names the step", "[unit]") {
  Fixture algorithm;
  algorithm.algorithm.fail_at = 4;
  CHECK_THAT(std::string(algorithm.Run().message()), Catch::StartsWith("learner step 5: "));
  Fixture sampler;
  sampler.sampler.batches = 3;
  sampler.sampler.end = absl::NotFoundError("no table");
  CHECK_THAT(std::string(sampler.Run().message()), Catch::StartsWith("learner step 4: "));
  Fixture updater;
  updater.updater.result = absl::InvalidArgumentError("priority 0 is nan");
  CHECK_THAT(std::string(updater.Run().message()), Catch::StartsWith("learner step 3: "));
}

TEST_CASE("a learner that was replaced by another stops", "[unit]") {
  Fixture fixture;
  fixture.options.max_learner_steps = 0;
  fixture.publisher = std::make_unique<testing::ScriptedPublisher>(
      [](size_t) { return absl::FailedPreconditionError("epoch 4 has published"); });
  REQUIRE_CODE(fixture.Run(), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("at the end a missing server is an error only if no checkpoint has the last weights", "[unit]") {
  Fixture fixture;
  const bool has_checkpoint = GENERATE(true, false);
  if (has_checkpoint) {
    fixture.KeepCheckpoints();
  }
  fixture.options.finish_timeout = absl::Milliseconds(1);
  fixture.publisher =
      std::make_unique<testing::ScriptedPublisher>([](size_t) { return absl::UnavailableError("gone"); });
  const absl::Status status = fixture.Run();
  CHECK(status.code() == (has_checkpoint ? absl::StatusCode::kOk : absl::StatusCode::kDeadlineExceeded));
  CHECK(fixture.last_step == 12);
}

TEST_CASE("a server that is away when training ends gets the last weights until the run is over", "[unit]") {
  Fixture fixture;
  const StopToken run_over;
  fixture.run_over = &run_over;
  fixture.options.finish_timeout = absl::Milliseconds(1);
  fixture.options.learner.publish_period_steps = 100;
  const bool comes_back = GENERATE(true, false);
  fixture.Answer([&](size_t attempt) {
    if (attempt == 3 && !comes_back) {
      run_over.RequestStop();
    }
    return attempt == 0 || (attempt == 3 && comes_back) ? absl::OkStatus() : absl::UnavailableError("gone");
  });
  CHECK(fixture.Run().code() == (comes_back ? absl::StatusCode::kOk : absl::StatusCode::kDeadlineExceeded));
  const std::vector<ModelVersion> versions = fixture.publisher->versions();
  CHECK(versions.size() >= 4);
  CHECK(versions.back() == ModelVersion{3, 12});
}

// A fixture in lock-step: a number of new items in each turn, and a quarter of a learner step for each.
struct TurnFixture : Fixture {
  TurnFixture(int64_t count, int64_t items_a_turn) : hub(Role::kLearner, count), taker(&hub, Role::kLearner) {
    hub.items_a_turn = items_a_turn;
    hub.over = stop;
    turns = &taker;
    options.max_learner_steps = 0;
    options.quota = {0.25, 0};
  }

  testing::TurnHub hub;
  TurnTaker taker;
};

TEST_CASE("in lock-step each turn learns from the items written before it, and reports all of them at its end",
          "[unit]") {
  TurnFixture fixture(4, 10);
  fixture.options.quota.min_items = 12;
  std::vector<int64_t> steps;
  fixture.hub.on_turn = [&](int64_t turn, Assignment* assignment) {
    steps.push_back(fixture.algorithm.updates);
    CHECK(fixture.updater.items.size() == 4 * static_cast<size_t>(fixture.algorithm.updates));
    if (turn > 1) {
      CHECK(fixture.publisher->versions().back().version == static_cast<uint64_t>(fixture.algorithm.updates));
      CHECK(fixture.metrics.TakeSnapshot().counters.at("learner_steps") == fixture.algorithm.updates);
    }
    assignment->progress.env_steps = 100 * turn;
  };
  REQUIRE_OK(fixture.Run());
  // The first 10 were there before it. Of 10, 20 and 30 more all except twelve are learned from, a quarter of a step
  // each.
  CHECK(steps == std::vector<int64_t>{0, 0, 0, 2, 4});
  CHECK(fixture.algorithm.progress.env_steps == 400);
  CHECK(fixture.hub.turn_done == 12);
}

TEST_CASE("in lock-step the last turn ends with the limit on learner steps", "[unit]") {
  TurnFixture fixture(100, 20);
  fixture.options.max_learner_steps = 12;
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.last_step == 12);
  CHECK(fixture.hub.turn_done == 12);
}

TEST_CASE("in lock-step a turn ends though its items were lost, and the next turns learn again", "[unit]") {
  TurnFixture fixture(4, 8);
  fixture.options.turn_patience = absl::Milliseconds(20);
  fixture.sampler.batches = 1;
  std::vector<int64_t> steps;
  fixture.hub.on_turn = [&](int64_t turn, Assignment*) {
    steps.push_back(fixture.algorithm.updates);
    fixture.sampler.batches = turn < 3 ? 1 : 100;
  };
  REQUIRE_OK(fixture.Run());
  CHECK(steps == std::vector<int64_t>{0, 0, 1, 3, 5});
  CHECK(fixture.hub.turn_done == 12);
}

TEST_CASE("each update sees the newest evaluation's rewards", "[unit]") {
  Fixture fixture;
  fixture.options.max_learner_steps = 3;
  double evaluations = 0;
  fixture.evaluated_rewards = [&] { return std::vector<double>{++evaluations, -1}; };
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.algorithm.evaluated == std::vector<std::vector<double>>{{1, -1}, {2, -1}, {3, -1}});
}

TEST_CASE("settings are taken before the next update, once each, and are in the checkpoint", "[unit]") {
  Fixture fixture;
  fixture.KeepCheckpoints();
  fixture.options.experiment_yaml = "an experiment";
  const std::vector<std::string> said = {"", "", "a=1\n", "a=1\n", "a=2\n"};
  size_t asked = 0;
  fixture.settings = [&] { return said[std::min(asked++, said.size() - 1)]; };
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.algorithm.settings == std::vector<std::pair<int64_t, std::string>>{{2, "a=1\n"}, {4, "a=2\n"}});
  CHECK(testing::ValueOf(fixture.checkpoints->LoadLatest())->texts.at(kCheckpointExperiment) ==
        "an experiment with a=2\n");
}

}  // namespace
}  // namespace waggle
