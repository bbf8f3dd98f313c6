// No test of its own: command_line_test.cc.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line_parts.h"
#include "common/api/pool.h"

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
                 absl::StrCat("From ", -kMaxExperimentPriority, " to ", kMaxExperimentPriority,
                              ": experiments of higher ones come first"));
  AddSwitch(app, "--watch", &flags.watch, "Then go on as `waggle watch`");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseList(CLI::App* app, int argc, const char* const* argv) {
  ListFlags flags;
  AddIntegerFlag(app, "--limit", &flags.limit, 1, kMaxListed, "How many, the newest first");
  std::vector<std::pair<std::string, std::optional<RunState>>> states = {{"any", std::nullopt}};
  for (const RunState state : {RunState::kQueued, RunState::kRunning, RunState::kFinishing, RunState::kSolved,
                               RunState::kLimit, RunState::kStopped, RunState::kFailed}) {
    states.emplace_back(RunStateName(state), state);
  }
  AddChoiceFlag(app, "--state", &flags.state, states, "Those of this state alone");
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
  CLI::Option* const word = AddWord(app, "ID", &id, "An experiment's id; the pool and all experiments unless given");
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

Command ParseWatch(CLI::App* app, int argc, const char* const* argv) {
  WatchFlags flags;
  AddId(app, &flags.id);
  AddSwitch(app, "--json", &flags.json, "Print JSON, as `waggle status ID --json`: a line every two seconds");
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

Command ParseLogs(CLI::App* app, int argc, const char* const* argv) {
  LogsFlags flags;
  AddId(app, &flags.id);
  AddSwitch(app, "--follow", &flags.follow, "Go on with what happens to it, until it is over");
  AddSwitch(app, "--json", &flags.json, "Print JSON, a line an event");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseHealth(CLI::App* app, int argc, const char* const* argv) {
  HealthFlags flags;
  SetRequired(AddAddressFlag(app, "HOST:PORT", &flags.address, "Where the server is"), true);
  AddTextFlag(app, "--service", "NAME", &flags.service,
              "A service by the name that the server has for its health; the server as a whole unless given");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> ExperimentVerbs() {
  return {
      {"submit",
       "Checks an experiment's file as `waggle check` does, hands it to a parameter server, which runs it once its "
       "pool "
       "has room for it, and prints its id. Exits with 0, 1 if the parameter server does not answer, 2 if the file or "
       "a "
       "flag is wrong; with --watch as `waggle watch`.",
       &ParseSubmit},
      {"list",
       "Prints the experiments of a parameter server. Exits with 0, 1 if it does not answer, 2 if a flag is wrong.",
       &ParseList},
      {"status",
       "Says what each process and each table of an experiment does, or what came of it; without ID, what the "
       "processes of the pool do, and how the experiments stand; with --replay-server, how replay servers that serve "
       "alone and their tables fare. Exits with 0, 1 if nobody answers, 2 if there is no such experiment or a flag is "
       "wrong.",
       &ParseStatus},
      {"watch",
       "Shows how an experiment gets on, until it is over. Exits with 0 if it was solved, or reached a limit and has "
       "no target, 1 if it ended otherwise or the parameter server does not answer, 2 if there is no such experiment "
       "or a flag is wrong, 130 if interrupted: the experiment goes on.",
       &ParseWatch},
      {"stop",
       "Ends an experiment: one that runs ends as stopped, one that waits never begins, and what has ended stays as it "
       "is. Exits with 0, 1 if the parameter server does not answer, 2 if there is no such experiment or a flag is "
       "wrong.",
       &ParseChange<ChangeFlags::Change::kStop>},
      {"resume",
       "Puts an experiment that was stopped, or has failed, into the queue again, to go on from where it was. Exits "
       "with 0, 1 if the parameter server does not answer, 2 if there is no such experiment, it was neither "
       "stopped nor has failed, its workers have not ended yet, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kResume>},
      {"delete",
       "Deletes an experiment that has ended, with all that is kept of it. Exits with 0, 1 if the parameter server "
       "does not answer, 2 if there is no such experiment, it or one of its workers has not ended, or a flag is wrong.",
       &ParseChange<ChangeFlags::Change::kDelete>},
      {"logs",
       "Prints what has happened to an experiment, oldest first, with times in UTC. Exits with 0, 1 if the parameter "
       "server does not answer, 2 if there is no such experiment or a flag is wrong, 130 if interrupted.",
       &ParseLogs},
      {"health",
       "Asks a server by the health protocol of gRPC whether it serves: for whatever starts processes and wants to "
       "know whether they work. Exits with 0 if it does, 1 if it does not, knows no such service or does not answer "
       "within 3 seconds, 2 if a flag is wrong.",
       &ParseHealth},
  };
}

}  // namespace waggle
