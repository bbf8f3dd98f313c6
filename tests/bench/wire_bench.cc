// Replay over loopback gRPC. The limits are the same tables without a wire, one TCP connection, and memcpy.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/metrics/metrics.h"
#include "common/base/process/allocator.h"
#include "common/base/threads/thread.h"
#include "common/replay/replay_client.h"
#include "replay_server/service/replay_server.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

constexpr int kRepetitions = 5;
constexpr uint32_t kWideColumns = 10'000;

// The best and the middle rate of some runs, in units per second: the others were disturbed.
struct Measured {
  double best = 0;
  double median = 0;

  Result Against(const Measured& limit, const std::string& limit_name, const std::string& unit,
                 double factor = 1) const {
    Result result;
    result.value = best * factor;
    result.median = median * factor;
    result.unit = unit;
    result.limit = limit.best;
    result.limit_name = limit_name;
    return result;
  }
};

// `run` returns its number of units.
Measured Measure(const std::function<double()>& run) {
  std::vector<double> rates;
  for (int i = 0; i < kRepetitions; ++i) {
    const absl::Time began = absl::Now();
    const double units = run();
    rates.push_back(units / absl::ToDoubleSeconds(absl::Now() - began));
  }
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2]};
}

// A measurement that several cases use. It is made for the first of them.
template <class T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> measure) : measure_(std::move(measure)) {}
  const T& Get() {
    if (!value_.has_value()) {
      value_ = measure_();
    }
    return *value_;
  }

 private:
  const std::function<T()> measure_;
  std::optional<T> value_;
};

// Bytes per second through one loopback TCP connection, written and read piece by piece.
Measured TcpRate() {
  constexpr size_t kPiece = size_t{2} << 20;
  constexpr size_t kPieces = 512;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  WAGGLE_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&name), size) == 0 && listen(listener, 1) == 0 &&
                   getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size) == 0,
               "loopback can be listened on");
  const Measured rate = Measure([&] {
    const Thread sender("sender", [&name] {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      WAGGLE_CHECK(connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0, "loopback connects");
      const std::vector<char> piece(kPiece, 'a');
      for (size_t i = 0; i < kPieces; ++i) {
        for (size_t at = 0; at < kPiece;) {
          const ssize_t sent = send(fd, piece.data() + at, kPiece - at, MSG_NOSIGNAL);
          WAGGLE_CHECK(sent > 0, "loopback sends");
          at += static_cast<size_t>(sent);
        }
      }
      close(fd);
    });
    const int fd = accept(listener, nullptr, nullptr);
    std::vector<char> piece(kPiece);
    double received = 0;
    for (ssize_t got = 0; (got = recv(fd, piece.data(), piece.size(), 0)) > 0;) {
      received += static_cast<double>(got);
    }
    close(fd);
    return received;
  });
  close(listener);
  return rate;
}

// A table, and blocks of `lanes` streams with `rows` rows each; each row ends an item of `window` rows.
struct Workload {
  TableConfig table;
  uint32_t lanes = 1;
  uint32_t rows = 1;
  uint32_t window = 1;
  int64_t batch_size = 256;

  double ItemBytes() const {
    double bytes = 0;
    for (const ArraySpec& column : table.signature) {
      bytes += static_cast<double>(column.NumBytes());
    }
    return bytes;
  }
};

TableConfig NewTable(std::string name, std::vector<ArraySpec> signature, std::vector<ViewField> view) {
  TableConfig table;
  table.name = std::move(name);
  table.signature = std::move(signature);
  table.view = std::move(view);
  table.sampler.kind = SelectorKind::kPrioritized;
  table.max_items = 200'000;
  table.max_bytes = int64_t{400} << 20;
  return table;
}

// Three-step transitions of CartPole.
Workload CartPole() {
  using Rows = ViewField::Rows;
  Workload workload;
  workload.table = NewTable("cartpole",
                            {{"observation", DType::kFloat32, {4}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"discount", DType::kFloat32, {}}},
                            {{"observation", "observation", Rows::kFirst},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kAll},
                             {"discount", "discount", Rows::kAll},
                             {"next_observation", "observation", Rows::kLast}});
  workload.table.max_window = 4;
  workload.lanes = 32;
  workload.rows = 16;
  workload.window = 4;
  return workload;
}

// Items of one row of 40 kB.
Workload Wide() {
  Workload workload;
  workload.table = NewTable("wide", {{"observation", DType::kFloat32, {kWideColumns}}},
                            {{"observation", "observation", ViewField::Rows::kFirst}});
  workload.rows = 50;
  workload.batch_size = 128;
  return workload;
}

// Makes the blocks of a workload, one after the other.
class Blocks {
 public:
  explicit Blocks(const Workload& workload)
      : workload_(workload),
        data_(std::make_shared<std::vector<char>>(static_cast<size_t>(workload.ItemBytes()) * workload.lanes *
                                                  workload.rows)) {}

  InsertBlock Next() {
    InsertBlock block;
    block.chunks.reserve(workload_.lanes);
    block.items.reserve(workload_.lanes * workload_.rows);
    for (uint32_t lane = 0; lane < workload_.lanes; ++lane) {
      block.chunks.push_back({lane, next_row_, workload_.rows});
      for (uint64_t row = next_row_; row < next_row_ + workload_.rows; ++row) {
        if (row + 1 >= workload_.window) {
          block.items.push_back({0, lane, row + 1 - workload_.window, workload_.window, 1.0});
        }
      }
    }
    next_row_ += workload_.rows;
    block.data = ByteSlices({data_->data(), data_->size(), data_});
    return block;
  }

 private:
  const Workload& workload_;
  const std::shared_ptr<std::vector<char>> data_;
  uint64_t next_row_ = 0;
};

// Items per second.
struct Rates {
  Measured inserted;
  Measured sampled;
};

// Inserts and samples without a wire.
Rates InProcessRates(const Workload& workload, int blocks, int batches) {
  ReplayStore store{ReplayStoreOptions()};
  Must(store.CreateTable(workload.table).status());
  const auto session = Must(store.OpenWriter("w", {workload.table.name}, workload.table.signature));
  Blocks source(workload);
  uint64_t sequence = 0;
  const Measured inserted = Measure([&] {
    std::atomic<uint64_t> items{0};
    for (int i = 0; i < blocks; ++i) {
      session->Insert(++sequence, source.Next(), [&items](const absl::StatusOr<WriterSession::Result>& result) {
        items += result->items_inserted;
      });
    }
    return static_cast<double>(items);
  });
  const auto table = Must(store.FindTable(workload.table.name));
  const auto layout =
      std::make_shared<const BatchLayout>(Must(MakeBatchLayout(workload.table, workload.batch_size, size_t{1} << 30)));
  const Measured sampled = Measure([&] {
    for (int i = 0; i < batches; ++i) {
      table->Sample(layout, workload.batch_size,
                    [](const absl::StatusOr<SampledBatch>& batch) { Must(batch.status()); });
    }
    return static_cast<double>(batches * workload.batch_size);
  });
  return {inserted, sampled};
}

// The same over loopback gRPC.
Rates WireRates(const Workload& workload, int blocks, int batches) {
  Metrics metrics;
  ReplayServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = Must(ReplayServer::Start(std::move(options), &metrics));
  const auto connection = Must(NewGrpcReplayConnection({server->address()}));
  Must(connection->CreateTable(workload.table, StopToken()));
  ReplayWriterOptions writing;
  writing.writer_id = "w";
  writing.tables = {workload.table.name};
  writing.signature = workload.table.signature;
  const auto writer = Must(connection->NewWriter(writing));
  Blocks source(workload);
  const Measured inserted = Measure([&] {
    const uint64_t before = writer->stats().items_inserted;
    for (int i = 0; i < blocks; ++i) {
      Must(writer->Append(source.Next(), StopToken()));
    }
    Must(writer->Flush(absl::Minutes(1)));
    return static_cast<double>(writer->stats().items_inserted - before);
  });
  ReplaySamplerOptions sampling;
  sampling.table = workload.table;
  sampling.batch_size = workload.batch_size;
  const auto sampler = Must(connection->NewSampler(sampling));
  const Measured sampled = Measure([&] {
    for (int i = 0; i < batches; ++i) {
      Must(sampler->Next(StopToken()).status());
    }
    return static_cast<double>(batches * workload.batch_size);
  });
  return {inserted, sampled};
}

std::vector<Case> Cases() {
  static const Workload cartpole = CartPole();
  static const Workload wide = Wide();
  static Lazy<Measured> tcp(TcpRate);
  static Lazy<Rates> local_cartpole([] { return InProcessRates(cartpole, 2'000, 4'000); });
  static Lazy<Rates> wire_cartpole([] { return WireRates(cartpole, 2'000, 4'000); });
  static Lazy<Rates> wire_wide([] { return WireRates(wide, 400, 200); });
  static constexpr char kTcp[] = "tcp loopback";
  static constexpr char kInProcess[] = "in process";
  return {
      {"wire/tcp_loopback",
       [] {
         // The bytes pass through memory that no cache holds.
         const double copied = MemcpyBytesPerSecond(size_t{64} << 20);
         return tcp.Get().Against({copied, copied}, "memcpy", "B/s");
       }},
      {"wire/insert_cartpole",
       [] { return wire_cartpole.Get().inserted.Against(local_cartpole.Get().inserted, kInProcess, "items/s"); }},
      {"wire/sample_cartpole",
       [] { return wire_cartpole.Get().sampled.Against(local_cartpole.Get().sampled, kInProcess, "items/s"); }},
      {"wire/insert_40kB", [] { return wire_wide.Get().inserted.Against(tcp.Get(), kTcp, "B/s", wide.ItemBytes()); }},
      {"wire/sample_40kB", [] { return wire_wide.Get().sampled.Against(tcp.Get(), kTcp, "B/s", wide.ItemBytes()); }},
  };
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::KeepFreedMemory();  // As every executable does.
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
