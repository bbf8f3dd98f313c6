#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"

namespace waggle::testing {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr int64_t kFrame = 300;  // Bytes.

// Frames whose bytes are mostly equal, as in games; the first byte is the frame's number.
TableConfig Frames() {
  TableConfig config;
  config.name = "frames";
  config.signature = {{"frame", DType::kUint8, {kFrame}}, {"reward", DType::kFloat32, {}}};
  config.view = {{"observation", "frame", ViewField::Rows::kFirst, 4},
                 {"next_observation", "frame", ViewField::Rows::kLast, 4},
                 {"sequence", "frame", ViewField::Rows::kAll, 2},
                 {"rewards", "reward", ViewField::Rows::kAll}};
  config.sampler.kind = SelectorKind::kFifo;
  config.max_items = 1000;
  config.max_bytes = int64_t{1} << 30;
  config.max_times_sampled = 1;
  config.max_window = 3;
  return config;
}

// Rows [first, first + rows) of stream 0, in one chunk, and an item of two rows for each step, with up to three rows of
// context. The episode began at row 0.
InsertBlock Block(uint64_t first, uint32_t rows) {
  InsertBlock block;
  block.chunks = {{0, first, rows, first == 0}};
  const std::shared_ptr<char> bytes = AllocateBytes(rows * (kFrame + 4));
  char* out = bytes.get();
  for (uint64_t row = first; row < first + rows; ++row) {
    std::memset(out, 'f', kFrame);
    *out = static_cast<char>(row);
    out += kFrame;
    if (row > 0) {
      const auto context = static_cast<uint32_t>(std::min<uint64_t>(row - 1, 3));
      block.items.push_back({0, 0, row - 1, 2, 1.0, context});
    }
  }
  for (uint64_t row = first; row < first + rows; ++row) {
    const auto reward = static_cast<float>(row);
    std::memcpy(out, &reward, sizeof(reward));
    out += sizeof(reward);
  }
  block.data.Append({bytes.get(), static_cast<size_t>(rows) * (kFrame + 4), bytes});
  return block;
}

// Creates the table first.
std::unique_ptr<ReplayWriter> NewWriter(ReplayConnection* connection, const TableConfig& config) {
  REQUIRE_OK(connection->CreateTable(config, StopToken()));
  ReplayWriterOptions options;
  options.writer_id = "writer";
  options.tables = {config.name};
  options.signature = config.signature;
  options.compression = config.compression;
  return ValueOf(connection->NewWriter(options));
}

std::unique_ptr<ReplaySampler> NewSampler(ReplayConnection* connection, const TableConfig& config, int64_t batch_size) {
  ReplaySamplerOptions options;
  options.table = config;
  options.batch_size = batch_size;
  options.prefetch = 1;
  return ValueOf(connection->NewSampler(options));
}

std::vector<int> FirstBytes(const SampledBatch& batch, const char* field, size_t item, size_t frames) {
  const char* data = static_cast<const char*>(batch.Data(field)) + item * frames * kFrame;
  std::vector<int> bytes;
  for (size_t i = 0; i < frames; ++i) {
    bytes.push_back(data[i * kFrame]);
    REQUIRE((data[i * kFrame + 1] == 'f' || data[i * kFrame + 1] == 0));
  }
  return bytes;
}

void CheckFrames(const NewReplay& new_replay, const TableConfig& config) {
  const std::shared_ptr<ReplayConnection> connection = new_replay();
  const auto writer = NewWriter(connection.get(), config);
  for (const uint64_t first : {0, 2, 5, 6}) {
    REQUIRE_OK(writer->Append(Block(first, first == 0 ? 2 : first == 2 ? 3 : 1), StopToken()));
  }
  REQUIRE_OK(writer->Flush(kLong));
  const auto sampler = NewSampler(connection.get(), config, 6);
  const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
  REQUIRE(ValueOf(batch.layout->Find("observation"))->spec.shape == std::vector<int64_t>{6, 4, kFrame});
  REQUIRE(ValueOf(batch.layout->Find("sequence"))->spec.shape == std::vector<int64_t>{6, 3, 2, kFrame});
  // At the episode's beginning the first frame is repeated for those before it.
  REQUIRE(FirstBytes(batch, "observation", 0, 4) == std::vector<int>{0, 0, 0, 0});
  REQUIRE(FirstBytes(batch, "next_observation", 0, 4) == std::vector<int>{0, 0, 0, 1});
  REQUIRE(FirstBytes(batch, "observation", 2, 4) == std::vector<int>{0, 0, 1, 2});
  REQUIRE(FirstBytes(batch, "observation", 5, 4) == std::vector<int>{2, 3, 4, 5});
  REQUIRE(FirstBytes(batch, "next_observation", 5, 4) == std::vector<int>{3, 4, 5, 6});
  REQUIRE(FirstBytes(batch, "sequence", 0, 6) == std::vector<int>{0, 0, 0, 1, 0, 0});
  REQUIRE(FirstBytes(batch, "sequence", 4, 6) == std::vector<int>{3, 4, 4, 5, 0, 0});
  const auto* rewards = static_cast<const float*>(batch.Data("rewards"));
  REQUIRE(std::vector<float>(rewards + 12, rewards + 15) == std::vector<float>{4, 5, 0});
}

// Transitions with the goal of a later row of their episode. Rows are numbered by their first byte and reward.
TableConfig Hindsight() {
  TableConfig config = Frames();
  config.view = {{"frame", "frame", ViewField::Rows::kFirst},
                 {"rewards", "reward", ViewField::Rows::kAll},
                 {"next", "reward", ViewField::Rows::kLast},
                 {"goal", "reward", ViewField::Rows::kFuture},
                 {"goal_frames", "frame", ViewField::Rows::kFuture, 3}};
  config.sampler.kind = SelectorKind::kUniform;
  config.max_times_sampled = 0;
  config.max_window = 40;
  config.transition_rows = 2;
  return config;
}

// Writes episodes of these numbers of rows, in chunks of up to three, and an item for each step, with up to
// `most_context` rows before it.
void WriteEpisodes(ReplayWriter* writer, const std::vector<uint32_t>& episodes, uint32_t most_context) {
  uint64_t begin = 0;
  for (const uint32_t rows : episodes) {
    for (uint32_t first = 0; first < rows; first += 3) {
      InsertBlock block = Block(begin + first, std::min(3U, rows - first));
      block.chunks[0].begins = first == 0;
      block.items.clear();
      for (uint32_t row = 0; first + 3 >= rows && row + 1 < rows; ++row) {
        block.items.push_back({0, 0, begin + row, rows - row, 1.0, std::min(row, most_context)});
      }
      REQUIRE_OK(writer->Append(std::move(block), StopToken()));
    }
    begin += rows;
  }
  REQUIRE_OK(writer->Flush(kLong));
}

void CheckFuture(const NewReplay& new_replay, const TableConfig& config) {
  const std::shared_ptr<ReplayConnection> connection = new_replay();
  const auto writer = NewWriter(connection.get(), config);
  const std::vector<uint32_t> episodes = {2, 30, 5, 17, 40};
  WriteEpisodes(writer.get(), episodes, static_cast<uint32_t>(config.MaxContextRows()));
  std::vector<float> begin_of;  // By row, its episode's first row, and the row after its last.
  std::vector<float> end_of;
  for (const uint32_t rows : episodes) {
    begin_of.resize(begin_of.size() + rows, static_cast<float>(begin_of.size()));
    end_of.resize(begin_of.size(), static_cast<float>(begin_of.size()));
  }
  const auto sampler = NewSampler(connection.get(), config, 64);
  int64_t longest = 0;
  int64_t furthest_back = 0;
  const bool is_episode = config.future_row == FutureRow::kEpisode;
  for (int drawn = 0; drawn < 10; ++drawn) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    const auto* const rewards = static_cast<const float*>(batch.Data("rewards"));
    const auto* const next = static_cast<const float*>(batch.Data("next"));
    const auto* const goals = static_cast<const float*>(batch.Data("goal"));
    const auto* const lengths = static_cast<const int64_t*>(batch.Data(kItemLength));
    const auto* const offsets = static_cast<const int64_t*>(batch.Data(kItemFutureOffset));
    for (size_t i = 0; i < 64; ++i) {
      const float row = rewards[2 * i];
      REQUIRE(FirstBytes(batch, "frame", i, 1) == std::vector<int>{static_cast<int>(row)});
      REQUIRE(lengths[i] == 2);
      REQUIRE(rewards[2 * i + 1] == row + 1);
      REQUIRE(next[i] == row + 1);
      REQUIRE((offsets[i] >= 1 || is_episode));
      REQUIRE(goals[i] == row + static_cast<float>(offsets[i]));
      REQUIRE(goals[i] >= begin_of[static_cast<size_t>(row)]);
      REQUIRE(goals[i] < end_of[static_cast<size_t>(row)]);
      REQUIRE((goals[i] + 1 == end_of[static_cast<size_t>(row)] || config.future_row != FutureRow::kLast));
      const int goal = static_cast<int>(goals[i]);
      const float context = static_cast<float>(config.MaxContextRows());
      const int first = static_cast<int>(std::max(begin_of[static_cast<size_t>(row)], row - context));
      REQUIRE(FirstBytes(batch, "goal_frames", i, 3) ==
              std::vector<int>{std::max(first, goal - 2), std::max(first, goal - 1), goal});
      longest = std::max(longest, offsets[i]);
      furthest_back = std::min(furthest_back, offsets[i]);
    }
  }
  REQUIRE(longest > 10);
  REQUIRE((furthest_back < -10) == is_episode);
}

void CheckNoFuture(const NewReplay& new_replay, int64_t servers) {
  const std::shared_ptr<ReplayConnection> connection = new_replay();
  TableConfig config = Hindsight();
  config.max_items *= servers;
  const auto writer = NewWriter(connection.get(), config);
  InsertBlock block = Block(0, 3);
  block.items = {{0, 0, 2, 1, 1.0}};
  absl::Status refused = writer->Append(std::move(block), StopToken());
  if (refused.ok()) {
    refused = writer->Flush(kLong);
  }
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
}

// Items of one row; row i has reward i.
struct Rows {
  Rows(const NewReplay& new_replay, SelectorKind sampler) : connection(new_replay()) {
    config = Frames();
    config.view = {{"reward", "reward", ViewField::Rows::kFirst}};
    config.sampler.kind = sampler;
    config.max_times_sampled = 0;
    config.sampler.without_replacement = true;
  }
  void Open() { writer = NewWriter(connection.get(), config); }
  void Insert(const std::vector<double>& priorities, bool highest = false) {
    InsertBlock block = Block(next, static_cast<uint32_t>(priorities.size()));
    block.items.clear();
    for (const double priority : priorities) {
      block.items.push_back({0, 0, next++, 1, priority});
    }
    block.highest_priority = highest;
    REQUIRE_OK(writer->Append(std::move(block), StopToken()));
    REQUIRE_OK(writer->Flush(kLong));
  }
  SampledBatch Sample(int64_t count) { return ValueOf(NewSampler(connection.get(), config, count)->Next(StopToken())); }
  std::vector<float> Rewards(int64_t count) {
    const SampledBatch batch = Sample(count);
    const auto* rewards = static_cast<const float*>(batch.Data("reward"));
    return std::vector<float>(rewards, rewards + count);
  }

  std::shared_ptr<ReplayConnection> connection;
  TableConfig config;
  std::unique_ptr<ReplayWriter> writer;
  uint64_t next = 0;
};

void CheckOrders(const NewReplay& new_replay) {
  const std::vector<std::pair<SelectorKind, std::vector<float>>> cases = {{SelectorKind::kFifo, {0, 1, 2}},
                                                                          {SelectorKind::kLifo, {3, 2, 1}},
                                                                          {SelectorKind::kMinHeap, {1, 3, 0}},
                                                                          {SelectorKind::kMaxHeap, {2, 0, 3}}};
  for (const auto& [kind, picked] : cases) {
    Rows rows(new_replay, kind);
    rows.Open();
    rows.Insert({5, 1, 9, 2});
    REQUIRE(rows.Rewards(3) == picked);
  }
}

void CheckRemover(const NewReplay& new_replay, int64_t servers) {
  Rows rows(new_replay, SelectorKind::kFifo);
  rows.config.remover.kind = SelectorKind::kMinHeap;
  rows.config.max_items = 3 * servers;
  rows.Open();
  rows.Insert({5, 1, 9, 2, 7});
  REQUIRE(rows.Rewards(3) == std::vector<float>{0, 2, 4});
}

void CheckHighestPriority(const NewReplay& new_replay) {
  Rows rows(new_replay, SelectorKind::kMaxHeap);
  rows.Open();
  rows.Insert({0, 0}, /*highest=*/true);
  rows.Insert({4.5});
  rows.Insert({0}, /*highest=*/true);
  const SampledBatch batch = rows.Sample(4);
  const auto* priorities = static_cast<const double*>(batch.Data(kItemPriority));
  REQUIRE(std::vector<double>(priorities, priorities + 4) == std::vector<double>{4.5, 4.5, 1, 1});
}

void CheckMagnitudes(const NewReplay& new_replay) {
  Rows rows(new_replay, SelectorKind::kPrioritized);
  rows.config.sampler.absolute_priorities = true;
  rows.config.sampler.priority_exponent = 1;
  rows.config.sampler.priority_epsilon = 0.5;
  rows.Open();
  rows.Insert({-3, 2});
  const SampledBatch batch = rows.Sample(2);
  REQUIRE(batch.priority_sum == 6);
  const auto updater = ValueOf(rows.connection->NewPriorityUpdater(rows.config.name));
  const auto* keys = static_cast<const uint64_t*>(batch.Data(kItemKey));
  const auto* generations = static_cast<const uint64_t*>(batch.Data(kItemGeneration));
  REQUIRE_OK(updater->Update({keys[0], keys[1]}, {generations[0], generations[1]}, {-1, -1}));
  REQUIRE_OK(updater->Flush(kLong));
  REQUIRE(rows.Sample(2).priority_sum == 3);
}

}  // namespace

void CheckReplayViewConformance(const NewReplay& new_replay, int64_t servers) {
  SECTION("stacks are assembled from frames that were sent once") {
    CheckFrames(new_replay, Frames());
  }
  SECTION("compressed frames are sampled unchanged") {
    TableConfig config = Frames();
    config.compression = {{"frame", Codec::kLz4}, {"reward", Codec::kZstd}};
    CheckFrames(new_replay, config);
  }
  SECTION("a future row is a later row of the item's episode, and the same row in all fields") {
    CheckFuture(new_replay, Hindsight());
  }
  SECTION("a future row may be the window's last, or any of the item's episode") {
    TableConfig config = Hindsight();
    config.future_row = GENERATE(FutureRow::kLast, FutureRow::kEpisode);
    CheckFuture(new_replay, config);
  }
  SECTION("future rows of compressed columns are unchanged") {
    TableConfig config = Hindsight();
    config.compression = {{"frame", Codec::kLz4}, {"reward", Codec::kZstd}};
    CheckFuture(new_replay, config);
  }
  SECTION("an item without a later row is refused if a field needs one") {
    CheckNoFuture(new_replay, servers);
  }
  SECTION("items are sampled in the table's order") {
    CheckOrders(new_replay);
  }
  SECTION("the remover chooses the items that leave a full table") {
    CheckRemover(new_replay, servers);
  }
  SECTION("items without a priority get the highest one") {
    CheckHighestPriority(new_replay);
  }
  SECTION("the magnitude of a priority is used if the table says so") {
    CheckMagnitudes(new_replay);
  }
}

}  // namespace waggle::testing
