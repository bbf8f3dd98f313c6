#include "replay_server/replay_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/process/flags.h"
#include "common/table_config/shard_config.h"
#include "replay_server/service/memory_budgets.h"

namespace waggle {

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
  AddCommonFlags(app, &flags->log_level);
  AddListenFlag(app, &flags->listen);
  AddAddressFlag(app, "--advertise", &flags->advertise,
                 "Where others find this server; by default the address listened on, or where that stands for all of "
                 "this machine the one from which it reaches the parameter server");
  // Without one it serves whoever knows its address. A table whose name has a '/' is the experiment's that is named
  // before it, and goes with it.
  SetRequired(AddParamServerFlag(app, &flags->param_server), false);
  AddPathFlag(app, "--data-dir", &flags->data_dir, "DIR",
              "Folder that tables are kept in whose durability is checkpoint or log, and rows past a memory_limit; "
              "without one there can be none. A server that is started again with its folder is the same one to the "
              "experiments whose tables it holds");
  AddSecondsFlag(app, "--checkpoint-seconds", &flags->checkpoint_seconds,
                 "Time between two checkpoints; 0: only when asked for, and at the end");
  flags->memory_bytes = DefaultTableBytes(machine_bytes);
  AddBytesFlag(
      app, "--memory-bytes", &flags->memory_bytes, kLeastTableBytes,
      "Memory for the rows of all tables, such as 512MiB or 4G: past it those lose items that take more, and a table "
      "that could never be full in it is refused. Beside it, a sixteenth of it, and at most 1 GiB, is each for blocks "
      "that come in, for batches that go out and for rows lent to these; a sixteenth, at least 64 MiB and at most 16 "
      "GiB, is for writers' newest rows, and a 32nd, at most 512 MiB, for writers that are away. By default what these "
      "leave of four fifths of the machine's, or of the least that its control groups allow; more than there is is "
      "warned of");
  AddBytesFlag(
      app, "--experiment-bytes", &flags->experiment_bytes, kLeastTableBytes,
      "What the rows of one experiment's tables may take on this server, in memory and on disk, such as 4G: a table "
      "counts for its max_bytes, or for max_items windows of max_window rows if these are less, and one that would be "
      "too much is refused. No limit unless given");
  AddIntegerFlag(app, "--max-tables", &flags->max_tables, 1, 1'000'000, "How many tables there may be");
  AddChoiceFlag(app, "--if-saved-differs", &flags->if_saved_differs,
                {{"refuse", SavedPolicy::kRefuse}, {"keep", SavedPolicy::kKeep}, {"replace", SavedPolicy::kReplace}},
                "What becomes of a restored table where one that differs is created: refuse to, keep the restored "
                "one, or replace it");
  AddIntegerFlag(app, "--index", &flags->index, 0, kMaxShards - 1,
                 "Which of an experiment's replay servers this one would rather be, where that is free");
}

std::string MemoryWarning(const ReplayServerOptions& options, int64_t machine_bytes) {
  const int64_t beside = BytesBesideTables(options);
  if (options.store.max_bytes <= machine_bytes - beside) {
    return "";
  }
  return absl::StrCat("--memory-bytes ", options.store.max_bytes, ", with ", beside,
                      " bytes beside it, is more than this machine, or its control group, has (", machine_bytes,
                      " bytes): the system may end this server before its tables are full; ",
                      DefaultTableBytes(machine_bytes), " is what fits");
}

}  // namespace waggle
