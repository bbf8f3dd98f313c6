#include "replay_server/service/memory_budgets.h"

#include <algorithm>

namespace waggle {
namespace {

// Of rows that are held for windows to come: with less, windows that are not unusual could not be written.
constexpr int64_t kLeastHeldBytes = int64_t{64} << 20;

// One of so many parts of the bytes, if that is less than there is.
void Lower(int64_t table_bytes, int64_t parts, int64_t* bytes) {
  *bytes = std::max<int64_t>(1, std::min(*bytes, table_bytes / parts));
}

}  // namespace

void SetMemoryBudgets(int64_t table_bytes, ReplayServerOptions* options) {
  options->store.max_bytes = table_bytes;
  Lower(table_bytes, 16, &options->service.max_insert_bytes);
  Lower(table_bytes, 16, &options->service.max_sample_bytes);
  Lower(table_bytes, 16, &options->service.max_lent_sample_bytes);
  Lower(table_bytes, 256, &options->service.max_kept_sample_bytes);
  Lower(table_bytes, 32, &options->store.known_writers.max_idle_writer_bytes);
  Lower(std::max(table_bytes, 16 * kLeastHeldBytes), 16, &options->store.max_writer_bytes);
  Lower(std::max(table_bytes, 16 * kLeastHeldBytes), 16, &options->store.writer.max_held_bytes);
}

int64_t BytesBesideTables(const ReplayServerOptions& options) {
  return options.service.max_insert_bytes + options.service.max_sample_bytes + options.service.max_lent_sample_bytes +
         options.service.max_kept_sample_bytes + options.store.known_writers.max_idle_writer_bytes +
         options.store.max_writer_bytes;
}

int64_t DefaultTableBytes(int64_t machine_bytes) {
  const int64_t bytes = machine_bytes / 5 * 4;
  int64_t table_bytes = bytes;
  // What is beside more bytes of tables is too much, and so those that it leaves are too few; what is beside these is
  // too little, and so on: nearer each time, and too few every other time.
  for (int round = 0; round < 5; ++round) {
    ReplayServerOptions options;
    SetMemoryBudgets(table_bytes, &options);
    table_bytes = std::max(bytes / 4, bytes - BytesBesideTables(options));
  }
  return table_bytes;
}

}  // namespace waggle
