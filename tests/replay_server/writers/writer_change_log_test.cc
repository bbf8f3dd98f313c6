#include "replay_server/writers/writer_change_log.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/each_failure.h"

namespace waggle {
namespace {

StreamRecord Stream(uint32_t stream, uint64_t next) {
  StreamRecord record;
  record.stream = stream;
  record.next = next;
  return record;
}

// Block `sequence` of one item, after which these streams have so many rows.
BlockChanges Changes(uint64_t sequence, std::vector<StreamRecord> streams) {
  BlockChanges changes;
  changes.sequence = sequence;
  changes.fingerprint = sequence * 100;
  changes.result.items_inserted = 1;
  changes.streams = std::move(streams);
  return changes;
}

std::map<uint32_t, uint64_t> NextRows(const WriterChanges& changes) {
  std::map<uint32_t, uint64_t> next;
  for (const StreamRecord& record : changes.streams) {
    REQUIRE(next.emplace(record.stream, record.next).second);
  }
  return next;
}

TEST_CASE("Changes are those of all blocks up to one, and what later ones are known by", "[unit]") {
  WriterChangeLog log;
  std::vector<StreamRecord> replaced;
  log.Add(Changes(1, {Stream(5, 10), Stream(6, 1)}));
  log.Add(Changes(2, {Stream(5, 20)}));
  log.Add(Changes(3, {Stream(5, 30)}));
  log.AddUp(2, &replaced);
  WriterChanges changes = log.Take();
  CHECK(NextRows(changes) == std::map<uint32_t, uint64_t>{{5, 20}, {6, 1}});
  CHECK(changes.counts.items_inserted == 2);
  CHECK(changes.fingerprints == BlockFingerprints{{3, 300}});
  SECTION("streams that are another way are those of the last block") {
    log.ReplaceStreams({Stream(5, 31), Stream(6, 32)}, &replaced);
    CHECK(NextRows(log.Take()).empty());
    log.AddUp(3, &replaced);
    CHECK(NextRows(log.Take()) == std::map<uint32_t, uint64_t>{{5, 31}, {6, 32}});
    log.ReplaceStreams({Stream(6, 33)}, &replaced);
    CHECK(NextRows(log.Take()) == std::map<uint32_t, uint64_t>{{6, 33}});
  }
  SECTION("a block that is taken back has changed nothing") {
    log.UndoAdd();
    log.AddUp(3, &replaced);
    changes = log.Take();
    CHECK(NextRows(changes).empty());
    CHECK(changes.counts.items_inserted == 2);
    CHECK(changes.fingerprints.empty());
  }
  SECTION("a block may say later what it makes of its streams") {
    log.SetStreams({Stream(7, 1)});
    log.AddUp(3, &replaced);
    CHECK(NextRows(log.Take()) == std::map<uint32_t, uint64_t>{{7, 1}});
  }
}

TEST_CASE("Where memory runs out no change is lost, and none counts twice", "[unit]") {
  constexpr uint32_t kStreams = 40;
  testing::ForEachFailure([](testing::Failure* failure) {
    WriterChangeLog log;
    for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
      std::vector<StreamRecord> streams;
      for (uint32_t stream = 0; stream < kStreams * sequence; ++stream) {
        streams.push_back(Stream(stream, stream + sequence));
      }
      log.Add(Changes(sequence, std::move(streams)));
    }
    log.Add(Changes(3, {}));
    std::vector<StreamRecord> replaced;
    std::vector<WriterChanges> taken;
    const auto take = [&] {
      taken.reserve(1);
      log.AddUp(2, &replaced);
      taken.push_back(log.Take());
    };
    if (!failure->Let(take)) {
      REQUIRE(taken.empty());
      take();
    }
    REQUIRE(taken.front().counts.items_inserted == 2);
    REQUIRE(taken.front().fingerprints == BlockFingerprints{{3, 300}});
    const std::map<uint32_t, uint64_t> next = NextRows(taken.front());
    REQUIRE(next.size() == 2 * kStreams);
    for (const auto& [stream, rows] : next) {
      REQUIRE(rows == stream + 2);
    }
  });
}

}  // namespace
}  // namespace waggle
