// No test of its own: command_line_test.cc.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line_parts.h"
#include "common/experiment/sections.h"
#include "common/table_config/shard_config.h"

namespace waggle {
namespace {

Command ParseRun(CLI::App* app, int argc, const char* const* argv) {
  RunFlags flags;
  std::optional<int64_t> actors;
  std::optional<int64_t> replay_servers;
  std::optional<int64_t> learners;
  std::optional<int64_t> seed;
  AddExperimentFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--actors", &actors, 1, kMaxActorProcesses,
                 "How many actor processes; the same as --set actor.processes=N");
  AddIntegerFlag(app, "--replay-servers", &replay_servers, 1, kMaxShards,
                 "How many replay servers, which hold parts of one buffer; the same as --set replay.servers=N");
  AddIntegerFlag(app, "--learners", &learners, 1, kMaxLearnerProcesses,
                 "How many learners, which step by the mean of their gradients; the same as --set learner.processes=N");
  AddIntegerFlag(app, "--seed", &seed, 0, std::numeric_limits<int64_t>::max(),
                 "All randomness follows from it; the same as --set experiment.seed=N");
  AddPathFlag(app, "--output-dir", &flags.output_dir, "DIR", "Where results go; runs/NAME-TIME unless given");
  bool no_plot = false;
  AddSwitch(app, "--no-plot", &no_plot, "Draw no curves at the end");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  flags.plot = !no_plot;
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
          "A run's folder, or that of an experiment in a parameter server's data folder (experiments/ID): its best "
          "weights, or else its newest; or a "
          "folder of weights or of a learner's checkpoints, or one of these; or an experiment's file, FILE.yaml, for "
          "random actions"),
      true);
  if (records) {
    SetRequired(AddRecordFlags(app, "--output", &flags).front(), true);
  }
  AddEvaluationFlags(app, &flags);
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

Command ParsePlay(CLI::App* app, int argc, const char* const* argv) {
  PlayFlags flags;
  SetRequired(AddWord(app, "ENVIRONMENT", &flags.environment,
                      "A built-in environment, such as CartPole-v1, or an experiment's file, FILE.yaml"),
              true);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--episodes", &flags.episodes, 1, std::numeric_limits<int64_t>::max(), "How many episodes");
  AddIntegerFlag(app, "--seed", &flags.seed, 0, std::numeric_limits<int64_t>::max(),
                 "The start states and random actions follow from it; another one each time unless given");
  AddSwitch(app, "--random", &flags.random, "Take random actions");
  AddSwitch(app, "--json", &flags.json, "Print JSON, an object a line: each row, unless --random, and each episode");
  AddVideoFlags(app, &flags.video, &flags.video_episodes);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParsePlot(CLI::App* app, int argc, const char* const* argv) {
  PlotFlags flags;
  SetRequired(
      AddWords(app, "RUN", &flags.runs, "A run's folder; several that differ in their seed only become one curve"),
      true);
  AddPathFlag(app, "--out", &flags.out, "FILE",
              "The picture to write; RUN/curves.png for one run and curves.png for several unless given");
  AddSwitch(app, "--returns", &flags.returns_only, "Draw the returns alone");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseServeEnvironment(CLI::App* app, int argc, const char* const* argv) {
  ServeEnvironmentFlags flags;
  SetRequired(AddWord(app, "NAME", &flags.name, "A built-in environment, such as CartPole-v1"), true);
  AddListenFlag(app, &flags.listen);
  AddOverrides(app, &flags.overrides);
  AddIntegerFlag(app, "--seed", &flags.seed, 0, std::numeric_limits<int64_t>::max(),
                 "All randomness follows from it where clients give no seed of their own");
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> LocalVerbs() {
  return {
      {"run",
       "Trains an experiment with all its processes on this machine, until its stop condition. Exits with 0 "
       "if that is met, 1 if the run failed, was stopped at its parameter server, reached a limit before its "
       "target, or needs more memory than this machine has, 2 if the file or a flag is wrong, 130 if interrupted.",
       &ParseRun},
      {"check",
       "Checks an experiment's file, prints every value of it, and estimates what it takes. Exits with 0, 2 if the "
       "file or a flag is wrong.",
       &ParseCheck},
      {"evaluate",
       "Runs greedy episodes with what was trained: mean return, its standard error, the spread, and how long "
       "episodes are. Exits with 0, 1 if it failed, 2 if a flag is wrong or PATH holds nothing that can be evaluated, "
       "130 if "
       "interrupted.",
       &ParseEvaluate},
      {"record",
       "Runs episodes with what was trained, or of random actions, and writes their rows to a replay file, which "
       "serves as a data set and fills tables (waggle replay import). Exits as waggle evaluate does.",
       &ParseRecord},
      {"play",
       "Steps an environment by what is typed: a line is an action, its numbers with spaces between. Shows each row, "
       "and on a terminal a picture of a built-in environment. Exits with 0 once the episodes or the lines are over, 2 "
       "if a flag is wrong or the environment cannot be had, 1 if it failed.",
       &ParsePlay},
      {"plot",
       "Draws the curves of runs as a PNG: returns, rates and policy lag. Runs of one experiment become one curve, "
       "their mean, in a band of one standard deviation. Needs a python3 with matplotlib. Exits with 0, 2 if a flag "
       "or a folder is wrong, 3 if there is no matplotlib, 1 if it failed otherwise.",
       &ParsePlot},
      {"serve-environment",
       "Serves a built-in environment to clients that speak dm_env_rpc, until it is interrupted: worlds and joins may "
       "set its options (as --set environment.options.KEY=VALUE does), a seed and lanes, which are stepped together. "
       "Exits with 0, 2 if a flag is wrong, 1 if it cannot listen.",
       &ParseServeEnvironment},
  };
}

}  // namespace waggle
