#include "tests/bench/replay_clients.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/net/security/security.h"
#include "common/replay/replay_client.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

std::unique_ptr<ReplayConnection> Connect(const Addresses& servers, const ReplayLoad& load) {
  // A process of the crew has its own security, as the server has: by the environment.
  if (const char* const folder = std::getenv("WAGGLE_TLS"); folder != nullptr) {
    SecurityOptions security;
    security.tls = folder;
    Must(SetProcessSecurity(security));
  }
  std::unique_ptr<ReplayConnection> connection = Must(NewGrpcReplayConnection(servers));
  Must(connection->CreateTable(load.table, StopToken()));
  return connection;
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
    const auto writer = Must(connection->NewWriter(WriterOptions(load, writer_id)));
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
    const auto writer = Must(connection->NewWriter(WriterOptions(load, absl::StrCat("producer", producer))));
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
