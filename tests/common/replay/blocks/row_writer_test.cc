#include "common/replay/blocks/row_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/threads/thread.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"

namespace waggle {
namespace {

using testing::ValueOf;

TableConfig MakeTable(const std::string& name) {
  TableConfig table;
  table.name = name;
  table.signature = {{"observation", DType::kFloat32, {2}}, {"action", DType::kInt64, {}}};
  table.view = {{"observations", "observation", ViewField::Rows::kAll},
                {"stack", "action", ViewField::Rows::kLast, 3},
                {"action", "action", ViewField::Rows::kFirst}};
  table.sampler.kind = SelectorKind::kFifo;
  table.max_items = 10'000;
  table.max_bytes = int64_t{1} << 24;
  table.max_times_sampled = 1;
  table.max_window = 3;
  return table;
}

// A store with the tables "a" and "b", and a writer to both.
struct Fixture {
  explicit Fixture(const RowWriterOptions& options = {}) {
    for (const TableConfig& table : tables) {
      REQUIRE_OK(connection.CreateTable(table, StopToken()));
    }
    writer = ValueOf(RowWriter::Create(&connection, tables, options));
  }

  // `count` items of the table, in order.
  SampledBatch Sample(const TableConfig& table, int64_t count) {
    ReplaySamplerOptions options;
    options.table = table;
    options.batch_size = count;
    options.prefetch = 1;
    return ValueOf(ValueOf(connection.NewSampler(options))->Next(StopToken()));
  }

  std::vector<TableConfig> tables = {MakeTable("a"), MakeTable("b")};
  LocalReplayConnection connection{std::make_shared<ReplayStore>(ReplayStoreOptions{})};
  std::unique_ptr<RowWriter> writer;
};

Row Step(float value, int64_t action) {
  Row row;
  static thread_local std::vector<float> observation;
  observation = {value, -value};
  row.Set("action", action).Set("observation", observation);
  return row;
}

template <class T>
std::vector<T> Values(const SampledBatch& batch, const char* field, size_t first, size_t count) {
  const T* values = static_cast<const T*>(batch.Data(field));
  return std::vector<T>(values + first, values + first + count);
}

}  // namespace

TEST_CASE("rows and items arrive as they were written, however they are gathered", "[unit]") {
  Rng rng(1);
  for (const int64_t chunk_rows : {1, 3, 1000}) {
    RowWriterOptions options;
    options.chunk_rows = chunk_rows;
    Fixture f(options);
    RowWriter::Stream* const streams[] = {f.writer->NewStream(), f.writer->NewStream()};
    struct Expected {
      std::vector<float> first;  // The observations'.
      std::vector<int64_t> stack;
      double priority = 0;
    };
    std::vector<Expected> expected;
    std::vector<int64_t> episodes[2];  // The actions of the present episodes.
    for (int i = 0; i < 300; ++i) {
      const size_t number = rng.UniformInt(2);
      RowWriter::Stream* stream = streams[number];
      std::vector<int64_t>& episode = episodes[number];
      if (rng.UniformInt(8) == 0) {
        stream->BeginEpisode();
        episode.clear();
      }
      REQUIRE_OK(stream->Append(Step(static_cast<float>(i), i)));
      episode.push_back(i);
      REQUIRE(stream->episode_rows() == static_cast<int64_t>(episode.size()));
      const auto rows = static_cast<int64_t>(1 + rng.UniformInt(std::min<uint64_t>(3, episode.size())));
      const double priority = rng.Uniform();
      REQUIRE_OK(stream->CreateItem("a", rows, priority));
      Expected item;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t action = episode[episode.size() - static_cast<size_t>(rows - row)];
        item.first.insert(item.first.end(), {static_cast<float>(action), -static_cast<float>(action)});
      }
      for (size_t back = 3; back > 0; --back) {
        item.stack.push_back(episode[episode.size() - std::min(back, episode.size())]);
      }
      // No more context than belongs to the window and its stack.
      item.priority = priority;
      expected.push_back(item);
    }
    REQUIRE_OK(f.writer->Flush(absl::Seconds(30)));
    REQUIRE(f.writer->stats().items_inserted == 300);
    REQUIRE(f.writer->stats().items_without_rows == 0);
    const SampledBatch batch = f.Sample(f.tables[0], 300);
    for (size_t i = 0; i < 300; ++i) {
      CAPTURE(chunk_rows, i);
      REQUIRE(Values<float>(batch, "observations", i * 6, expected[i].first.size()) == expected[i].first);
      REQUIRE(Values<int64_t>(batch, "stack", i * 3, 3) == expected[i].stack);
      REQUIRE(Values<double>(batch, kItemPriority, i, 1)[0] == expected[i].priority);
    }
  }
}

TEST_CASE("items go to their table, with the highest priority if none is given", "[unit]") {
  Fixture f;
  RowWriter::Stream* stream = f.writer->NewStream();
  REQUIRE_OK(stream->Append(Step(1, 1)));
  REQUIRE_OK(stream->CreateItem("b", 1, 7.5));
  REQUIRE_OK(stream->CreateItem("b", 1));
  REQUIRE_OK(stream->CreateItem("a", 1));
  REQUIRE_OK(f.writer->Flush(absl::Seconds(30)));
  REQUIRE(Values<double>(f.Sample(f.tables[1], 2), kItemPriority, 0, 2) == std::vector<double>{7.5, 7.5});
  REQUIRE(Values<double>(f.Sample(f.tables[0], 1), kItemPriority, 0, 1) == std::vector<double>{1});
}

TEST_CASE("a row that does not fit is refused, and no part of it is kept", "[unit]") {
  Fixture f;
  RowWriter::Stream* stream = f.writer->NewStream();
  const std::vector<float> observation = {1, 2};
  const std::vector<float> longer_observation = {1, 2, 3};
  Row missing, misspelled, other, twice, longer;
  missing.Set("observation", observation);
  misspelled.Set("observation", observation).Set("actoin", int64_t{1});
  other.Set("observation", observation).Set("action", int32_t{1});
  twice.Set("observation", observation).Set("observation", observation);
  longer.Set("observation", longer_observation).Set("action", int64_t{1});
  for (const Row& row : {missing, misspelled, other, twice, longer}) {
    REQUIRE_CODE(stream->Append(row), absl::StatusCode::kInvalidArgument);
    REQUIRE(stream->episode_rows() == 0);
  }
}

TEST_CASE("invalid items are refused", "[unit]") {
  Fixture f;
  RowWriter::Stream* stream = f.writer->NewStream();
  REQUIRE_OK(stream->Append(Step(1, 1)));
  REQUIRE_OK(stream->Append(Step(2, 2)));
  REQUIRE_CODE(stream->CreateItem("a", 3), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(stream->CreateItem("a", 0), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(stream->CreateItem("c", 1), absl::StatusCode::kInvalidArgument);
  stream->BeginEpisode();
  REQUIRE_CODE(stream->CreateItem("a", 1), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(RowWriter::Create(&f.connection, {}).status(), absl::StatusCode::kInvalidArgument);
  f.tables[1].signature.pop_back();
  f.tables[1].view.resize(1);
  REQUIRE_CODE(RowWriter::Create(&f.connection, f.tables).status(), absl::StatusCode::kInvalidArgument);
  RowWriterOptions options;
  options.chunk_rows = 0;
  REQUIRE_CODE(RowWriter::Create(&f.connection, {MakeTable("a")}, options).status(),
               absl::StatusCode::kInvalidArgument);
}

TEST_CASE("an episode's steps can be written at its end, each with all later rows as future ones", "[unit]") {
  TableConfig table = MakeTable("hindsight");
  table.view.push_back({"goal", "action", ViewField::Rows::kFuture});
  table.max_window = 200;
  table.transition_rows = 2;
  LocalReplayConnection connection{std::make_shared<ReplayStore>(ReplayStoreOptions{})};
  REQUIRE_OK(connection.CreateTable(table, StopToken()));
  const auto writer = ValueOf(RowWriter::Create(&connection, {table}));
  RowWriter::Stream* stream = writer->NewStream();
  int64_t items = 0;
  for (int64_t episode = 0; episode < 3; ++episode) {
    stream->BeginEpisode();
    for (int64_t row = 0; row < 100; ++row) {
      REQUIRE_OK(stream->Append(Step(0, 1000 * episode + row)));
    }
    REQUIRE_CODE(stream->CreateItem("hindsight", 1), absl::StatusCode::kInvalidArgument);
    for (int64_t rows = stream->episode_rows(); rows > 1; --rows) {
      REQUIRE_OK(stream->CreateItem("hindsight", rows));
      ++items;
    }
  }
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  ReplaySamplerOptions options;
  options.table = table;
  options.batch_size = items;
  const SampledBatch batch = ValueOf(ValueOf(connection.NewSampler(options))->Next(StopToken()));
  const auto count = static_cast<size_t>(items);
  const auto actions = Values<int64_t>(batch, "action", 0, count);
  const auto goals = Values<int64_t>(batch, "goal", 0, count);
  const auto offsets = Values<int64_t>(batch, kItemFutureOffset, 0, count);
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(actions[i] == static_cast<int64_t>(i / 99 * 1000 + i % 99));
    REQUIRE(offsets[i] >= 1);
    REQUIRE(goals[i] == actions[i] + offsets[i]);
    REQUIRE(goals[i] / 1000 == actions[i] / 1000);
    REQUIRE(goals[i] % 1000 < 100);
  }
}

// A queue with room for `room` items, and a writer to it.
struct Queue {
  explicit Queue(int64_t room, const RowWriterOptions& options = {}) {
    MakeQueue(room, &table);
    REQUIRE_OK(connection.CreateTable(table, StopToken()));
    writer = ValueOf(RowWriter::Create(&connection, {table}, options));
    stream = writer->NewStream();
    ReplaySamplerOptions sampling;
    sampling.table = table;
    sampling.batch_size = 1;
    sampling.prefetch = 1;  // Draws nothing ahead.
    sampler = ValueOf(connection.NewSampler(sampling));
  }

  void Add(int64_t action) {
    REQUIRE_OK(stream->Append(Step(0, action)));
    REQUIRE_OK(stream->CreateItem("queue", 1, 1.0));
  }
  int64_t Next() { return Values<int64_t>(ValueOf(sampler->Next(StopToken())), "action", 0, 1)[0]; }

  static RowWriterOptions OneBlockAtATime() {
    RowWriterOptions options;
    options.max_unacknowledged_blocks = 1;
    return options;
  }

  TableConfig table = MakeTable("queue");
  LocalReplayConnection connection{std::make_shared<ReplayStore>(ReplayStoreOptions{})};
  std::unique_ptr<RowWriter> writer;
  RowWriter::Stream* stream = nullptr;
  std::unique_ptr<ReplaySampler> sampler;
};

TEST_CASE("blocks that a stop keeps from being sent are sent later", "[unit]") {
  RowWriterOptions options = Queue::OneBlockAtATime();
  options.chunk_rows = 1;
  Queue queue(4, options);
  StopToken stopped;
  stopped.RequestStop();
  for (int i = 0; i < 8; ++i) {
    const absl::Status status = queue.stream->Append(Step(0, i), stopped);
    REQUIRE((status.ok() || absl::IsCancelled(status)));
    REQUIRE_OK(queue.stream->CreateItem("queue", 1));
  }
  for (int64_t i = 0; i < 8; ++i) {
    if (i == 4) {
      REQUIRE_OK(queue.writer->Send());
    }
    REQUIRE(queue.Next() == i);
  }
}

TEST_CASE("a flush that times out between two blocks is an error, and the rest is sent later", "[unit]") {
  Queue queue(1, Queue::OneBlockAtATime());
  queue.Add(0);
  REQUIRE_OK(queue.writer->Send());  // The table has room for this block alone:
  queue.Add(1);
  REQUIRE_OK(queue.writer->Send());  // this block waits, unacknowledged,
  queue.Add(2);
  StopToken stopped;
  stopped.RequestStop();
  REQUIRE_CODE(queue.writer->Send(stopped), absl::StatusCode::kCancelled);  // and this block is not taken.
  queue.Add(3);
  REQUIRE(queue.Next() == 0);
  // The taken blocks are acknowledged, the table is full, and two blocks are unsent.
  REQUIRE_CODE(queue.writer->Flush(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  REQUIRE(queue.Next() == 1);
  REQUIRE_CODE(queue.writer->Flush(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  REQUIRE(queue.Next() == 2);
  REQUIRE_OK(queue.writer->Flush(absl::ZeroDuration()));
  REQUIRE(queue.Next() == 3);
}

TEST_CASE("a stop ends a flush without answers, and all blocks arrive later", "[unit]") {
  Queue queue(1);
  for (int64_t action = 0; action < 3; ++action) {  // The table has room for the first alone: the second waits.
    queue.Add(action);
    REQUIRE_OK(action < 2 ? queue.writer->Send() : absl::OkStatus());
  }
  const StopToken stop;
  {
    const Thread stopper("stopper", [stop] { stop.RequestStop(); });
    REQUIRE_CODE(queue.writer->Flush(absl::InfiniteDuration(), stop), absl::StatusCode::kCancelled);
  }
  REQUIRE(queue.Next() == 0);
  REQUIRE(queue.Next() == 1);
  REQUIRE_OK(queue.writer->Send());
  REQUIRE(queue.Next() == 2);
}

TEST_CASE("a stop prevents an item that would have to wait, and it can be made later", "[unit]") {
  Queue queue(1, Queue::OneBlockAtATime());
  queue.Add(0);
  REQUIRE_OK(queue.writer->Send());  // The table has room for this block alone:
  queue.Add(1);
  REQUIRE_OK(queue.writer->Send());  // this block waits, unacknowledged,
  queue.Add(2);                      // and this block is not sent.
  REQUIRE_OK(queue.stream->Append(Step(0, 3)));
  StopToken stopped;
  stopped.RequestStop();
  REQUIRE_CODE(queue.stream->CreateItem("queue", 1, std::nullopt, stopped), absl::StatusCode::kCancelled);
  REQUIRE(queue.Next() == 0);
  REQUIRE(queue.Next() == 1);
  REQUIRE_OK(queue.stream->CreateItem("queue", 1));
  REQUIRE_OK(queue.writer->Send());
  REQUIRE(queue.Next() == 2);
  REQUIRE(queue.Next() == 3);
}

}  // namespace waggle
