#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/replay_server/storage/journal_fixture.h"

namespace waggle::testing {

// A replay store that crashes or restarts, and comes back with the contents of its folder. The folder is empty at
// first.
class CrashingReplay {
 public:
  CrashingReplay() { ComeBack(); }

  // Goes on with the state that a crash at this moment leaves. Writers and tables from before belong to the old store.
  void Crash() {
    const std::string before = Path();
    ++life_;
    CopyAfterCrash(before, Path());
    ComeBack();
  }
  // Ends as a server ends, and comes back. There must be no writers.
  void Restart() {
    lives_.pop_back();
    ComeBack();
  }

  // A new table.
  void Create(const TableConfig& config) { REQUIRE(ValueOf(store()->CreateTable(config))); }
  // The same; its writers wait while it has `max_items` items.
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

  ReplayStore* store() { return now()->store.get(); }
  DurableReplay* now() { return &lives_.back(); }
  std::string Path() const { return folder_.File(std::to_string(life_)); }

 private:
  void ComeBack() { lives_.push_back(OpenReplay(Path())); }

  const TemporaryFolder folder_;
  int life_ = 0;
  std::deque<DurableReplay> lives_;
};

// Sends a block of `rows` rows from `first_row` on, with an item over each row for each of `tables` tables.
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
