#include "replay_server/rows/chunk_tier.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/rows/chunk_tiers.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/support/catch.h"
#include "tests/support/stuck_stream.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::HasBytes;
using testing::kTieredBlockBytes;
using testing::TieredBlock;

struct Bed {
  explicit Bed(int64_t blocks_in_memory) : tier(tiers.New("t", blocks_in_memory * kTieredBlockBytes)) {}

  // Waits until the memory is within the limit.
  void Settle() {
    Eventually("rows leave", [this] { return tier->info().memory_bytes <= tier->limit(); });
  }
  bool InMemory(const ChunkRef& chunk) const {
    const Chunk* const one = chunk.get();
    PinnedRows pinned;
    return pinned.TryPin({&one, 1});
  }
  absl::Status Answer() {
    auto answered = std::make_shared<std::atomic<bool>>(false);
    auto result = std::make_shared<absl::Status>();
    tier->AfterRoom([answered, result](const absl::Status& status) {
      *result = status;
      *answered = true;
    });
    Eventually("the answer", [&] { return answered->load(); });
    return *result;
  }

  std::shared_ptr<testing::FakeColdRows> disk = std::make_shared<testing::FakeColdRows>();
  ChunkTiers tiers{disk};
  std::shared_ptr<ChunkTier> tier;
};

std::vector<ChunkRef> Blocks(const Bed& bed, int first, int count) {
  std::vector<ChunkRef> blocks;
  for (int i = first; i < first + count; ++i) {
    blocks.push_back(TieredBlock(bed.tier, static_cast<char>(i)));
  }
  return blocks;
}

// Reads blocks 0, 1, ….
void CheckReads(const std::vector<ChunkRef>& blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    PinnedRows pinned;
    REQUIRE_OK(pinned.Pin(*blocks[i]));
    REQUIRE(HasBytes(*blocks[i], static_cast<char>(i)));
  }
}

}  // namespace

TEST_CASE("rows past the limit go to disk, oldest first, and come back unchanged", "[unit]") {
  Bed bed(10);
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 50);
  bed.Settle();
  ChunkTier::Info info = bed.tier->info();
  CHECK(info.memory_bytes == 10 * kTieredBlockBytes);
  CHECK(info.disk_bytes == 40 * kTieredBlockBytes);
  CHECK(info.writes == 40);
  CHECK(info.reads == 0);
  for (int i = 40; i < 50; ++i) {
    CHECK(bed.InMemory(blocks[i]));
  }
  CheckReads(blocks);
  bed.Settle();
  info = bed.tier->info();
  CHECK(info.reads >= 40);
  CHECK(info.disk_bytes == 40 * kTieredBlockBytes);
  // Rows on disk are not written again; others may stay in memory instead.
  CHECK(info.writes <= 50);
}

TEST_CASE("rows that were read stay in memory longer", "[unit]") {
  Bed bed(10);
  const std::vector<ChunkRef> old = Blocks(bed, 0, 10);
  {
    PinnedRows pinned;
    REQUIRE_OK(pinned.Pin(*old[3]));
  }
  const std::vector<ChunkRef> young = Blocks(bed, 10, 5);
  bed.Settle();
  CHECK(bed.InMemory(old[3]));
  CHECK_FALSE(bed.InMemory(old[2]));
  CHECK_FALSE(bed.InMemory(old[4]));
}

TEST_CASE("pinned rows stay in memory past every limit", "[unit]") {
  Bed bed(10);
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 10);
  PinnedRows pinned;
  REQUIRE_OK(pinned.Pin(*blocks[0]));
  bed.tier->SetLimit(1);
  Eventually("all others leave", [&] { return bed.tier->info().memory_bytes == kTieredBlockBytes; });
  CHECK(HasBytes(*blocks[0], 0));
  pinned.Unpin();
  Eventually("the last one leaves", [&] { return bed.tier->info().memory_bytes == 0; });
  bed.tier->SetLimit(100 * kTieredBlockBytes);
  for (const ChunkRef& block : blocks) {
    REQUIRE_OK(pinned.Pin(*block));
  }
  CHECK(bed.tier->info().memory_bytes == 10 * kTieredBlockBytes);
}

TEST_CASE("a block that is gone leaves memory and disk", "[unit]") {
  Bed bed(10);
  std::vector<ChunkRef> blocks = Blocks(bed, 0, 50);
  bed.Settle();
  CHECK(bed.disk->blocks() == 40);
  blocks.clear();
  CHECK(bed.tier->info().memory_bytes == 0);
  CHECK(bed.tier->info().disk_bytes == 0);
  Eventually("their records leave", [&] { return bed.disk->blocks() == 0; });
}

TEST_CASE("inserts wait for a slow disk, and the memory stays bounded", "[unit]") {
  Bed bed(16);
  bed.disk->Hold(true);
  std::vector<ChunkRef> blocks;
  // One writer with one block under way.
  std::atomic<int> answered{0};
  int inserted = 0;
  while (answered == inserted) {
    blocks.push_back(TieredBlock(bed.tier, static_cast<char>(inserted++)));
    bed.tier->AfterRoom([&](const absl::Status& status) { answered += status.ok() ? 1 : 0; });
    REQUIRE(inserted < 100);
  }
  CHECK(inserted == 16 + 2 + 1);  // The limit, its margin and one.
  CHECK(bed.tier->info().memory_bytes == inserted * kTieredBlockBytes);
  CHECK(bed.tier->info().inserts_waiting == 1);
  bed.disk->AwaitWriter();
  CHECK(answered == inserted - 1);
  bed.disk->Hold(false);
  Eventually("the answer", [&] { return answered == inserted; });
  bed.Settle();
}

TEST_CASE("a disk that refuses writes loses nothing, and writing continues later", "[unit]") {
  Bed bed(8);
  bed.disk->Fail(absl::ResourceExhaustedError("no space"));
  std::vector<ChunkRef> blocks = Blocks(bed, 0, 20);
  bool answered = false;
  bed.tier->AfterRoom([&](const absl::Status& status) { answered = status.ok(); });
  Eventually("the failure", [&] { return !bed.tier->info().status.ok(); });
  CHECK_FALSE(WhyTierWaits(bed.tier->info()).empty());
  CHECK(bed.tier->info().memory_bytes == 20 * kTieredBlockBytes);
  CHECK_FALSE(answered);
  CheckReads(blocks);
  bed.disk->Fail(absl::OkStatus());
  CHECK(bed.Answer().ok());
  CHECK(bed.tier->info().status.ok());
  CheckReads(blocks);
}

TEST_CASE("a stuck log of a disk that refuses blocks no reader", "[unit]") {
  Bed bed(4);
  testing::StuckStream stuck(STDERR_FILENO);
  bed.disk->Fail(absl::ResourceExhaustedError("no space"));
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 8);
  Eventually("the failure", [&] { return !bed.tier->info().status.ok(); });
  CheckReads(blocks);
  stuck.LetGo();
  bed.disk->Fail(absl::OkStatus());
  CHECK(bed.Answer().ok());
}

TEST_CASE("damaged rows are DATA_LOSS, and others can be read", "[unit]") {
  Bed bed(4);
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 8);
  bed.Settle();
  bed.disk->Damage(true);
  PinnedRows pinned;
  REQUIRE_CODE(pinned.Pin(*blocks[0]), absl::StatusCode::kDataLoss);
  REQUIRE_OK(pinned.Pin(*blocks[7]));
  CHECK(HasBytes(*blocks[7], 7));
  bed.disk->Damage(false);
  REQUIRE_OK(pinned.Pin(*blocks[0]));
  CHECK(HasBytes(*blocks[0], 0));
}

TEST_CASE("rows that cannot be read for lack of files or memory are UNAVAILABLE", "[unit]") {
  Bed bed(4);
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 8);
  bed.Settle();
  bed.disk->FailReads(GENERATE(absl::ResourceExhaustedError("Too many open files"),
                               absl::UnavailableError("the database is opened anew")));
  PinnedRows pinned;
  const absl::Status status = pinned.Pin(*blocks[0]);
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
  CHECK(ReasonOf(status) == reasons::kDisk);
  bed.disk->FailReads(absl::OkStatus());
  REQUIRE_OK(pinned.Pin(*blocks[0]));
  CHECK(HasBytes(*blocks[0], 0));
}

TEST_CASE("a block that a journal has written is not written again", "[unit]") {
  Bed bed(4);
  const auto ledger = std::make_shared<BlockLedger>(1);
  std::vector<ChunkRef> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(TieredBlock(bed.tier, static_cast<char>(i), {ledger, false}));
  }
  blocks[0]->durable()->stored = true;
  blocks[0]->durable()->committed = true;
  const std::vector<ChunkRef> more = Blocks(bed, 4, 4);
  bed.Settle();
  CHECK(bed.disk->writes() == 3);
  CHECK(blocks[1]->durable()->committed);
  CHECK((blocks[1]->durable()->id & kTieredBlock) != 0);
  // The journal deletes records that it refers to, the tier the others.
  const uint64_t first = blocks[0]->durable()->id;
  blocks.clear();
  Eventually("the records leave", [&] { return bed.disk->blocks() == 0; });
  CHECK(ledger->TakeGone().logged == std::vector<uint64_t>{first});
}

TEST_CASE("many readers of more than fits read the right rows, and the memory stays bounded", "[unit]") {
  constexpr int kBlocks = 200;
  constexpr int kReaders = 8;
  Bed bed(32);
  std::atomic<int64_t> most{0};
  bed.disk->OnRead([&] {
    const int64_t now = bed.tier->info().memory_bytes;
    for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
  });
  std::vector<ChunkRef> blocks = Blocks(bed, 0, kBlocks);
  bed.Settle();
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      Rng rng = Rng::Split(1, "reader", static_cast<uint64_t>(reader));
      for (int round = 0; round < 300; ++round) {
        std::vector<SampledItem> items(4 + rng.UniformInt(8));
        std::vector<char> values;
        for (SampledItem& item : items) {
          const auto number = rng.UniformInt(kBlocks);
          values.push_back(static_cast<char>(number));
          item.window.chunks.push_back(blocks[number]);
        }
        PinnedRows pinned;
        for (size_t first = 0; first < items.size();) {
          const absl::StatusOr<size_t> count = pinned.Pin(absl::MakeConstSpan(items).subspan(first));
          if (!count.ok() || *count == 0) {
            ++wrong;
            return;
          }
          for (size_t i = first; i < first + *count; ++i) {
            wrong += HasBytes(*items[i].window.chunks[0], values[i]) ? 0 : 1;
          }
          first += *count;
        }
      }
    });
  }
  // Other blocks come and go meanwhile; their writer waits for room.
  std::vector<ChunkRef> passing;
  for (int i = 0; i < 200; ++i) {
    passing.push_back(TieredBlock(bed.tier, 'x'));
    CHECK(bed.Answer().ok());
    if (passing.size() == 20) {
      passing.clear();
    }
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK(wrong == 0);
  // The limit, its margin, one reader's group above it, and one new block.
  CHECK(most <= (32 + 4 + 4 + 1) * kTieredBlockBytes);
  passing.clear();
  bed.Settle();
  CHECK(bed.tier->info().disk_bytes + bed.tier->info().memory_bytes == kBlocks * kTieredBlockBytes);
  blocks.clear();
  Eventually("all records leave", [&] { return bed.disk->blocks() == 0; });
}

TEST_CASE("a reader that needs much memory gets it before later readers that need little", "[unit]") {
  Bed bed(10);
  const std::vector<ChunkRef> blocks = Blocks(bed, 0, 40);
  bed.Settle();
  Window large;  // More than fits: it waits until no other reader is left.
  for (int i = 0; i < 20; ++i) {
    large.chunks.push_back(blocks[i]);
  }
  std::vector<SampledItem> hot(1);
  hot[0].window.chunks.push_back(blocks[39]);
  PinnedRows first;
  REQUIRE(first.TryPin(hot));
  const auto waiting = [&bed](int64_t readers) {
    Eventually("readers wait", [&bed, readers] { return bed.tier->info().readers_waiting == readers; });
  };
  Mutex mutex;
  std::vector<int> order;
  const auto pinned = [&mutex, &order](int number) {
    MutexLock lock(&mutex);
    order.push_back(number);
  };
  std::thread large_reader([&] {
    PinnedRows rows;
    WAGGLE_CHECK(rows.Pin(large).ok(), "the large reader's rows");
    pinned(1);
  });
  waiting(1);
  std::thread small_reader([&] {
    PinnedRows rows;
    WAGGLE_CHECK(rows.Pin(*blocks[25]).ok(), "the small reader's rows");
    pinned(2);
  });
  waiting(2);
  PinnedRows second;
  CHECK_FALSE(second.TryPin(hot));  // It would overtake them.
  CHECK(bed.InMemory(blocks[39]));
  first.Unpin();
  large_reader.join();
  small_reader.join();
  CHECK(order == std::vector<int>{1, 2});
  REQUIRE_OK(second.Pin(*blocks[39]));
}

TEST_CASE("blocks and tiers may outlive their writing thread", "[unit]") {
  std::vector<ChunkRef> blocks;
  std::shared_ptr<ChunkTier> tier;
  bool cancelled = false;
  {
    Bed bed(2);
    blocks = Blocks(bed, 0, 8);
    bed.Settle();
    bed.disk->Hold(true);
    for (int i = 8; i < 12; ++i) {
      blocks.push_back(TieredBlock(bed.tier, static_cast<char>(i)));
    }
    bed.tier->AfterRoom([&](const absl::Status& status) { cancelled = absl::IsCancelled(status); });
    bed.disk->AwaitWriter();
    bed.disk->Fail(absl::ResourceExhaustedError("no space"));
    bed.disk->Hold(false);
    tier = bed.tier;
    bed.tiers.Stop();
  }
  CHECK(cancelled);
  CheckReads(blocks);
  blocks.clear();
  CHECK(tier->info().memory_bytes == 0);
}

}  // namespace waggle
