#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line_parts.h"
#include "common/hub/ports/pool.h"

namespace waggle {
namespace {

constexpr int64_t kMaxListed = 1'000'000;

void AddId(CLI::App* app, std::string* id) {
  SetRequired(AddWord(app, "ID", id, "An experiment's id, as `waggle submit` and `waggle list` print it"), true);
}

Command ParseSubmit(CLI::App* app, int argc, const char* const* argv) {
  SubmitFlags flags;
  AddExperimentFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--priority", &flags.priority, -kMaxExperimentPriority, kMaxExperimentPriority,
                 absl::StrCat("A number from ", -kMaxExperimentPriority, " to ", kMaxExperimentPriority,
                              "; experiments with a higher priority run first"));
  AddSwitch(app, "--watch", &flags.watch, "Show the experiment's progress until it ends, as `waggle watch` does");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseList(CLI::App* app, int argc, const char* const* argv) {
  ListFlags flags;
  AddIntegerFlag(app, "--limit", &flags.limit, 1, kMaxListed, "The most experiments to print, the newest first");
  std::vector<std::pair<std::string, std::optional<RunState>>> states = {{"any", std::nullopt}};
  for (const RunState state : {RunState::kQueued, RunState::kRunning, RunState::kFinishing, RunState::kSolved,
                               RunState::kLimit, RunState::kStopped, RunState::kFailed}) {
    states.emplace_back(RunStateName(state), state);
  }
  AddChoiceFlag(app, "--state", &flags.state, states, "Print only experiments in this state");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseStatus(CLI::App* app, int argc, const char* const* argv) {
  StatusFlags flags;
  std::string id;
  CLI::Option* const word = AddWord(app, "ID", &id, "An experiment's id; by default the pool and all experiments");
  SetExcludes(word, AddReplayTarget(app, &flags.target));
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  if (!id.empty()) {
    flags.target.experiment_id = id;
  }
  return flags;
}

Command ParseTop(CLI::App* app, int argc, const char* const* argv) {
  TopFlags flags;
  AddSecondsFlag(app, "--period", &flags.period_seconds, "The time from one screen to the next");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseWatch(CLI::App* app, int argc, const char* const* argv) {
  WatchFlags flags;
  AddId(app, &flags.id);
  AddSwitch(app, "--json", &flags.json, "Print JSON, as `waggle status ID --json` does, one line every two seconds");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

template <ChangeFlags::Change change>
Command ParseChange(CLI::App* app, int argc, const char* const* argv) {
  ChangeFlags flags;
  flags.change = change;
  AddId(app, &flags.id);
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseSet(CLI::App* app, int argc, const char* const* argv) {
  SetFlags flags;
  AddId(app, &flags.id);
  AddAssignments(app, &flags.numbers,
                 "A number and its new value, or a schedule, such as algorithm.optimizer.learning_rate=1e-4");
  AddSwitch(app, "--dry-run", &flags.dry_run, "Print the changes and make none");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseLogs(CLI::App* app, int argc, const char* const* argv) {
  LogsFlags flags;
  AddId(app, &flags.id);
  AddSwitch(app, "--follow", &flags.follow, "Print new events as they come, until the experiment ends");
  AddSwitch(app, "--json", &flags.json, "Print JSON, one line per event");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseHealth(CLI::App* app, int argc, const char* const* argv) {
  HealthFlags flags;
  SetRequired(AddAddressFlag(app, "HOST:PORT", &flags.address, "The server's address"), true);
  AddTextFlag(app, "--service", "NAME", &flags.service,
              "A name of the gRPC health protocol; by default the server as a whole");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> ExperimentVerbs() {
  return {
      {"submit",
       "Checks an experiment's file as `waggle check` does, puts it into the queue of a parameter server, and prints "
       "its id, or those of a population's members. An experiment runs once the pool has room for it. Exits with 0, 1 "
       "if the parameter server does not "
       "answer, 2 if the file or a flag is wrong; with --watch as `waggle watch`.",
       &ParseSubmit},
      {"list",
       "Prints the experiments of a parameter server. Exits with 0, 1 if it does not answer, 2 if a flag is wrong.",
       &ParseList},
      {"status",
       "Shows each process and each table of an experiment, or the result if it has ended; without ID, the processes "
       "of the pool and the experiments; with --replay-server, replay servers that serve alone and their tables. "
       "Exits with 0, 1 if no server answers, 2 if there is no such experiment or a flag is wrong.",
       &ParseStatus},
      {"top",
       "Shows the running and waiting experiments and their workers, with rates, memory and shares of waiting, again "
       "and again until q is pressed; once if the output is no terminal. Exits with 0, 1 if the parameter server does "
       "not answer, 2 if a flag is wrong.",
       &ParseTop},
      {"watch",
       "Shows an experiment's progress until it ends. Exits with 0 if the experiment was solved, or reached a limit "
       "and has no target, 1 if it ended otherwise or the parameter server does not answer, 2 if there is no such "
       "experiment or a flag is wrong, 130 if interrupted: the experiment goes on.",
       &ParseWatch},
      {"stop",
       "Ends an experiment. A running experiment ends as stopped, a queued one never begins, and one that has ended "
       "does not change. Exits with 0, 1 if the parameter server does not answer, 2 if there is no such experiment or "
       "a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kStop>},
      {"resume",
       "Puts an experiment that was stopped, or has failed, back into the queue; it continues from its saved state. "
       "Exits with 0, 1 "
       "if the parameter server does not answer, 2 if there is no such experiment, it was neither stopped nor has "
       "failed, its workers have not ended yet, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kResume>},
      {"delete",
       "Deletes an experiment that has ended, with all its saved data. Exits with 0, 1 if the parameter server does "
       "not answer, 2 if there is no such experiment, it or one of its workers has not ended, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kDelete>},
      {"set",
       "Sets numbers of a running experiment, such as a learning rate, and prints their old and new values. They are "
       "kept when its processes or the parameter server start again. Exits with 0, 1 if the parameter server does not "
       "answer, 2 if there is no such experiment, it does not run, a key cannot change while it runs, or a value or a "
       "flag is wrong.",
       &ParseSet},
      {"logs",
       "Prints the events of an experiment, oldest first, with times in UTC. Exits with 0, 1 if the parameter server "
       "does not answer, 2 if there is no such experiment or a flag is wrong, 130 if interrupted.",
       &ParseLogs},
      {"health",
       "Asks a server by the gRPC health protocol whether it serves, for supervisors of processes. Exits with 0 if it "
       "serves, 1 if it does not, does not know the service or does not answer within 3 seconds, 2 if a flag is wrong.",
       &ParseHealth},
  };
}

}  // namespace waggle
