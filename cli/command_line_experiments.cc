#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line_parts.h"
#include "cli/experiments/sweep.h"
#include "common/base/status_macros.h"
#include "common/hub/ports/pool.h"

namespace waggle {
namespace {

constexpr int64_t kMaxListed = 1'000'000;

constexpr char kIdText[] =
    "An experiment's id, as `waggle submit` and `waggle list` print it, or a beginning that no other id has";
constexpr char kIdsText[] =
    "Ids of experiments and of groups, as `waggle submit` and `waggle list` print them, or the beginnings of such ids";

void AddId(CLI::App* app, std::string* id) {
  SetRequired(AddWord(app, "ID", id, kIdText), true);
}

void AddTags(CLI::App* app, std::vector<std::string>* tags, const std::string& description) {
  AddTextsFlag(app, "--tag", "NAME", tags, description);
}

// Parses the axes of a sweep. Returns the problem, if any.
absl::Status TakeSweeps(const std::vector<std::string>& sweeps, const std::vector<std::string>& seeds,
                        SubmitFlags* flags) {
  for (const std::string& sweep : sweeps) {
    WAGGLE_ASSIGN_OR_RETURN(flags->sweeps.emplace_back(), ParseSweepAxis(sweep));
  }
  for (const std::string& range : seeds) {
    WAGGLE_ASSIGN_OR_RETURN(flags->sweeps.emplace_back(), ParseSeeds(range));
  }
  return CombineAxes(flags->sweeps).status();
}

Command ParseSubmit(CLI::App* app, int argc, const char* const* argv) {
  SubmitFlags flags;
  AddExperimentFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--priority", &flags.priority, -kMaxExperimentPriority, kMaxExperimentPriority,
                 absl::StrCat("A number from ", -kMaxExperimentPriority, " to ", kMaxExperimentPriority,
                              "; experiments with a higher priority run first"));
  std::vector<std::string> sweeps;
  std::vector<std::string> seeds;
  AddTextsFlag(app, "--sweep", "KEY=VALUE,VALUE", &sweeps,
               "Submit a group: an experiment for each of these values, such as "
               "algorithm.optimizer.learning_rate=1e-4,1e-3; may be given again, for all combinations, at most 1000");
  AddTextsFlag(app, "--seeds", "1-5", &seeds,
               "Submit a group: an experiment for each of these seeds, such as 1-5 or 1,2,7");
  AddTags(app, &flags.tags, "A name by which `waggle list --tag` finds the experiment; may be given again");
  AddTextFlag(app, "--owner", "NAME", &flags.owner,
              "The experiment's owner, for quotas and fair shares; by default the user's name");
  AddSwitch(app, "--watch", &flags.watch, "Show the experiment's progress until it ends, as `waggle watch` does");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  if (const absl::Status taken = TakeSweeps(sweeps, seeds, &flags); !taken.ok()) {
    return WrongUsage("waggle submit", std::string(taken.message()));
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
  AddChoiceFlag(app, "--state", &flags.state, states,
                "Print only experiments in this state, and groups with such a member");
  AddTextFlag(app, "--group", "ID", &flags.group, "Print the members of this group");
  AddTags(app, &flags.tags, "Print only experiments with this tag; may be given again");
  AddTextFlag(app, "--owner", "NAME", &flags.owner, "Print only experiments of this owner");
  AddTextFlag(app, "--name", "NAME", &flags.name, "Print only experiments with this experiment.name");
  AddSwitch(app, "--flat", &flags.flat, "Print the members of groups instead of one line a group");
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

// Limits of the section `stop`.
void AddLimits(CLI::App* app, std::vector<std::pair<std::string, std::string>>* limits) {
  for (const auto& [flag, key, type, description] :
       {std::make_tuple("--max-env-steps", "stop.max_env_steps", "N", "Go on to this number of environment steps"),
        std::make_tuple("--max-learner-steps", "stop.max_learner_steps", "N", "Go on to this number of learner steps"),
        std::make_tuple("--max-seconds", "stop.max_seconds", "S", "Go on until the run has taken this time"),
        std::make_tuple("--target-return", "stop.target_return", "R",
                        "Go on until this mean return is reached; null: without a target")}) {
    AddAssignmentFlag(app, flag, type, key, limits, description);
  }
}

template <ChangeFlags::Change change>
Command ParseChange(CLI::App* app, int argc, const char* const* argv) {
  ChangeFlags flags;
  flags.change = change;
  SetRequired(AddWords(app, "ID", &flags.ids, kIdsText), true);
  if (change == ChangeFlags::Change::kResume) {
    AddLimits(app, &flags.limits);
    AddIntegerFlag(app, "--cut", &flags.cut, 1, 1'000'000'000,
                   "Go back to this cut, as `waggle inspect --cuts` lists them, instead of the saved state");
  }
  if (change == ChangeFlags::Change::kPriority) {
    SetRequired(AddIntegerFlag(app, "--to", &flags.priority, -kMaxExperimentPriority, kMaxExperimentPriority,
                               "The new priority; experiments with a higher one run first"),
                true);
  }
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
       "its id. With --sweep or --seeds, or with a population, it submits a group of experiments and prints the "
       "group's id. An experiment runs once the pool has room for it. Exits with 0, 1 if the parameter server does not "
       "answer, 2 if the file or a flag is wrong; with --watch as `waggle watch`.",
       &ParseSubmit},
      {"list",
       "Prints the experiments of a parameter server, the newest first, and one line for each group of them. Exits "
       "with 0, 1 if it does not answer, 2 if a flag is wrong.",
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
       "Ends experiments. A running experiment ends as stopped, a queued one never begins, and one that has ended "
       "does not change. Exits with 0, 1 if the parameter server does not answer, 2 if there is no such experiment or "
       "a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kStop>},
      {"resume",
       "Puts experiments that have ended back into the queue; they continue from their saved state. One that has "
       "reached a limit, or was solved, needs a later limit. Exits with 0, 1 if the parameter server does not answer, "
       "2 if there is no such experiment, it or one of its workers has not ended, it would end again at once, or a "
       "flag is wrong.",
       &ParseChange<ChangeFlags::Change::kResume>},
      {"checkpoint",
       "Makes a cut of running experiments, a consistent state of the whole run, and waits until it is complete. A run "
       "can go back to it, by `waggle resume ID --cut N`. Exits with 0, 1 if the parameter server does not answer or a "
       "cut could not be made, 2 if there is no such experiment, it does not run or can have no cuts, or a flag is "
       "wrong.",
       &ParseChange<ChangeFlags::Change::kCheckpoint>},
      {"delete",
       "Deletes experiments that have ended, with all their saved data. Exits with 0, 1 if the parameter server does "
       "not answer, 2 if there is no such experiment, it or one of its workers has not ended, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kDelete>},
      {"priority",
       "Changes the priority of experiments that have not ended. Exits with 0, 1 if the parameter server does not "
       "answer, 2 if there is no such experiment, it has ended, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kPriority>},
      {"set",
       "Sets numbers of a running experiment, or of each member of a group, such as a learning rate, and prints their "
       "old and new values. The new values stay when its processes or the parameter server start again. Exits with 0, "
       "1 if the parameter server does not answer, 2 if there is no such experiment, it does not run, a key cannot "
       "change while it runs, or a value or a flag is wrong.",
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
