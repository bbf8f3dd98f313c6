#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line_parts.h"
#include "cli/completion/completion.h"
#include "common/config/experiment/sections.h"
#include "common/config/table/shard_config.h"
#include "common/net/security/access_role.h"

namespace waggle {
namespace {

Command ParseConfigs(CLI::App* app, int argc, const char* const* argv) {
  ConfigsFlags flags;
  AddWord(app, "NAME", &flags.name, "An experiment to print; by default all are listed");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseRun(CLI::App* app, int argc, const char* const* argv) {
  RunFlags flags;
  std::optional<int64_t> actors;
  std::optional<int64_t> replay_servers;
  std::optional<int64_t> learners;
  std::optional<int64_t> seed;
  std::optional<int64_t> max_env_steps;
  SetRequired(AddExperimentFile(app, &flags.file), false);  // With --resume it may be left out.
  AddOverrides(app, &flags.overrides);
  CLI::Option* const resume = AddPathFlag(
      app, "--resume", &flags.resume, "RUN",
      "The folder of an earlier run, which goes on. FILE may be left out. Only keys of the section stop may differ");
  AddIntegerFlag(app, "--max-env-steps", &max_env_steps, 1, std::numeric_limits<int64_t>::max(),
                 "The number of environment steps after which the run ends; the same as --set stop.max_env_steps=N");
  AddIntegerFlag(app, "--actors", &actors, 1, kMaxActorProcesses,
                 "The number of actor processes; the same as --set actor.processes=N");
  AddIntegerFlag(app, "--replay-servers", &replay_servers, 1, kMaxShards,
                 "The number of replay servers, each with a part of one buffer; the same as --set replay.servers=N");
  AddIntegerFlag(app, "--learners", &learners, 1, kMaxLearnerProcesses,
                 "The number of learners, which step by the mean of their gradients; the same as --set "
                 "learner.processes=N");
  AddIntegerFlag(app, "--seed", &seed, 0, std::numeric_limits<int64_t>::max(),
                 "The seed of all random numbers; the same as --set experiment.seed=N");
  SetExcludes(resume, AddPathFlag(app, "--output-dir", &flags.output_dir, "DIR",
                                  "The folder for results; by default runs/NAME-TIME"));
  bool no_plot = false;
  AddSwitch(app, "--no-plot", &no_plot, "Do not draw curves at the end");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  if (flags.file.empty() && flags.resume.empty()) {
    return WrongUsage("waggle run", "FILE is required, unless --resume is given");
  }
  flags.plot = !no_plot;
  if (max_env_steps.has_value()) {
    flags.overrides.emplace_back("stop.max_env_steps", absl::StrCat(*max_env_steps));
  }
  if (actors.has_value()) {
    flags.overrides.emplace_back("actor.processes", absl::StrCat(*actors));
  }
  if (replay_servers.has_value()) {
    flags.overrides.emplace_back("replay.servers", absl::StrCat(*replay_servers));
  }
  if (learners.has_value()) {
    flags.overrides.emplace_back("learner.processes", absl::StrCat(*learners));
  }
  if (seed.has_value()) {
    flags.overrides.emplace_back("experiment.seed", absl::StrCat(*seed));
  }
  return flags;
}

Command ParseCheck(CLI::App* app, int argc, const char* const* argv) {
  CheckFlags flags;
  AddExperimentFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseSaved(CLI::App* app, bool records, int argc, const char* const* argv) {
  EvaluationFlags flags;
  SetRequired(
      AddWord(
          app, "PATH", &flags.path,
          "A run's folder, or an experiment's folder in a parameter server's data folder (experiments/ID): its best "
          "weights, or its newest if it has no best ones. Or a folder of weights or of a learner's checkpoints, or "
          "one of these. Or an experiment's file, FILE.yaml, for random actions. If no path has this name: the id of "
          "an experiment, whose files are fetched from its parameter server"),
      true);
  if (records) {
    SetRequired(AddRecordFlags(app, "--output", &flags).front(), true);
  }
  AddEvaluationFlags(app, &flags);
  AddHubFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  if (flags.path.empty()) {
    return WrongUsage(records ? "waggle record" : "waggle evaluate", "PATH: got \"\"; wanted a folder");
  }
  return flags;
}

Command ParseEvaluate(CLI::App* app, int argc, const char* const* argv) {
  return ParseSaved(app, false, argc, argv);
}

Command ParseRecord(CLI::App* app, int argc, const char* const* argv) {
  return ParseSaved(app, true, argc, argv);
}

Command ParseExport(CLI::App* app, int argc, const char* const* argv) {
  PolicyFlags flags;
  SetRequired(
      AddWord(app, "PATH", &flags.path,
              "A run's folder, or any other path with weights that waggle evaluate takes; or an experiment's id"),
      true);
  AddWord(app, "FILE", &flags.output,
          "The ONNX file to write; by default policy.onnx in the run's folder, or in the working folder for an id");
  AddSwitch(app, "--newest", &flags.newest, "Export the newest weights instead of the best");
  AddHubFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseImportDataset(CLI::App* app, int argc, const char* const* argv) {
  DatasetFlags flags;
  SetRequired(AddWords(app, "SOURCE", &flags.sources,
                       "A folder of Minari, an .npz or .hdf5 file with D4RL's arrays observations, actions, rewards, "
                       "terminals and timeouts, or a replay file of recorded episodes"),
              true);
  SetRequired(AddPathFlag(app, "--output", &flags.output, "FILE", "The replay file to write, which must not exist"),
              true);
  AddTextFlag(app, "--python", "PYTHON", &flags.python,
              "An interpreter with gymnasium, numpy and, for HDF5, h5py; by default python3");
  AddSwitch(app, "--drop-last", &flags.drop_last, "Leave out the last episode if it has no end");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParsePlay(CLI::App* app, int argc, const char* const* argv) {
  PlayFlags flags;
  SetRequired(AddWord(app, "ENVIRONMENT", &flags.environment,
                      "A built-in environment, such as CartPole-v1, or an experiment's file, FILE.yaml"),
              true);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--episodes", &flags.episodes, 1, std::numeric_limits<int64_t>::max(), "The number of episodes");
  AddIntegerFlag(app, "--seed", &flags.seed, 0, std::numeric_limits<int64_t>::max(),
                 "The seed of the start states and of random actions; by default another one each time");
  AddSwitch(app, "--random", &flags.random, "Take random actions");
  AddSwitch(app, "--json", &flags.json, "Print JSON, one object per line: each row, unless --random, and each episode");
  AddVideoFlags(app, &flags.video, &flags.video_episodes);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseCompletion(CLI::App* app, int argc, const char* const* argv) {
  std::string shell;
  SetRequired(AddWord(app, absl::StrJoin(CompletionShells(), "|"), &shell, "The shell"), true);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  absl::StatusOr<std::string> script = CompletionScript(shell, AllVerbFacts());
  return script.ok() ? PrintAndExit{*std::move(script), 0}
                     : WrongUsage("waggle completion", std::string(script.status().message()));
}

Command ParseServeEnvironment(CLI::App* app, int argc, const char* const* argv) {
  ServeEnvironmentFlags flags;
  SetRequired(AddWord(app, "NAME", &flags.name, "A built-in environment, such as CartPole-v1"), true);
  AddListenFlag(app, &flags.listen);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--seed", &flags.seed, 0, std::numeric_limits<int64_t>::max(),
                 "The seed of all random numbers of clients that give no seed");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseToken(CLI::App* app, int argc, const char* const* argv) {
  TokenFlags flags;
  SetRequired(AddWord(app, "NAME", &flags.name, "The name by which logs and quotas know the caller"), true);
  std::vector<std::pair<std::string, AccessRole>> roles;
  for (const AccessRole role : kAllAccessRoles) {
    roles.emplace_back(AccessRoleName(role), role);
  }
  AddChoiceFlag(
      app, "--role", &flags.role, roles,
      "What the caller may do: read states and results; submit and change experiments too; work for the pool, "
      "or use replay servers; or everything");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> LocalVerbs() {
  return {
      {"configs",
       "Lists the experiments that ship: their names, algorithms, environments and descriptions. Other verbs take "
       "these names in place of FILE. With NAME, prints that experiment's file. Exits with 0, 2 if there is no such "
       "experiment.",
       &ParseConfigs, Connections::kNone},
      {"run",
       "Trains an experiment with all its processes on this machine, until its stop condition. Exits with 0 if that "
       "is met, 1 if the run failed, was stopped at its parameter server, reached a limit before its target, or needs "
       "more memory than this machine has, 2 if the file or a flag is wrong, 130 if interrupted: --resume lets it go "
       "on.",
       &ParseRun, Connections::kNone},
      {"check",
       "Checks an experiment's file, prints all its values, and estimates the memory it needs. Exits with 0, 2 if the "
       "file or a flag is wrong.",
       &ParseCheck, Connections::kNone},
      {"evaluate",
       "Runs greedy episodes with trained weights, and reports their mean return, its standard error, their spread, "
       "and their lengths. Exits with 0, 1 if it failed, 2 if a flag is wrong or PATH holds nothing that can be "
       "evaluated, 130 if interrupted.",
       &ParseEvaluate},
      {"record",
       "Runs episodes with trained weights, or with random actions, and writes their rows to a replay file. The file "
       "serves as a data set and fills tables (waggle replay import). Exits as waggle evaluate does.",
       &ParseRecord},
      {"export",
       "Writes the greedy policy of trained weights as an ONNX file, which onnxruntime and other programs run without "
       "Waggle. Exits with 0, 1 if it failed, 2 if a flag is wrong or PATH holds nothing that can be exported, 130 if "
       "interrupted.",
       &ParseExport},
      {"import",
       "Converts data sets of Minari or D4RL to a replay file of recorded episodes, from which experiments learn "
       "(replay.import). The episodes of several sources come one behind the other. Exits with 0, 2 if a flag or the "
       "data set is wrong, 1 if it failed, 130 if interrupted.",
       &ParseImportDataset, Connections::kNone},
      {"play",
       "Steps an environment by typed lines: each line is an action, its numbers separated by spaces. Shows each row, "
       "and on a terminal a picture of a built-in environment. Exits with 0 once the episodes or the lines are over, "
       "2 if a flag is wrong or the environment cannot be opened, 1 if it failed.",
       &ParsePlay, Connections::kNone},
      {"serve-environment",
       "Serves a built-in environment to clients that speak dm_env_rpc, until it is interrupted. Worlds and joins may "
       "set the environment's options (as --set environment.options.KEY=VALUE does), a seed, and a number of lanes, "
       "which are stepped together. Exits with 0, 2 if a flag is wrong, 1 if it cannot listen.",
       &ParseServeEnvironment, Connections::kServer},
      {"token",
       "Makes a token, and prints it with the line for the file of --access, which has the token's hash. The token is "
       "kept nowhere: put it into a file for --token-file. Exits with 0, 2 if a flag is wrong, 1 if it failed.",
       &ParseToken, Connections::kNone},
      {"completion",
       "Prints the script by which a shell completes the words of waggle. For bash: source <(waggle completion bash). "
       "Exits with 0, 2 if the shell is not known.",
       &ParseCompletion, Connections::kNone},
  };
}

}  // namespace waggle
