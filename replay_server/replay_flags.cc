#include "replay_server/replay_flags.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/process/flags.h"
#include "common/base/process/security_flags.h"
#include "common/config/table/shard_config.h"

namespace waggle {
namespace {

// Sets the bytes of the tables' rows. Each other budget gets a part of them, at most its option's default.
void SetMemoryBudgets(int64_t table_bytes, ReplayServerOptions* options) {
  constexpr int64_t kLeastWriterBytes = int64_t{64} << 20;  // With less, usual windows could not be written.
  const auto lower = [table_bytes](int64_t* bytes, int64_t parts, int64_t least = 1) {
    *bytes = std::min(*bytes, std::max(least, table_bytes / parts));
  };
  options->store.max_bytes = table_bytes;
  lower(&options->service.max_insert_bytes, 16);
  lower(&options->service.max_sample_bytes, 16);
  lower(&options->service.max_lent_sample_bytes, 16);
  lower(&options->service.max_kept_sample_bytes, 256);
  lower(&options->store.known_writers.max_idle_writer_bytes, 32);
  lower(&options->store.max_writer_bytes, 16, kLeastWriterBytes);
  lower(&options->store.writer.max_held_bytes, 16, kLeastWriterBytes);
}

// The sum of the budgets other than the tables' rows.
int64_t BytesBesideTables(const ReplayServerOptions& options) {
  return options.service.max_insert_bytes + options.service.max_sample_bytes + options.service.max_lent_sample_bytes +
         options.service.max_kept_sample_bytes + options.store.known_writers.max_idle_writer_bytes +
         options.store.max_writer_bytes;
}

// The largest bytes of tables with which all budgets fit into four fifths of a machine's memory. The rest is for the
// transport, the disk, the program and other processes.
int64_t DefaultTableBytes(int64_t machine_bytes) {
  const int64_t bytes = machine_bytes / 5 * 4;
  int64_t table_bytes = bytes;
  // The other budgets grow with the tables' and leave less for tables. Each round is nearer; odd rounds are too low.
  for (int round = 0; round < 5; ++round) {
    ReplayServerOptions options;
    SetMemoryBudgets(table_bytes, &options);
    table_bytes = std::max(bytes / 4, bytes - BytesBesideTables(options));
  }
  return table_bytes;
}

}  // namespace

ReplayServerOptions ReplayFlags::ServerOptions() const {
  ReplayServerOptions options;
  options.listen = listen;
  options.data_dir = data_dir;
  options.checkpoint_period = checkpoint_seconds == 0 ? absl::InfiniteDuration() : absl::Seconds(checkpoint_seconds);
  options.store.saved = if_saved_differs;
  options.store.max_tables = max_tables;
  options.store.max_experiment_bytes = experiment_bytes;
  SetMemoryBudgets(memory_bytes, &options);
  return options;
}

void AddReplayFlags(CLI::App* app, int64_t machine_bytes, ReplayFlags* flags) {
  AddCommonFlags(app, &flags->log);
  AddMetricsFlag(app, &flags->metrics_listen);
  AddServerSecurityFlags(app, &flags->security);
  AddListenFlag(app, &flags->listen);
  AddAddressFlag(app, "--advertise", &flags->advertise,
                 "The address that other processes connect to; by default the listening address, or if that is a "
                 "wildcard the address from which this server reaches the parameter server");
  // Without a parameter server it serves every client that knows its address. A table whose name has a '/' belongs to
  // the experiment named before it, and is removed with that experiment.
  SetRequired(AddParamServerFlag(app, &flags->param_server), false);
  AddPathFlag(app, "--data-dir", &flags->data_dir, "DIR",
              "The folder for tables whose durability is checkpoint or log, and for rows past a memory_limit; "
              "without a folder such tables are refused. A server that restarts with the same folder keeps its place "
              "in the experiments whose tables it holds");
  AddSecondsFlag(app, "--checkpoint-seconds", &flags->checkpoint_seconds,
                 "The time between two checkpoints; 0: only on request and at the end");
  flags->memory_bytes = DefaultTableBytes(machine_bytes);
  AddBytesFlag(
      app, "--memory-bytes", &flags->memory_bytes, kLeastTableBytes,
      "Memory for the rows of all tables, such as 512MiB or 4G. Past it, a table that takes in more rows loses "
      "items. A table that could never be full within it is refused. Other budgets come on top: blocks that come in, "
      "batches that go out, and rows lent to these each get a sixteenth of it, at most 1 GiB; the newest rows of "
      "writers get a sixteenth, at least 64 MiB and at most 16 GiB; the rows of writers that are away get a 32nd, at "
      "most 512 MiB. By default all budgets together are four fifths of the machine's memory, or of the least limit "
      "of its control groups. The server warns if they are more than the machine has");
  AddBytesFlag(
      app, "--experiment-bytes", &flags->experiment_bytes, kLeastTableBytes,
      "The most bytes that the rows of one experiment's tables may take on this server, in memory and on disk, such "
      "as 4G. A table counts for its max_bytes, or for max_items windows of max_window rows if these are less; a "
      "table past the limit is refused. By default there is no limit");
  AddIntegerFlag(app, "--max-tables", &flags->max_tables, 1, 1'000'000, "The most tables that this server may hold");
  AddChoiceFlag(app, "--if-saved-differs", &flags->if_saved_differs,
                {{"refuse", SavedPolicy::kRefuse}, {"keep", SavedPolicy::kKeep}, {"replace", SavedPolicy::kReplace}},
                "If a client creates a table that differs from the restored one: refuse the new table, keep the "
                "restored table, or replace it");
  AddIntegerFlag(app, "--index", &flags->index, 0, kMaxShards - 1,
                 "The index that this server prefers among an experiment's replay servers, if it is free");
}

std::string MemoryWarning(const ReplayServerOptions& options, int64_t machine_bytes) {
  const int64_t beside = BytesBesideTables(options);
  if (options.store.max_bytes <= machine_bytes - beside) {
    return "";
  }
  return absl::StrCat("--memory-bytes ", options.store.max_bytes, ", with ", beside,
                      " bytes beside it, is more than this machine, or its control group, has (", machine_bytes,
                      " bytes): the system may end this server before its tables are full; ",
                      DefaultTableBytes(machine_bytes), " would fit");
}

}  // namespace waggle
