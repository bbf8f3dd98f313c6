#include "param_server/experiments/experiment_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <thread>
#include <tuple>

#include "absl/strings/match.h"
#include "param_server/experiments/sqlite_database.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::FullDisk;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr absl::Time kNoon = absl::FromUnixMicros(1'700'000'000'123'456);

auto Fields(const ExperimentRecord& record) {
  return std::tie(record.id, record.sequence, record.name, record.algorithm, record.environment, record.seed,
                  record.priority, record.state, record.reason, record.software_version, record.output_folder,
                  record.submitted, record.started, record.ended, record.attempts, record.replay_storage,
                  record.settings, record.membership.population, record.membership.exploit,
                  record.membership.exploited_at, record.labels.group, record.labels.varied, record.labels.tags,
                  record.labels.owner);
}

auto Fields(const ExperimentTexts& texts) {
  return std::tie(texts.request_id, texts.submitted_yaml, texts.effective_yaml, texts.last_overview);
}

// A record with different values in all fields.
ExperimentRecord FullRecord() {
  ExperimentRecord record;
  record.id = "cartpole-k3x9a";
  record.name = "cartpole";
  record.algorithm = "apex_dqn";
  record.environment = "CartPole-v1";
  record.seed = -1;
  record.priority = std::numeric_limits<int64_t>::max();
  record.state = RunState::kFinishing;
  record.reason = "two\nlines; 'quoted' \"twice\"";
  record.software_version = "0.1.0";
  record.output_folder = "runs/cartpole";
  record.submitted = kNoon;
  record.started = kNoon + absl::Seconds(1);
  record.ended = absl::FromUnixMicros(-5);
  record.attempts = 3;
  record.replay_storage = {{0, "a"}, {7, ""}, {2, std::string("\0b", 2)}};
  record.settings = "algorithm.clip=0.1\n";
  record.membership = {"cartpole-k3x9a", {"cartpole-k3x9a-2", 7}, 90'000};
  record.labels = {"cartpole-k3x9a", {"experiment.seed=1", "algorithm.clip=0.1"}, {"baseline", "paper"}, "ada"};
  return record;
}

ExperimentTexts FullTexts() {
  return {"5f", "experiment:\n  name: cartpole\n", std::string(300'000, 'y'), std::string("\0\1\xff\xfe\0", 5)};
}

ExperimentRecord Record(const std::string& id) {
  ExperimentRecord record;
  record.id = id;
  record.submitted = kNoon;
  return record;
}

absl::StatusOr<std::vector<ExperimentRecord>> LoadAll(ExperimentStore* store) {
  std::vector<ExperimentRecord> records;
  const absl::Status loaded =
      store->Load([&](ExperimentRecord record, const std::string&) { records.push_back(std::move(record)); });
  return loaded.ok() ? absl::StatusOr<std::vector<ExperimentRecord>>(std::move(records)) : loaded;
}

std::vector<std::string> Ids(ExperimentStore* store) {
  std::vector<std::string> ids;
  for (const ExperimentRecord& record : ValueOf(LoadAll(store))) {
    ids.push_back(record.id);
  }
  return ids;
}

std::vector<std::string> Texts(const std::vector<ExperimentEvent>& events) {
  std::vector<std::string> texts;
  for (const ExperimentEvent& event : events) {
    texts.push_back(event.text);
  }
  return texts;
}

// A store that can be opened again.
struct Fixture {
  TemporaryFolder folder;
  std::string path = folder.File("experiments.db");
  std::unique_ptr<ExperimentStore> store = ValueOf(ExperimentStore::Open(path));

  void Reopen() {
    store.reset();
    store = ValueOf(ExperimentStore::Open(path));
  }
};

absl::Status AddEvent(ExperimentStore* store, const std::string& id, absl::Time at, const std::string& text) {
  return store->AddEvents({{id, {0, at, text}}});
}

bool WasDeleted(ExperimentStore* store, const std::string& id) {
  const std::vector<std::string> ids = ValueOf(store->Deleted());
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST_CASE_METHOD(Fixture, "A new store is empty", "[unit]") {
  CHECK(Ids(store.get()).empty());
  CHECK_FALSE(WasDeleted(store.get(), "x"));
}

TEST_CASE_METHOD(Fixture, "All fields are read back, also after the store is opened again", "[unit]") {
  ExperimentRecord full = FullRecord();
  full.sequence = ValueOf(store->Add(full, FullTexts()));
  ExperimentRecord empty;
  empty.sequence = ValueOf(store->Add(empty));
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    const std::vector<ExperimentRecord> records = ValueOf(LoadAll(store.get()));
    REQUIRE(records.size() == 2);
    CHECK(Fields(records[0]) == Fields(full));
    CHECK(Fields(records[1]) == Fields(empty));
    CHECK(Fields(ValueOf(store->Texts(full.id))) == Fields(FullTexts()));
    CHECK(Fields(ValueOf(store->Texts(""))) == Fields(ExperimentTexts()));
  }
}

TEST_CASE_METHOD(Fixture, "An update replaces all fields except the sequence and the texts", "[unit]") {
  const int64_t sequence = ValueOf(store->Add(Record("cartpole-k3x9a"), FullTexts()));
  ExperimentRecord full = FullRecord();
  full.sequence = 99;
  REQUIRE_OK(store->Update(full));
  full.sequence = sequence;
  CHECK(Fields(ValueOf(LoadAll(store.get())).at(0)) == Fields(full));
  CHECK(Fields(ValueOf(store->Texts(full.id))) == Fields(FullTexts()));
  REQUIRE_OK(store->Update(Record("cartpole-k3x9a")));
  ExperimentRecord plain = Record("cartpole-k3x9a");
  plain.sequence = sequence;
  CHECK(Fields(ValueOf(LoadAll(store.get())).at(0)) == Fields(plain));
}

TEST_CASE_METHOD(Fixture, "Several experiments are added together or not at all", "[unit]") {
  std::vector<ExperimentStore::NewExperiment> both = {{Record("a"), FullTexts()}, {Record("b"), {}}};
  REQUIRE_OK(store->AddAll(&both));
  CHECK(both[0].first.sequence < both[1].first.sequence);
  std::vector<ExperimentStore::NewExperiment> known = {{Record("c"), {}}, {Record("b"), {}}};
  REQUIRE_CODE(store->AddAll(&known), absl::StatusCode::kAlreadyExists);
  Reopen();
  CHECK(Ids(store.get()) == std::vector<std::string>{"a", "b"});
}

TEST_CASE_METHOD(Fixture, "A store that was made before there were settings, populations and labels is read",
                 "[unit]") {
  ExperimentRecord record = Record("x");
  record.sequence = ValueOf(store->Add(record));
  store.reset();
  REQUIRE_OK(ValueOf(SqliteDatabase::Open(path, {0x57676c65, 1, ""}))
                 ->Run("DROP TABLE settings; DROP TABLE populations; DROP TABLE labels"));
  store = ValueOf(ExperimentStore::Open(path));
  CHECK(Fields(ValueOf(LoadAll(store.get())).at(0)) == Fields(record));
  record.settings = "a=1\n";
  REQUIRE_OK(store->Update(record));
  Reopen();
  CHECK(Fields(ValueOf(LoadAll(store.get())).at(0)) == Fields(record));
}

TEST_CASE_METHOD(Fixture, "A population of a store without labels is a group", "[unit]") {
  REQUIRE_OK(store->Add(FullRecord()));
  store.reset();
  REQUIRE_OK(ValueOf(SqliteDatabase::Open(path, {0x57676c65, 1, ""}))->Run("DROP TABLE labels"));
  store = ValueOf(ExperimentStore::Open(path));
  const ExperimentRecord read = ValueOf(LoadAll(store.get())).at(0);
  CHECK(read.labels.group == FullRecord().membership.population);
  CHECK(read.labels.tags.empty());
}

TEST_CASE_METHOD(Fixture, "The last overview of a closed run comes with its record", "[unit]") {
  REQUIRE_OK(store->Add(Record("x"), FullTexts()));
  REQUIRE_OK(store->Add(Record("other")));
  ExperimentRecord closed = Record("x");
  closed.state = RunState::kSolved;
  REQUIRE_OK(store->UpdateClosed(closed, "last"));
  std::vector<std::string> overviews;
  REQUIRE_OK(store->Load([&](const ExperimentRecord& record, const std::string& last_overview) {
    overviews.push_back(record.id + " " + RunStateName(record.state) + " " + last_overview);
  }));
  CHECK(overviews == std::vector<std::string>{"x solved last", "other queued "});
  ExperimentTexts texts = FullTexts();
  texts.last_overview = "last";
  CHECK(Fields(ValueOf(store->Texts("x"))) == Fields(texts));
  REQUIRE_CODE(store->UpdateClosed(Record("none"), ""), absl::StatusCode::kNotFound);
  REQUIRE_CODE(store->Texts("none"), absl::StatusCode::kNotFound);
}

TEST_CASE_METHOD(Fixture, "All states of a run are stored", "[unit]") {
  ExperimentRecord record = Record("x");
  REQUIRE_OK(store->Add(record));
  for (int state = 1; state <= static_cast<int>(RunState::kStopped); ++state) {
    record.state = static_cast<RunState>(state);
    REQUIRE_OK(store->Update(record));
    CHECK(ValueOf(LoadAll(store.get())).at(0).state == record.state);
  }
}

TEST_CASE_METHOD(Fixture, "Experiments come in the order of their submission, and no sequence is given twice",
                 "[unit]") {
  const int64_t first = ValueOf(store->Add(Record("z")));
  const int64_t second = ValueOf(store->Add(Record("a")));
  const int64_t third = ValueOf(store->Add(Record("m")));
  CHECK(first < second);
  CHECK(second < third);
  CHECK(Ids(store.get()) == std::vector<std::string>{"z", "a", "m"});
  REQUIRE_OK(store->Delete("m"));
  Reopen();
  CHECK(ValueOf(store->Add(Record("b"))) > third);
  CHECK(Ids(store.get()) == std::vector<std::string>{"z", "a", "b"});
}

TEST_CASE_METHOD(Fixture, "An id and a request_id can be used only once", "[unit]") {
  ExperimentTexts texts;
  texts.request_id = "r";
  REQUIRE_OK(store->Add(Record("x"), texts));
  CHECK(ValueOf(store->IdOfRequest("r")) == "x");
  CHECK(ValueOf(store->IdOfRequest("other")) == std::nullopt);
  REQUIRE_CODE(store->Add(Record("x")), absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(store->Add(Record("y"), texts), absl::StatusCode::kAlreadyExists);
  CHECK(Ids(store.get()) == std::vector<std::string>{"x"});
  REQUIRE_OK(store->Add(Record("y")));
  REQUIRE_OK(store->Add(Record("z")));
  CHECK(ValueOf(store->IdOfRequest("")) == std::nullopt);
}

TEST_CASE_METHOD(Fixture, "Only the id of a deleted experiment stays", "[unit]") {
  ExperimentRecord record = FullRecord();
  REQUIRE_OK(store->Add(record, FullTexts()));
  REQUIRE_OK(store->Add(Record("other")));
  CHECK_FALSE(WasDeleted(store.get(), record.id));
  REQUIRE_OK(store->Delete(record.id));
  Reopen();
  CHECK(WasDeleted(store.get(), record.id));
  CHECK_FALSE(WasDeleted(store.get(), "other"));
  CHECK(Ids(store.get()) == std::vector<std::string>{"other"});
  REQUIRE_CODE(store->Add(record), absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(store->Delete(record.id), absl::StatusCode::kNotFound);
  record.id = "new";  // Its request_id is free again.
  REQUIRE_OK(store->Add(record, FullTexts()));
}

TEST_CASE_METHOD(Fixture, "Calls for an unknown experiment are errors", "[unit]") {
  REQUIRE_CODE(store->Update(Record("x"), "event"), absl::StatusCode::kNotFound);
  REQUIRE_CODE(store->Delete("x"), absl::StatusCode::kNotFound);
  REQUIRE_OK(AddEvent(store.get(), "x", kNoon, "event"));
  REQUIRE_CODE(store->Events("x", 0, 10), absl::StatusCode::kNotFound);
  CHECK_FALSE(WasDeleted(store.get(), "x"));
}

TEST_CASE_METHOD(Fixture, "Events of an experiment come oldest first", "[unit]") {
  REQUIRE_OK(store->Add(Record("x")));
  REQUIRE_OK(store->Add(Record("y")));
  REQUIRE_OK(AddEvent(store.get(), "x", kNoon + absl::Seconds(2), "begun"));
  REQUIRE_OK(AddEvent(store.get(), "y", kNoon, "of another"));
  REQUIRE_OK(store->Update(Record("x"), std::string("up\0dated", 8), kNoon + absl::Seconds(1)));
  REQUIRE_OK(store->Update(Record("x")));  // Without an event.
  Reopen();
  const std::vector<ExperimentEvent> events = ValueOf(store->Events("x", 0, 100));
  REQUIRE(Texts(events) == std::vector<std::string>{"submitted", "begun", std::string("up\0dated", 8)});
  CHECK(events[0].at == kNoon);
  CHECK(events[1].at == kNoon + absl::Seconds(2));
  CHECK(events[2].at == kNoon + absl::Seconds(1));
  CHECK(events[0].number > 0);
  CHECK(events[0].number < events[1].number);
  CHECK(events[1].number < events[2].number);
  CHECK(Texts(ValueOf(store->Events("x", 0, 2))) == std::vector<std::string>{"submitted", "begun"});
  CHECK(Texts(ValueOf(store->Events("x", events[0].number, 1))) == std::vector<std::string>{"begun"});
  CHECK(ValueOf(store->Events("x", events[2].number, 100)).empty());
  CHECK(ValueOf(store->Events("x", std::numeric_limits<uint64_t>::max(), 100)).empty());
  CHECK(ValueOf(store->Events("x", 0, 0)).empty());
  CHECK(ValueOf(store->Events("x", 0, -1)).empty());
}

TEST_CASE_METHOD(Fixture, "An event of an update without a time has the present time", "[unit]") {
  REQUIRE_OK(store->Add(Record("x")));
  const absl::Time before = absl::FromUnixMicros(absl::ToUnixMicros(absl::Now()));
  REQUIRE_OK(store->Update(Record("x"), "event"));
  CHECK(ValueOf(store->Events("x", 0, 2)).at(1).at >= before);
}

TEST_CASE("Only the newest events of each experiment are kept", "[unit]") {
  const TemporaryFolder folder;
  const auto store = ValueOf(ExperimentStore::Open(folder.File("experiments.db"), 3));
  REQUIRE_OK(store->Add(Record("other")));
  REQUIRE_OK(store->Add(Record("x")));
  for (const char* text : {"a", "b", "c", "d"}) {
    REQUIRE_OK(AddEvent(store.get(), "x", kNoon, text));
  }
  const std::vector<ExperimentEvent> events = ValueOf(store->Events("x", 0, 10));
  REQUIRE(Texts(events) == std::vector<std::string>{"b", "c", "d"});
  REQUIRE_OK(store->Update(Record("x"), "e"));
  CHECK(Texts(ValueOf(store->Events("x", events[1].number, 10))) == std::vector<std::string>{"d", "e"});
  CHECK(ValueOf(store->Events("x", events[2].number, 10)).at(0).number > events[2].number);
  CHECK(Texts(ValueOf(store->Events("other", 0, 10))) == std::vector<std::string>{"submitted"});
}

TEST_CASE_METHOD(Fixture, "Threads share a store", "[unit]") {
  REQUIRE_OK(store->Add(Record("x")));
  std::vector<std::thread> threads;
  std::array<absl::Status, 4> statuses;
  for (absl::Status& status : statuses) {
    threads.emplace_back([this, &status] {
      for (int i = 0; i < 50; ++i) {
        status.Update(AddEvent(store.get(), "x", kNoon, "event"));
        status.Update(LoadAll(store.get()).status());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const absl::Status& status : statuses) {
    REQUIRE_OK(status);
  }
  CHECK(ValueOf(store->Events("x", 0, 1000)).size() == 201);
}

// Updates in a loop, and writes to the pipe after each update, until it is killed.
[[noreturn]] void UpdateForever(const std::string& path, int acknowledged) {
  const auto store = ExperimentStore::Open(path);
  if (!store.ok()) {
    _exit(1);
  }
  const auto loaded = LoadAll(store->get());
  if (!loaded.ok() || loaded->size() != 1) {
    _exit(2);
  }
  ExperimentRecord record = loaded->front();
  while (true) {
    ++record.attempts;
    // Large enough that the log is written back to the database now and then.
    record.reason = std::string(100'000, static_cast<char>(record.attempts));
    record.replay_storage = {{record.attempts, "x"}};
    if (!(*store)->Update(record, std::to_string(record.attempts)).ok() ||
        write(acknowledged, &record.attempts, sizeof(record.attempts)) != sizeof(record.attempts)) {
      _exit(3);
    }
  }
}

TEST_CASE("Acknowledged updates survive a kill, and no update is partial", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("experiments.db");
  REQUIRE_OK(ValueOf(ExperimentStore::Open(path))->Add(Record("x")));
  int64_t attempts = 0;
  for (int kills = 0; kills < 10; ++kills) {
    std::array<int, 2> acknowledged;
    REQUIRE(pipe(acknowledged.data()) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      close(acknowledged[0]);
      UpdateForever(path, acknowledged[1]);
    }
    close(acknowledged[1]);
    int64_t last = 0;
    for (int i = 0; i < 20 + 7 * kills; ++i) {
      REQUIRE(read(acknowledged[0], &last, sizeof(last)) == sizeof(last));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(acknowledged[0], &last, sizeof(last)) == sizeof(last)) {
    }
    close(acknowledged[0]);
    CHECK(last > attempts);

    const auto store = ValueOf(ExperimentStore::Open(path));
    const ExperimentRecord record = ValueOf(LoadAll(store.get())).at(0);
    attempts = record.attempts;
    CHECK((attempts == last || attempts == last + 1));
    CHECK(record.reason == std::string(100'000, static_cast<char>(attempts)));
    CHECK(record.replay_storage == std::map<int64_t, std::string>{{attempts, "x"}});
    const std::vector<ExperimentEvent> events = ValueOf(store->Events("x", 0, 100'000));
    REQUIRE(events.size() == static_cast<size_t>(attempts) + 1);
    CHECK(events.back().text == std::to_string(attempts));
  }
}

TEST_CASE_METHOD(Fixture, "A change that fails on a full disk changes nothing", "[unit]") {
  ExperimentRecord record = Record("x");
  record.sequence = ValueOf(store->Add(record));
  {
    const FullDisk full(100'000);
    ExperimentRecord changed = record;
    changed.reason = std::string(200'000, 'x');
    changed.replay_storage = {{0, "s"}};
    REQUIRE_CODE(store->Update(changed, "event"), absl::StatusCode::kResourceExhausted);
    changed.id = "y";
    const absl::Status status = store->Add(changed).status();
    REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
    CHECK(absl::StrContains(status.message(), path));
  }
  for (const bool reopened : {false, true}) {
    if (reopened) {
      Reopen();
    }
    const std::vector<ExperimentRecord> records = ValueOf(LoadAll(store.get()));
    REQUIRE(records.size() == 1);
    CHECK(Fields(records[0]) == Fields(record));
    CHECK(ValueOf(store->Events("x", 0, 10)).size() == 1);
  }
  REQUIRE_OK(store->Add(FullRecord()));
}

TEST_CASE_METHOD(Fixture, "An unknown state is reported as damage", "[unit]") {
  REQUIRE_OK(store->Add(Record("x")));
  store.reset();
  {
    constexpr SqliteFormat kFormat = {0x57676c65, 1, ""};
    const auto database = ValueOf(SqliteDatabase::Open(path, kFormat));
    REQUIRE_OK(database->Run("UPDATE experiments SET state = CAST('asleep' AS BLOB)"));
  }
  store = ValueOf(ExperimentStore::Open(path));
  const absl::Status status = LoadAll(store.get()).status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(status.message(), path));
}

TEST_CASE_METHOD(Fixture, "A store of a later format is refused", "[unit]") {
  store.reset();
  {
    constexpr SqliteFormat kFormat = {0x57676c65, 1, ""};
    REQUIRE_OK(ValueOf(SqliteDatabase::Open(path, kFormat))->Run("PRAGMA user_version = 2"));
  }
  const absl::Status status = ExperimentStore::Open(path).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), path));
}

}  // namespace
}  // namespace waggle
