#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/replay_server/storage/journal_fixture.h"

namespace waggle::testing {

// A replay store that crashes, or is restarted, and comes back with what is in its folder then. It begins with an empty
// one.
class CrashingReplay {
 public:
  CrashingReplay() { ComeBack(); }

  // From here on it is what a crash at this moment leaves. Its writers and tables so far are those of the one that was
  // there before, which nobody hears of any more.
  void Crash() {
    const std::string before = Path();
    ++life_;
    CopyAfterCrash(before, Path());
    ComeBack();
  }
  // Ends as a server ends, and comes back. Nobody has a writer of it.
  void Restart() {
    lives_.pop_back();
    ComeBack();
  }

  // A table of this configuration, which there is none of.
  void Create(const TableConfig& config) { REQUIRE(ValueOf(store()->CreateTable(config))); }
  // The same, whose writers wait while it has so many items.
  void CreateQueue(const std::string& name, Durability durability, int64_t max_items) {
    TableConfig config = OnceTable(name, durability);
    MakeQueue(max_items, &config);
    Create(config);
  }
  std::shared_ptr<Table> FindTable(const std::string& name) { return ValueOf(store()->FindTable(name)); }
  std::shared_ptr<WriterSession> Open(const std::vector<std::string>& tables, const std::string& id = "w") {
    return testing::Open(&lives_.back(), id, tables);
  }

  void AwaitCommit(const std::string& table) { REQUIRE_OK(testing::AwaitCommit(*FindTable(table))); }
  void AwaitCheckpoint() { REQUIRE_OK(testing::AwaitCheckpoint(lives_.back().journal.get()).status()); }

  ReplayStore* store() { return lives_.back().store.get(); }

 private:
  std::string Path() const { return folder_.File(std::to_string(life_)); }
  void ComeBack() { lives_.push_back(OpenReplay(Path())); }

  const TemporaryFolder folder_;
  int life_ = 0;
  std::deque<DurableReplay> lives_;
};

// Sends a block of an item over each of its rows, which are numbered from the first one on, for each of so many tables.
inline Called Send(WriterSession* session, uint64_t sequence, uint64_t first_row, uint32_t tables, uint32_t rows = 6) {
  InsertBlock block = SimpleBlock(first_row, rows);
  const std::vector<ItemInfo> items = block.items;
  for (uint32_t table = 1; table < tables; ++table) {
    for (ItemInfo item : items) {
      item.table = table;
      block.items.push_back(item);
    }
  }
  Called done;
  session->Insert(sequence, std::move(block), [done](const auto& result) { done(result.status()); });
  return done;
}

}  // namespace waggle::testing
