#include "tests/bench/replay_load.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/replay/replay_client.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

using Rows = ViewField::Rows;

constexpr int64_t kTableBytes = int64_t{400} << 20;
constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr absl::Duration kPatience = absl::Minutes(1);

ReplayLoad NewLoad(const std::string& name, std::vector<ArraySpec> signature, std::vector<ViewField> view) {
  ReplayLoad load;
  load.name = name;
  load.table.name = name;
  load.table.signature = std::move(signature);
  load.table.view = std::move(view);
  load.table.sampler.kind = SelectorKind::kPrioritized;
  load.table.sampler.priority_exponent = 0.6;
  load.table.max_bytes = int64_t{1} << 40;
  load.table.max_items =
      std::clamp<int64_t>(kTableBytes / static_cast<int64_t>(load.RowBytes()), 1, int64_t{200} * 1000);
  return load;
}

// Screens of a game like Pong: two bats and a ball on a background.
void DrawScreens(size_t screens, char* to) {
  constexpr size_t kSide = 84;
  Rng rng(3);
  std::memset(to, 87, screens * kSide * kSide);
  for (char* screen = to; screen < to + screens * kSide * kSide; screen += kSide * kSide) {
    const auto draw = [&](size_t column, size_t rows, int color) {
      const size_t top = static_cast<size_t>(rng.Uniform() * 76);
      for (size_t row = top; row < top + rows; ++row) {
        screen[row * kSide + column] = static_cast<char>(color);
      }
    };
    draw(9, 8, 213);
    draw(75, 8, 92);
    draw(static_cast<size_t>(10 + rng.Uniform() * 64), 2, 236);
  }
}

// Makes the blocks of a load, one after the other, with equal bytes.
class BlockSource {
 public:
  explicit BlockSource(const ReplayLoad& load)
      : load_(load), size_(static_cast<size_t>(load.BlockBytes())), data_(AllocateBytes(size_)) {
    std::memset(data_.get(), 0x3c, size_);  // Finite in every floating-point type.
    if (load.table.signature[0].shape == std::vector<int64_t>{84, 84}) {
      DrawScreens(size_t{load.lanes} * load.rows, data_.get());
    }
  }

  int64_t ItemsPerBlock() const { return int64_t{load_.lanes} * load_.rows; }

  InsertBlock Next() {
    InsertBlock block;
    block.chunks.reserve(load_.lanes);
    block.items.reserve(static_cast<size_t>(ItemsPerBlock()));
    for (uint32_t lane = 0; lane < load_.lanes; ++lane) {
      block.chunks.push_back({lane, next_row_, load_.rows});
      for (uint64_t row = next_row_; row < next_row_ + load_.rows; ++row) {
        if (row + 1 >= load_.window) {
          const uint64_t first = row + 1 - load_.window;
          block.items.push_back({0, lane, first, load_.window, 0.1 + rng_.Uniform(),
                                 static_cast<uint32_t>(std::min<uint64_t>(first, load_.context))});
        }
      }
    }
    next_row_ += load_.rows;
    block.data.Append({data_.get(), size_, data_});
    return block;
  }

 private:
  const ReplayLoad& load_;
  const size_t size_;
  const std::shared_ptr<char> data_;
  uint64_t next_row_ = 0;
  Rng rng_{5};
};

std::unique_ptr<ReplayConnection> Connect(const Addresses& servers, const ReplayLoad& load) {
  std::unique_ptr<ReplayConnection> connection = Must(NewGrpcReplayConnection(servers));
  Must(connection->CreateTable(load.table, StopToken()));
  return connection;
}

std::unique_ptr<ReplayWriter> NewWriter(ReplayConnection* connection, const ReplayLoad& load, const std::string& name) {
  ReplayWriterOptions options;
  options.writer_id = name;
  options.tables = {load.table.name};
  options.signature = load.table.signature;
  return Must(connection->NewWriter(options));
}

// Sends new priorities for the items of batches.
class Feedback {
 public:
  Feedback(ReplayConnection* connection, const ReplayLoad& load)
      : updater_(Must(connection->NewPriorityUpdater(load.table.name))) {}

  void Send(const SampledBatch& batch, size_t items) {
    const auto* keys = static_cast<const uint64_t*>(batch.Data(kItemKey));
    const auto* generations = static_cast<const uint64_t*>(batch.Data(kItemGeneration));
    std::vector<double> priorities(items);
    for (double& priority : priorities) {
      priority = 0.1 + rng_.Uniform();
    }
    Must(updater_->Update({keys, keys + items}, {generations, generations + items}, std::move(priorities)));
  }
  void Wait() { Must(updater_->Flush(kPatience)); }
  uint64_t Answered() const {
    const PriorityUpdateCounts counts = updater_->counts();
    return counts.applied + counts.stale + counts.unknown;
  }

 private:
  const std::unique_ptr<PriorityUpdater> updater_;
  Rng rng_{7};
};

ReplaySamplerOptions SamplerOptions(const ReplayLoad& load, int64_t prefetch) {
  ReplaySamplerOptions options;
  options.table = load.table;
  options.batch_size = load.batch_size;
  options.prefetch = prefetch;
  options.compression = load.compression;
  return options;
}

std::string FileContents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

std::string TemporaryFile() {
  std::string name = (std::filesystem::temp_directory_path() / "waggle-bench-XXXXXX").string();
  const int file = mkstemp(name.data());
  WAGGLE_CHECK(file >= 0, "there is a folder for temporary files");
  close(file);
  return name;
}

}  // namespace

double ReplayLoad::RowBytes() const {
  double bytes = 0;
  for (const ArraySpec& column : table.signature) {
    bytes += static_cast<double>(column.NumBytes());
  }
  return bytes;
}

double ReplayLoad::BatchBytes() const {
  return static_cast<double>(Must(MakeBatchLayout(table, batch_size, size_t{1} << 40)).total_bytes);
}

ReplayLoad BytesLoad(const std::string& name, int64_t bytes) {
  ReplayLoad load = NewLoad(name, {{"data", DType::kUint8, {bytes}}}, {{"data", "data", Rows::kFirst}});
  load.rows = static_cast<uint32_t>(std::clamp<int64_t>(kBlockBytes / bytes, 1, 256));
  load.batch_size = bytes < 10'000 ? 512 : bytes < 100'000 ? 256 : 16;
  return load;
}

ReplayLoad CartPoleTransitions() {
  ReplayLoad load = NewLoad("cartpole",
                            {{"observation", DType::kFloat32, {4}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"next_observation", DType::kFloat32, {4}},
                             {"done", DType::kInt64, {}}},
                            {{"observation", "observation", Rows::kFirst},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kFirst},
                             {"next_observation", "next_observation", Rows::kFirst},
                             {"done", "done", Rows::kFirst}});
  load.lanes = 16;
  load.rows = 16;
  return load;
}

ReplayLoad CartPoleWindows() {
  ReplayLoad load = NewLoad("cartpole_windows",
                            {{"observation", DType::kFloat32, {4}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"discount", DType::kFloat32, {}},
                             {"step_type", DType::kInt32, {}}},
                            {{"observation", "observation", Rows::kFirst},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kAll},
                             {"discount", "discount", Rows::kAll},
                             {"next_observation", "observation", Rows::kLast}});
  load.table.max_window = 4;
  load.lanes = 16;
  load.rows = 16;
  load.window = 4;
  return load;
}

ReplayLoad Frames() {
  ReplayLoad load = NewLoad("frames",
                            {{"frame", DType::kUint8, {84, 84}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"discount", DType::kFloat32, {}}},
                            {{"observation", "frame", Rows::kFirst, /*stack=*/4},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kAll},
                             {"discount", "discount", Rows::kAll},
                             {"next_observation", "frame", Rows::kLast, /*stack=*/4}});
  load.table.max_window = 4;
  load.lanes = 4;
  load.rows = 16;
  load.window = 4;
  load.context = 3;
  load.batch_size = 32;
  return load;
}

ReplayServerProcess::ReplayServerProcess() : log_(TemporaryFile()) {
  ChildOptions options;
  options.command = {(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "waggle-replay-server").string(),
                     "--listen", "127.0.0.1:0"};
  options.log_path = log_;
  process_ = Must(ChildProcess::Spawn(options));
  const std::string says = "serving replay on ";
  const absl::Time deadline = absl::Now() + kPatience;
  while (address_.empty()) {
    absl::SleepFor(absl::Milliseconds(5));
    const std::string log = FileContents(log_);
    WAGGLE_CHECK(!process_->Poll().has_value() && absl::Now() < deadline, "the replay server starts: " + log);
    const size_t begin = log.find(says);
    const size_t end = log.find_first_of(" \n", begin + says.size());
    if (begin != std::string::npos && end != std::string::npos) {
      address_ = log.substr(begin + says.size(), end - begin - says.size());
    }
  }
}

ReplayServerProcess::~ReplayServerProcess() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove(log_, ignored);
}

double ReplayServerProcess::ResidentBytes() const {
  std::ifstream file(absl::StrCat("/proc/", process_->pid(), "/statm"));
  double size = 0;
  double resident = 0;
  WAGGLE_CHECK(file >> size >> resident, "statm has two numbers");
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double ReplayServerProcess::CpuSeconds() const {
  double nanoseconds = 0;
  for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", process_->pid(), "/task"))) {
    std::ifstream file(task.path() / "schedstat");
    double run = 0;
    file >> run;
    nanoseconds += run;
  }
  return nanoseconds / 1e9;
}

ProcessCrew::Work Fill(Addresses servers, ReplayLoad load, int64_t items, std::string writer_id) {
  return [=](Seat* seat, const std::atomic<bool>& /*stop*/) {
    const auto connection = Connect(servers, load);
    const auto writer = NewWriter(connection.get(), load, writer_id);
    BlockSource source(load);
    // The first rows of each lane do not end an item.
    for (int64_t left = items + int64_t{load.lanes} * load.window; left > 0; left -= source.ItemsPerBlock()) {
      Must(writer->Append(source.Next(), StopToken()));
    }
    Must(writer->Flush(kPatience));
    seat->inserted = writer->stats().items_inserted;
  };
}

ProcessCrew::Work Produce(Addresses servers, ReplayLoad load, int producer, double items_per_second) {
  return [=](Seat* seat, const std::atomic<bool>& stop) {
    const auto connection = Connect(servers, load);
    const auto writer = NewWriter(connection.get(), load, absl::StrCat("producer", producer));
    BlockSource source(load);
    const absl::Time begin = absl::Now();
    for (double sent = 0; !stop; sent += static_cast<double>(source.ItemsPerBlock())) {
      Must(writer->Append(source.Next(), StopToken()));
      seat->inserted = writer->stats().items_inserted;
      if (items_per_second > 0) {
        absl::SleepFor(begin + absl::Seconds(sent / items_per_second) - absl::Now());
      }
    }
  };
}

ProcessCrew::Work Consume(Addresses servers, ReplayLoad load, ConsumeOptions options) {
  return [=](Seat* seat, const std::atomic<bool>& stop) {
    const auto connection = Connect(servers, load);
    const auto sampler = Must(connection->NewSampler(SamplerOptions(load, options.prefetch)));
    Feedback feedback(connection.get(), load);
    while (!stop) {
      const absl::Time begin = absl::Now();
      const SampledBatch batch = Must(sampler->Next(StopToken()));
      seat->TimedCall(absl::Now() - begin);
      seat->sampled += static_cast<uint64_t>(load.batch_size);
      if (options.update) {
        feedback.Send(batch, static_cast<size_t>(load.batch_size));
        seat->updated = feedback.Answered();
      }
    }
  };
}

ProcessCrew::Work UpdateOnly(Addresses servers, ReplayLoad load, int batches_per_wait) {
  return [=](Seat* seat, const std::atomic<bool>& stop) {
    const auto connection = Connect(servers, load);
    std::vector<SampledBatch> batches;
    {
      const auto sampler = Must(connection->NewSampler(SamplerOptions(load, 4)));
      for (int i = 0; i < 64; ++i) {
        batches.push_back(Must(sampler->Next(StopToken())));
      }
    }
    Feedback feedback(connection.get(), load);
    for (size_t next = 0; !stop;) {
      for (int i = 0; i < batches_per_wait; ++i) {
        feedback.Send(batches[next++ % batches.size()], static_cast<size_t>(load.batch_size));
      }
      feedback.Wait();
      seat->updated = feedback.Answered();
    }
  };
}

}  // namespace waggle::bench
