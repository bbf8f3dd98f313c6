#include "replay_server/service/sample_readers.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/reason.h"
#include "replay_server/base/refusal_reasons.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

constexpr int64_t kLimit = 1'000;

// Readers of a server, with a clock that the test advances.
struct Readers {
  struct One {
    std::shared_ptr<absl::Status> ended = std::make_shared<absl::Status>();
    std::shared_ptr<SampleReaders::Reader> reader;
  };

  One Add(const std::string& table, const std::string& who) {
    One one;
    one.reader = all.Add(table, who, [ended = one.ended](absl::Status status) { *ended = std::move(status); });
    return one;
  }
  // Adds a reader that has a batch of `bytes` bytes and has read nothing of it.
  One AddStuck(const std::string& table, const std::string& who, int64_t bytes) {
    One one = Add(table, who);
    one.reader->Wants();
    one.reader->Gets(bytes);
    one.reader->Handed();
    return one;
  }
  void Pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now += absl::Seconds(1);
      all.Tend(now);
    }
  }
  SampleMemory Of(const std::string& table) const {
    std::vector<TablePicture> pictures(2);
    pictures[0].config = std::make_shared<const TableConfig>(testing::SimpleTable("another"));
    pictures[1].config = std::make_shared<const TableConfig>(testing::SimpleTable(table));
    all.Describe(kLimit, &pictures);
    CHECK(pictures[0].sample_memory.waiting == 0);
    return pictures[1].sample_memory;
  }

  SampleReaders all{SampleReadersOptions()};
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
};

TEST_CASE("A sampler that reads nothing is ended after others have waited for its memory", "[unit]") {
  Readers readers;
  const auto stuck = readers.AddStuck("t", "stopped", 900);
  const auto reads = readers.AddStuck("t", "reads", 100);
  readers.Pass(50);
  const auto waits = readers.Add("t", "waits");
  waits.reader->Wants();
  for (int second = 50; second < 59; ++second) {
    reads.reader->Took();
    reads.reader->Handed();
    readers.Pass(1);
  }
  CHECK(stuck.ended->ok());
  reads.reader->Took();
  readers.Pass(3);
  CHECK(absl::IsUnavailable(*stuck.ended));
  CHECK(ReasonOf(*stuck.ended) == reasons::kNotReading);
  CHECK(reads.ended->ok());
  CHECK(waits.ended->ok());
}

TEST_CASE("A sampler that reads nothing is not ended while no other one waits for memory", "[unit]") {
  Readers readers;
  const auto stuck = readers.AddStuck("t", "stopped", 900);
  stuck.reader->Wants();  // For its own next batch.
  const auto other = readers.AddStuck("t", "stopped, too", 100);
  readers.Pass(1'000);
  CHECK(stuck.ended->ok());
  CHECK(other.ended->ok());
  // A short shortage ends no sampler, even one that has read nothing for long. A lasting shortage does.
  const auto waits = readers.Add("t", "waits");
  for (int i = 0; i < 20; ++i) {
    waits.reader->Wants();
    readers.Pass(3);
    waits.reader->Gets(1);
  }
  CHECK(stuck.ended->ok());
  waits.reader->Wants();
  readers.Pass(7);
  CHECK_FALSE(stuck.ended->ok());
  CHECK_FALSE(other.ended->ok());
}

TEST_CASE("Time in which this process stood still ends no sampler", "[unit]") {
  Readers readers;
  const auto stuck = readers.AddStuck("t", "s", 900);
  const auto waits = readers.Add("t", "waits");
  waits.reader->Wants();
  readers.Pass(2);
  readers.now += absl::Hours(1);
  readers.Pass(2);
  CHECK(stuck.ended->ok());
}

TEST_CASE("A sampler that has no memory, or is gone, is not ended", "[unit]") {
  Readers readers;
  auto gone = readers.AddStuck("t", "gone", 900);
  const auto small = readers.AddStuck("t", "opening", 0);
  const auto waits = readers.Add("t", "waits");
  waits.reader->Wants();
  readers.Pass(30);
  gone.reader.reset();
  readers.Pass(100);
  CHECK(gone.ended->ok());
  CHECK(small.ended->ok());
}

TEST_CASE("Waiting samplers and holders of memory are described by table", "[unit]") {
  Readers readers;
  const auto stuck = readers.AddStuck("other", "stopped", 900);
  const auto some = readers.AddStuck("t", "some", 40);
  const auto first = readers.Add("t", "first");
  first.reader->Wants();
  first.reader->Wants();
  readers.Pass(10);
  const auto second = readers.Add("t", "second");
  second.reader->Wants();
  readers.Pass(3);
  some.reader->Took();
  readers.Pass(1);
  const SampleMemory memory = readers.Of("t");
  CHECK(memory.limit == kLimit);
  CHECK(memory.waiting == 3);
  CHECK(memory.who == "first");
  CHECK(memory.waited >= absl::Seconds(12));
  REQUIRE(memory.holders.size() == 2);
  CHECK(memory.holders[0].who == "stopped");
  CHECK(memory.holders[0].table == "other");
  CHECK(memory.holders[0].bytes == 900);
  CHECK(memory.holders[0].unread >= absl::Seconds(12));
  CHECK(memory.holders[1].bytes == 40);
  CHECK(memory.holders[1].unread == absl::ZeroDuration());
  first.reader->Gets(10);
  first.reader->GivesBack(10);
  CHECK(readers.Of("t").waiting == 2);
}

}  // namespace
}  // namespace waggle
