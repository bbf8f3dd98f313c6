// Replay over loopback gRPC, beside what the machine can do: the same tables without a wire, one TCP connection,
// memcpy.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/thread.h"
#include "common/clients/replay_client.h"
#include "common/metrics/metrics.h"
#include "replay_server/replay_server.h"

namespace waggle::bench {
namespace {

constexpr int kRepetitions = 3;  // The best counts: the others were disturbed.
constexpr uint32_t kWideColumns = 10'000;

template <class T>
T Must(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), value.status().ToString());
  return *std::move(value);
}

void Must(const absl::Status& status) {
  WAGGLE_CHECK(status.ok(), status.ToString());
}

void Print(const std::string& name, double value, const std::string& unit, double limit, const std::string& limit_is) {
  std::printf(
      "{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", \"limit\": %.4g, \"limit_is\": \"%s\", "
      "\"ratio\": %.3f}\n",
      name.c_str(), value, unit.c_str(), limit, limit_is.c_str(), value / limit);
  std::fflush(stdout);
}

// Units a second of the best of some runs of `run`, which returns how many it did.
double BestRate(const std::function<double()>& run) {
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const absl::Time began = absl::Now();
    const double units = run();
    best = std::max(best, units / absl::ToDoubleSeconds(absl::Now() - began));
  }
  return best;
}

double MemcpyRate() {
  constexpr size_t kBytes = size_t{64} << 20;
  const std::vector<char> from(kBytes, 'a');
  std::vector<char> to(kBytes, 'b');
  return BestRate([&] {
    for (int i = 0; i < 8; ++i) {
      std::memcpy(to.data(), from.data(), kBytes);
      __asm__ volatile("" : : "r"(to.data()) : "memory");  // The copies must not be left out.
    }
    return 8.0 * kBytes;
  });
}

// Bytes a second through one loopback TCP connection, written and read a piece at a time.
double TcpRate() {
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
  const double rate = BestRate([&] {
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

// What is written: a table, and blocks of `lanes` streams by `rows` rows, where each row ends an item of `window` rows.
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
  table.sampler.kind = SamplerConfig::Kind::kPrioritized;
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

// Inserts and samples without a wire: items a second each.
std::pair<double, double> InProcessRates(const Workload& workload, int blocks, int batches) {
  ReplayStore store{ReplayStoreOptions()};
  Must(store.CreateTable(workload.table).status());
  const auto session = Must(store.OpenWriter("w", {workload.table.name}, workload.table.signature));
  Blocks source(workload);
  uint64_t sequence = 0;
  const double inserted = BestRate([&] {
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
  const double sampled = BestRate([&] {
    for (int i = 0; i < batches; ++i) {
      table->Sample(layout, workload.batch_size,
                    [](const absl::StatusOr<SampledBatch>& batch) { Must(batch.status()); });
    }
    return static_cast<double>(batches * workload.batch_size);
  });
  return {inserted, sampled};
}

// The same over loopback gRPC.
std::pair<double, double> WireRates(const Workload& workload, int blocks, int batches) {
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
  const double inserted = BestRate([&] {
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
  const double sampled = BestRate([&] {
    for (int i = 0; i < batches; ++i) {
      Must(sampler->Next(StopToken()).status());
    }
    return static_cast<double>(batches * workload.batch_size);
  });
  return {inserted, sampled};
}

void Run() {
  const double copied = MemcpyRate();
  const double tcp = TcpRate();
  Print("tcp_loopback", tcp, "B/s", copied, "memcpy");
  {
    const Workload workload = CartPole();
    const auto [insert_limit, sample_limit] = InProcessRates(workload, 2'000, 4'000);
    const auto [inserted, sampled] = WireRates(workload, 2'000, 4'000);
    Print("grpc_insert_cartpole", inserted, "items/s", insert_limit, "in process");
    Print("grpc_sample_cartpole", sampled, "items/s", sample_limit, "in process");
  }
  const Workload workload = Wide();
  const auto [insert_limit, sample_limit] = InProcessRates(workload, 200, 100);
  Print("local_insert_40kB", insert_limit * workload.ItemBytes(), "B/s", copied, "memcpy");
  Print("local_sample_40kB", sample_limit * workload.ItemBytes(), "B/s", copied, "memcpy");
  const auto [inserted, sampled] = WireRates(workload, 400, 200);
  Print("grpc_insert_40kB", inserted * workload.ItemBytes(), "B/s", tcp, "tcp loopback");
  Print("grpc_sample_40kB", sampled * workload.ItemBytes(), "B/s", tcp, "tcp loopback");
}

}  // namespace
}  // namespace waggle::bench

int main() {
  waggle::bench::Run();
  return 0;
}
