// Writes transitions of a random walk to a replay server, samples them by priority, and sends new priorities back.
//
//   waggle-replay-server --listen 127.0.0.1:7001 &
//   replay_client_example 127.0.0.1:7001
#include <waggle/replay.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

waggle::TableConfig Transitions() {
  waggle::TableConfig table;
  table.name = "example/transitions";
  // A row: one step, and the result of its action.
  table.signature = {{"observation", waggle::DType::kFloat32, {2}},
                     {"action", waggle::DType::kInt64, {}},
                     {"reward", waggle::DType::kFloat32, {}}};
  // A sampled item, from a window of rows.
  table.view = {{"observation", "observation", waggle::ViewField::Rows::kFirst},
                {"action", "action", waggle::ViewField::Rows::kFirst},
                {"rewards", "reward", waggle::ViewField::Rows::kAll},
                {"next_observation", "observation", waggle::ViewField::Rows::kLast}};
  table.sampler.kind = waggle::SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 0.6;
  table.max_window = 4;  // Three steps and the last observation.
  table.max_items = 100'000;
  table.max_bytes = int64_t{1} << 30;
  table.rate_limiter.min_items = 1000;
  return table;
}

absl::Status Write(waggle::ReplayConnection* connection) {
  absl::StatusOr<std::unique_ptr<waggle::RowWriter>> writer = waggle::RowWriter::Create(connection, {Transitions()});
  if (!writer.ok()) {
    return writer.status();
  }
  waggle::RowWriter::Stream* stream = (*writer)->NewStream();
  std::mt19937 random(1);
  std::vector<float> position = {0, 0};
  for (int step = 0; step < 5000; ++step) {
    if (step % 100 == 0) {
      stream->BeginEpisode();
      position = {0, 0};
    }
    const auto action = static_cast<int64_t>(random() % 4);
    waggle::Row row;
    row.Set("observation", position).Set("action", action).Set("reward", action == 0 ? 1.0F : 0.0F);
    if (const absl::Status status = stream->Append(row); !status.ok()) {
      return status;
    }
    position[static_cast<size_t>(action % 2)] += action < 2 ? 0.1F : -0.1F;
    if (stream->episode_rows() >= 4) {
      if (const absl::Status status = stream->CreateItem("example/transitions", 4); !status.ok()) {
        return status;
      }
    }
  }
  return (*writer)->Flush(absl::Seconds(10));
}

absl::Status Learn(waggle::ReplayConnection* connection) {
  waggle::ReplaySamplerOptions options;
  options.table = Transitions();
  options.batch_size = 256;
  const absl::StatusOr<std::unique_ptr<waggle::ReplaySampler>> sampler = connection->NewSampler(options);
  if (!sampler.ok()) {
    return sampler.status();
  }
  const absl::StatusOr<std::unique_ptr<waggle::PriorityUpdater>> updater =
      connection->NewPriorityUpdater("example/transitions");
  if (!updater.ok()) {
    return updater.status();
  }
  double reward = 0;
  for (int step = 0; step < 20; ++step) {
    const absl::StatusOr<waggle::SampledBatch> batch = (*sampler)->Next(waggle::StopToken());
    if (!batch.ok()) {
      return batch.status();
    }
    const auto* rewards = static_cast<const float*>(batch->Data("rewards"));  // [256, 4]
    const auto* keys = static_cast<const uint64_t*>(batch->Data(waggle::kItemKey));
    const auto* generations = static_cast<const uint64_t*>(batch->Data(waggle::kItemGeneration));
    std::vector<double> priorities(256);
    for (size_t i = 0; i < priorities.size(); ++i) {
      const float sum = rewards[i * 4] + rewards[i * 4 + 1] + rewards[i * 4 + 2];
      priorities[i] = 0.1 + std::abs(sum);
      reward += sum;
    }
    const absl::Status updated = (*updater)->Update({keys, keys + 256}, {generations, generations + 256}, priorities);
    if (!updated.ok()) {
      return updated;
    }
  }
  std::cout << "mean reward of the samples: " << reward / (20 * 256) << "\n";
  return (*updater)->Flush(absl::Seconds(10));
}

absl::Status Run(const std::string& address) {
  const absl::StatusOr<std::unique_ptr<waggle::ReplayConnection>> connection =
      waggle::NewGrpcReplayConnection({address});
  if (!connection.ok()) {
    return connection.status();
  }
  absl::Status status = (*connection)->CreateTable(Transitions(), waggle::StopToken());
  status = status.ok() ? Write(connection->get()) : status;
  status = status.ok() ? Learn(connection->get()) : status;
  if (!status.ok()) {
    return status;
  }
  const absl::StatusOr<waggle::TableStatus> table = waggle::ReplayTables(address).Get("example/transitions");
  if (table.ok()) {
    std::cout << table->items << " items, " << table->items_sampled << " samples, " << table->priority_updates.applied
              << " new priorities\n";
  }
  return table.status();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc > 1 ? argv[1] : "127.0.0.1:7001");
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
