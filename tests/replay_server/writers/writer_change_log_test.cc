#include "replay_server/writers/writer_change_log.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

StreamRecord Stream(uint32_t stream, uint64_t next) {
  StreamRecord record;
  record.stream = stream;
  record.next = next;
  return record;
}

// Block `sequence` with one item; afterwards the streams are these.
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

TEST_CASE("changes are the sum over blocks up to one, and the fingerprints of later blocks", "[unit]") {
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
  SECTION("replaced streams belong to the last block") {
    log.ReplaceStreams({Stream(5, 31), Stream(6, 32)}, &replaced);
    CHECK(NextRows(log.Take()).empty());
    log.AddUp(3, &replaced);
    CHECK(NextRows(log.Take()) == std::map<uint32_t, uint64_t>{{5, 31}, {6, 32}});
    log.ReplaceStreams({Stream(6, 33)}, &replaced);
    CHECK(NextRows(log.Take()) == std::map<uint32_t, uint64_t>{{6, 33}});
  }
}

}  // namespace
}  // namespace waggle
