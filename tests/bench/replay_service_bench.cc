// Replay as users run it: waggle-replay-server, producers and consumers in their own processes, over the loopback
// interface. The limits are the machine's: one TCP connection that transfers blocks of the same size, and a memory
// copy.
//
// replay_service/insert_LOAD_PRODUCERSp, sample_LOAD_CONSUMERSc (with new priorities: sample_update_…),
// mixed_LOAD_PRODUCERSp_CONSUMERSc (with new priorities: …_update), mixed_LOAD (two producers, one consumer that sends
// new priorities), and shards_SERVERS_LOAD (the same mix). LOAD is the bytes of an item that shares no rows, cartpole
// (52 bytes in five columns), cartpole_windows (the same three-step transitions with shared rows) or frames (three-step
// transitions of four stacked frames of 84×84 bytes, with shared rows; sampled without compression, and with it as
// frames_lz4 and frames_zstd). With WAGGLE_BENCH_TLS=DIR also tls_insert_40kB and tls_sample_40kB, with the
// certificates of that folder, beside the same without encryption.

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/process/allocator.h"
#include "tests/bench/bench.h"
#include "tests/bench/loopback_tcp.h"
#include "tests/bench/replay_clients.h"

namespace waggle::bench {
namespace {

constexpr int kRounds = 4;
constexpr absl::Duration kRound = absl::Milliseconds(250);
// For cases that are many.
constexpr absl::Duration kShortRound = absl::Milliseconds(125);
constexpr absl::Duration kWarmUp = absl::Milliseconds(250);

// Bytes per second of transfers of this size. Each size is measured once.
double TcpBytesPerSecond(double block_bytes) {
  static std::map<size_t, double> measured;
  const size_t bytes = std::max(static_cast<size_t>(block_bytes), size_t{1} << 20);
  double& rate = measured[bytes];
  if (rate == 0) {
    LoopbackTcp tcp(bytes);
    rate = static_cast<double>(bytes) / absl::ToDoubleSeconds(TimePerCall([&] { tcp.Transfer(); }).best);
  }
  return rate;
}

double CopiedBytesPerSecond() {
  // The bytes pass through memory that no cache holds.
  static const double rate = MemcpyBytesPerSecond(size_t{64} << 20);
  return rate;
}

Result Beside(const Watched& watched, double factor, const std::string& unit, double limit,
              const std::string& limit_name) {
  return {watched.best * factor, watched.median * factor, unit, limit, limit_name};
}

// A measurement that several cases report. It is made for the first of them.
class Measurement {
 public:
  explicit Measurement(std::function<Rates()> measure) : measure_(std::move(measure)) {}
  const Rates& Get() {
    if (!rates_.has_value()) {
      rates_ = measure_();
    }
    return *rates_;
  }

 private:
  const std::function<Rates()> measure_;
  std::optional<Rates> rates_;
};

void FillTable(const Addresses& servers, const ReplayLoad& load, int64_t items, const std::string& writer = "fill") {
  ProcessCrew crew;
  crew.Start(Fill(servers, load, items, writer));
  crew.Join();
}

// Servers of one buffer with a full table.
class Fleet {
 public:
  Fleet(const ReplayLoad& load, int servers) : servers_(static_cast<size_t>(servers)) {
    for (const ReplayServerProcess& server : servers_) {
      addresses_.push_back(server.address());
    }
    FillTable(addresses_, load, load.table.max_items);
  }
  const Addresses& addresses() const { return addresses_; }
  int NewProducer() { return producers_++; }

 private:
  std::vector<ReplayServerProcess> servers_;
  Addresses addresses_;
  int producers_ = 0;
};

// The last used fleet: filling it takes longer than the measurement.
Fleet* FleetFor(const ReplayLoad& load, int servers) {
  static std::unique_ptr<Fleet> fleet;
  static std::string of;
  const std::string wanted = absl::StrCat(load.name, " ", servers);
  if (of != wanted) {
    fleet = nullptr;
    fleet = std::make_unique<Fleet>(load, servers);
    of = wanted;
  }
  return fleet.get();
}

struct Clients {
  int producers = 0;
  int consumers = 0;
  bool update = false;
  int servers = 1;  // They hold one buffer.
  absl::Duration round = kRound;
};

// Processes that start from now on have these certificates; null: none.
void UseCertificates(const char* folder) {
  if (folder == nullptr) {
    unsetenv("WAGGLE_TLS");
  } else {
    setenv("WAGGLE_TLS", folder, /*overwrite=*/1);
  }
}

// The table is full at the start: every new item makes another one leave.
Rates Measure(const ReplayLoad& load, const Clients& clients) {
  Fleet* const fleet = FleetFor(load, clients.servers);
  ProcessCrew crew;
  for (int i = 0; i < clients.consumers; ++i) {
    ConsumeOptions options;
    options.update = clients.update;
    crew.Start(Consume(fleet->addresses(), load, options));
  }
  for (int i = 0; i < clients.producers; ++i) {
    crew.Start(Produce(fleet->addresses(), load, fleet->NewProducer()));
  }
  crew.AwaitWork(kWarmUp);
  return crew.Watch(kRounds, clients.round);
}

// Adds a case for the items and one for the bytes of one direction of a measurement.
void AddCases(const std::string& name, const std::shared_ptr<Measurement>& measurement, Watched Rates::*direction,
              double item_bytes, double block_bytes, std::vector<Case>* cases) {
  cases->push_back({name, [=] {
                      return Beside(measurement->Get().*direction, 1, "items/s",
                                    TcpBytesPerSecond(block_bytes) / item_bytes, "tcp loopback");
                    }});
  cases->push_back({name + "/bytes", [=] {
                      return Beside(measurement->Get().*direction, item_bytes, "B/s", CopiedBytesPerSecond(), "memcpy");
                    }});
}

void AddInserts(const std::string& name, const ReplayLoad& load, const Clients& clients,
                const std::shared_ptr<Measurement>& measurement, std::vector<Case>* cases) {
  if (clients.producers > 0) {
    AddCases(name, measurement, &Rates::inserted, load.RowBytes(), load.BlockBytes(), cases);
  }
}

void AddSamples(const std::string& name, const ReplayLoad& load, const Clients& clients,
                const std::shared_ptr<Measurement>& measurement, std::vector<Case>* cases) {
  if (clients.consumers > 0) {
    AddCases(name, measurement, &Rates::sampled, load.BatchBytes() / static_cast<double>(load.batch_size),
             load.BatchBytes(), cases);
  }
}

void AddThroughput(const ReplayLoad& load, std::vector<Case>* cases) {
  const auto measured = [&load](const Clients& clients) {
    return std::make_shared<Measurement>([load, clients] { return Measure(load, clients); });
  };
  for (const int producers : {1, 2, 8}) {
    const Clients clients{producers, 0, false};
    AddInserts(absl::StrCat("replay_service/insert_", load.name, "_", producers, "p"), load, clients, measured(clients),
               cases);
  }
  for (const bool update : {false, true}) {
    for (const int consumers : {1, 2}) {
      const Clients clients{0, consumers, update};
      AddSamples(absl::StrCat("replay_service/sample_", update ? "update_" : "", load.name, "_", consumers, "c"), load,
                 clients, measured(clients), cases);
    }
  }
  const auto add_mixed = [&](const std::string& name, const Clients& clients) {
    const std::shared_ptr<Measurement> measurement = measured(clients);
    AddInserts(absl::StrCat("replay_service/mixed_", name, "/insert"), load, clients, measurement, cases);
    AddSamples(absl::StrCat("replay_service/mixed_", name, "/sample"), load, clients, measurement, cases);
  };
  add_mixed(load.name, {2, 1, true});
  for (const bool update : {false, true}) {
    for (const int producers : {1, 2, 8}) {
      for (const int consumers : {1, 2}) {
        add_mixed(absl::StrCat(load.name, "_", producers, "p_", consumers, "c", update ? "_update" : ""),
                  {producers, consumers, update, 1, kShortRound});
      }
    }
  }
}

// The fleets are new, because a fleet's connections stay as they are.
void AddEncrypted(const char* folder, const ReplayLoad& load, std::vector<Case>* cases) {
  for (const bool inserts : {true, false}) {
    const auto measure = [=](const char* certificates) {
      ReplayLoad named = load;
      named.name = absl::StrCat(load.name, certificates == nullptr ? "_plain_" : "_tls_", inserts);
      UseCertificates(certificates);
      const Rates rates = Measure(named, inserts ? Clients{2, 0} : Clients{0, 1});
      UseCertificates(nullptr);
      return inserts ? rates.inserted : rates.sampled;
    };
    cases->push_back({absl::StrCat("replay_service/tls_", inserts ? "insert_" : "sample_", load.name), [=] {
                        const Watched plain = measure(nullptr);
                        return Beside(measure(folder), 1, "items/s", plain.best, "without encryption");
                      }});
  }
}

// The same mixed load with a buffer on several servers.
void AddShards(const ReplayLoad& load, std::vector<Case>* cases) {
  for (const int servers : {1, 2, 4}) {
    const Clients clients{2, 1, true, servers, kShortRound};
    const auto measurement = std::make_shared<Measurement>([load, clients] { return Measure(load, clients); });
    const std::string name = absl::StrCat("replay_service/shards_", servers, "_", load.name);
    AddInserts(name + "/insert", load, clients, measurement, cases);
    AddSamples(name + "/sample", load, clients, measurement, cases);
  }
}

// One call for a batch of 512 at a time, while two producers insert. The median is over the calls; the limit of the
// 99th percentile is five times the median.
Result Latency(double percentile, double items_per_second) {
  const ReplayLoad load = CartPoleTransitions();
  const ReplayServerProcess server;
  FillTable({server.address()}, load, load.table.max_items);
  ProcessCrew crew;
  ConsumeOptions options;
  options.prefetch = 1;  // Each call waits for its batch.
  options.update = true;
  crew.Start(Consume({server.address()}, load, options));
  crew.Start(Produce({server.address()}, load, 0, items_per_second / 2));
  crew.Start(Produce({server.address()}, load, 1, items_per_second / 2));
  crew.AwaitWork(kWarmUp);
  const std::vector<double> times = crew.WatchCalls(absl::Seconds(3));
  const double median = times[times.size() / 2];
  const double value = times[static_cast<size_t>(percentile * static_cast<double>(times.size() - 1))];
  const bool is_median = percentile <= 0.5;
  return {value,
          median,
          "ms",
          is_median ? 0 : 5 * median,
          is_median ? "" : "five times the median",
          /*less_is_better=*/true};
}

Result Updates(int batches_per_wait) {
  const ReplayLoad load = CartPoleTransitions();
  const ReplayServerProcess server;
  FillTable({server.address()}, load, load.table.max_items);
  ProcessCrew crew;
  crew.Start(UpdateOnly({server.address()}, load, batches_per_wait));
  crew.AwaitWork(kWarmUp);
  // Each has a key, a generation and a priority.
  return Beside(crew.Watch(kRounds, kRound).updated, 1, "updates/s", TcpBytesPerSecond(0) / 24, "tcp loopback");
}

// Memory of the server's process, beside twice the bytes of an item. The memory of a first stream and its first rows
// (threads, buffers of the transport, pages of the heap) belongs to no item, so the table is filled to a fiftieth
// before.
Result Memory(ReplayLoad load) {
  constexpr int64_t kItems = 1'000'000;
  constexpr int64_t kWarmUpItems = 20'000;
  load.table.max_items = kItems;
  const ReplayServerProcess server;
  FillTable({server.address()}, load, kWarmUpItems, "first");
  const double before = server.ResidentBytes();
  FillTable({server.address()}, load, kItems - kWarmUpItems);
  const double bytes = (server.ResidentBytes() - before) / static_cast<double>(kItems - kWarmUpItems);
  return {bytes, bytes, "bytes/item", 2 * 52, "twice a transition's 52 bytes", /*less_is_better=*/true};
}

// Processor time.
double ServerMicrosecondsPerBatch(int64_t items) {
  ReplayLoad load = BytesLoad("scale", 16);
  load.rows = 4096;
  load.table.max_items = items;
  const ReplayServerProcess server;
  FillTable({server.address()}, load, items);
  ProcessCrew crew;
  crew.Start(Consume({server.address()}, load, ConsumeOptions()));
  crew.AwaitWork(kWarmUp);
  const absl::Duration duration = kRounds * kRound;
  const double before = server.CpuSeconds();
  const Rates rates = crew.Watch(1, duration);
  const double batches = rates.sampled.best * absl::ToDoubleSeconds(duration) / static_cast<double>(load.batch_size);
  return (server.CpuSeconds() - before) * 1e6 / batches;
}

// The server's processor time for a batch of 512 of 10^exponent items. The limit is that of 10^3 items, grown as the
// logarithm.
Result SamplingCost(int exponent) {
  static const double smallest = ServerMicrosecondsPerBatch(1'000);
  const double cost = exponent == 3 ? smallest : ServerMicrosecondsPerBatch(std::llround(std::pow(10, exponent)));
  return {cost, cost, "us/batch", smallest * exponent / 3, "growth as log N from 10^3 items", /*less_is_better=*/true};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const ReplayLoad& load :
       {BytesLoad("16B", 16), BytesLoad("400B", 400), BytesLoad("4kB", 4'000), BytesLoad("40kB", 40'000),
        BytesLoad("1MB", 1'000'000), CartPoleTransitions(), CartPoleWindows(), Frames()}) {
    AddThroughput(load, &cases);
    AddShards(load, &cases);
  }
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    ReplayLoad load = Frames();
    load.compression = codec;
    const Clients clients{0, 1, false};
    AddSamples(absl::StrCat("replay_service/sample_frames_", Name(codec), "_1c"), load, clients,
               std::make_shared<Measurement>([load, clients] { return Measure(load, clients); }), &cases);
  }
  if (const char* const folder = std::getenv("WAGGLE_BENCH_TLS"); folder != nullptr) {
    AddEncrypted(folder, BytesLoad("40kB", 40'000), &cases);
  }
  // At the machine's full rate, and at a third of it.
  cases.push_back({"replay_service/latency_busy_p50", [] { return Latency(0.5, 0); }});
  cases.push_back({"replay_service/latency_busy_p99", [] { return Latency(0.99, 0); }});
  cases.push_back({"replay_service/latency_paced_p50", [] { return Latency(0.5, 100'000); }});
  cases.push_back({"replay_service/latency_paced_p99", [] { return Latency(0.99, 100'000); }});
  cases.push_back({"replay_service/update_512", [] { return Updates(1); }});
  cases.push_back({"replay_service/update_512_streamed", [] { return Updates(64); }});
  cases.push_back({"replay_service/memory_cartpole", [] { return Memory(CartPoleTransitions()); }});
  cases.push_back({"replay_service/memory_cartpole_windows", [] { return Memory(CartPoleWindows()); }});
  for (int exponent = 3; exponent <= 7; ++exponent) {
    cases.push_back(
        {absl::StrCat("replay_service/sampling_cost_1e", exponent), [=] { return SamplingCost(exponent); }});
  }
  return cases;
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::KeepFreedMemory();  // As every executable does.
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
