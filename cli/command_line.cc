#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/build_info.h"
#include "common/base/host_port.h"
#include "common/base/nearest_name.h"
#include "common/config/yaml_file.h"
#include "common/experiment/sections.h"
#include "common/process/flags.h"
#include "common/table_config/shard_config.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

constexpr char kHelp[] =
    R"(waggle: distributed actor-learner training of deep reinforcement learning

usage: waggle VERB ...

  run FILE      train an experiment with all its processes on this machine
  status        what each process and each table of a running experiment does, or of replay servers alone
  check FILE    check an experiment's file, print every value of it, and estimate what it takes
  evaluate PATH run greedy episodes with what was trained, and say how well it does
  plot RUN ...  draw the curves of runs, as a PNG
  why [TABLE]   who waits for whom at the replay tables of a running experiment, why, and what would free them
  inspect TABLE the items of a replay table: their keys, ages, priorities and writers, or all columns of one
  reconfigure TABLE KEY=VALUE ...
                changes the limits of a replay table while it is in use
  replay export TABLE FILE
                writes what a replay table holds to a file
  replay import FILE
                inserts a file's items into a replay table

  help VERB     the flags of a verb; the same as waggle VERB --help
  --version     print the version
)";

using Overrides = std::vector<std::pair<std::string, std::string>>;

PrintAndExit WrongUsage(const std::string& name, const std::string& problem) {
  return {absl::StrCat(name, ": ", absl::StrReplaceAll(problem, {{"\n", " "}}), "; see ", name, " --help\n"),
          kUsageError};
}

// Parses one verb's flags. Returns what to print instead of going on, if anything.
std::optional<PrintAndExit> Parse(CLI::App* app, int argc, const char* const* argv) {
  // CLI11 takes the arguments last one first.
  std::vector<std::string> arguments;
  for (int i = argc - 1; i >= 2; --i) {
    arguments.emplace_back(argv[i]);
  }
  try {
    app->parse(arguments);
    return std::nullopt;
  } catch (const CLI::Success& done) {
    std::ostringstream out;
    app->exit(done, out, out);
    return PrintAndExit{out.str(), 0};
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> known;
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        known.push_back(absl::StrCat("--", name));
      }
    }
    const std::string first = app->remaining().empty() ? "" : app->remaining().front();
    const bool is_flag = absl::StartsWith(first, "-");
    return WrongUsage(app->get_name(), absl::StrCat(is_flag ? "there is no flag " : "one argument too many: ", first,
                                                    is_flag ? DidYouMean(first, known) : ""));
  } catch (const CLI::Error& error) {
    return WrongUsage(app->get_name(), error.what());
  }
}

std::string CheckAddress(const std::string& value) {
  return std::string(ValidateHostPort(value).message());
}

std::string CheckKey(const std::string& value) {
  uint64_t key = 0;
  return absl::SimpleAtoi(value, &key) ? "" : absl::StrCat("got \"", value, "\"; wanted an item's key, a number >= 0");
}

void AddFile(CLI::App* app, std::string* file) {
  app->add_option("FILE", *file, "The experiment, as YAML")->required();
}

void AddOverrides(CLI::App* app, Overrides* overrides) {
  app->add_option_function<std::vector<std::string>>(
         "--set",
         [overrides](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             auto parsed = ParseOverride(text);
             if (!parsed.ok()) {
               throw CLI::ValidationError("--set", std::string(parsed.status().message()));
             }
             overrides->push_back(*std::move(parsed));
           }
         },
         "Replaces a value of the file, such as learner.batch_size=256; may be given again")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)  // What follows a value is the verb's own argument.
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Command ParseRun(CLI::App* app, int argc, const char* const* argv) {
  RunFlags flags;
  std::optional<int64_t> actors;
  std::optional<int64_t> replay_servers;
  std::optional<int64_t> learners;
  std::optional<int64_t> seed;
  AddFile(app, &flags.file);
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
  app->add_flag("!--no-plot", flags.plot, "Draw no curves at the end");
  if (const std::optional<PrintAndExit> instead = Parse(app, argc, argv)) {
    return *instead;
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

void AddReplayTarget(CLI::App* app, ReplayTarget* target) {
  app->add_option("--param-server", target->param_server, "Where the parameter server is; all replay servers it knows")
      ->envname("WAGGLE_PARAM_SERVER")
      ->type_name("HOST:PORT")
      ->check(CheckAddress);
  app->add_option("--replay-server", target->replay_servers,
                  "A replay server, instead; may be given again, or several with commas between them")
      ->type_name("HOST:PORT")
      ->expected(1)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CheckAddress);
}

// As Parse, for a verb that asks replay servers.
std::optional<PrintAndExit> ParseWithTarget(CLI::App* app, const ReplayTarget& target, int argc,
                                            const char* const* argv) {
  std::optional<PrintAndExit> instead = Parse(app, argc, argv);
  if (!instead.has_value() && target.replay_servers.empty() && target.param_server.empty()) {
    instead = WrongUsage(app->get_name(), "--param-server or --replay-server is required");
  }
  return instead;
}

Command ParseStatus(CLI::App* app, int argc, const char* const* argv) {
  StatusFlags flags;
  AddReplayTarget(app, &flags.target);
  app->add_flag("--json", flags.json, "Print JSON");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseWhy(CLI::App* app, int argc, const char* const* argv) {
  WhyFlags flags;
  app->add_option("TABLE", flags.table, "A table; all unless given");
  AddReplayTarget(app, &flags.target);
  app->add_flag("--json", flags.json, "Print JSON");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseInspect(CLI::App* app, int argc, const char* const* argv) {
  InspectFlags flags;
  TableQuestion& question = flags.question;
  app->add_option("TABLE", question.table, "A table")->required();
  AddReplayTarget(app, &flags.target);
  std::vector<std::pair<std::string, std::string>> orders;
  for (const char* const order : {"key", "newest", "oldest", "highest", "lowest"}) {
    orders.emplace_back(order, order);
  }
  AddChoiceFlag(app, "--order", &question.order, orders,
                "Which items first: by key, newest, oldest, highest or lowest (priority)");
  AddIntegerFlag(app, "--limit", &question.limit, 1, 1'000'000, "How many items");
  app->add_option("--page", question.page, "Go on where a listing ended")->type_name("TOKEN");
  app->add_option("--key", question.keys, "Only the item of this key; may be given again")
      ->type_name("KEY")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CheckKey);
  app->add_option("--item", question.item, "One item, with its columns")->type_name("KEY")->check(CheckKey);
  app->add_flag("--json", flags.json, "Print JSON, with an item's columns in full");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  question.in_full = flags.json;
  return flags;
}

Command ParseReconfigure(CLI::App* app, int argc, const char* const* argv) {
  ReconfigureFlags flags;
  app->add_option("TABLE", flags.table, "A table")->required();
  app->add_option_function<std::vector<std::string>>(
         "KEY=VALUE",
         [&flags](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             auto parsed = ParseOverride(text);
             if (!parsed.ok()) {
               throw CLI::ValidationError("KEY=VALUE", std::string(parsed.status().message()));
             }
             flags.changes.push_back(*std::move(parsed));
           }
         },
         "What is to be, such as max_items=200000")
      ->required();
  AddReplayTarget(app, &flags.target);
  app->add_flag("--dry-run", flags.dry_run, "Only say what would change");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseExport(CLI::App* app, int argc, const char* const* argv) {
  ExportFlags flags;
  app->add_option("TABLE", flags.table, "A table")->required();
  app->add_option("FILE", flags.file, "The file to write, which must not be there")->required();
  AddReplayTarget(app, &flags.target);
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseImport(CLI::App* app, int argc, const char* const* argv) {
  ImportFlags flags;
  app->add_option("FILE", flags.file, "A file that `waggle replay export` wrote")->required();
  app->add_option("--table", flags.table, "The table to fill; that of the file unless given")->type_name("TABLE");
  AddIntegerFlag(app, "--idle-timeout", &flags.idle_seconds, 1, 1'000'000'000,
                 "Give up once the table took nothing for so long, in seconds");
  AddReplayTarget(app, &flags.target);
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

// `waggle replay VERB …`.
Command ParseReplay(int argc, const char* const* argv) {
  const std::string verb = argc > 2 ? argv[2] : "";
  if (verb == "export") {
    CLI::App app(
        "Writes what a table of one replay server holds to a file, oldest items first, while the table goes on. Exits "
        "with 0, 1 if the server does not answer, 2 if a flag is wrong, there is no such table or the file is there, "
        "130 if interrupted.",
        "waggle replay export");
    return ParseExport(&app, argc - 1, argv + 1);
  }
  if (verb == "import") {
    CLI::App app(
        "Inserts the items of a file into a replay table, which is created as the file says where it is not there. "
        "Exits with 0, 1 if a server does not answer or the table takes nothing for too long, 2 if a flag or the file "
        "is "
        "wrong or the table differs, 130 if interrupted.",
        "waggle replay import");
    return ParseImport(&app, argc - 1, argv + 1);
  }
  if (verb == "--help" || verb == "-h") {
    return PrintAndExit{kHelp, 0};
  }
  return WrongUsage("waggle replay",
                    verb.empty() ? "a verb is missing; wanted export or import"
                                 : absl::StrCat("there is no verb \"", verb, "\"",
                                                DidYouMean(verb, {"export", "import"}), "; wanted export or import"));
}

Command ParseEvaluate(CLI::App* app, int argc, const char* const* argv) {
  EvaluationFlags flags;
  app->add_option("PATH", flags.path,
                  "A run's folder or a parameter server's data folder: its best weights, or else its newest; or a "
                  "folder of weights or of a learner's checkpoints, or one of these")
      ->required();
  AddEvaluationFlags(app, &flags);
  if (const std::optional<PrintAndExit> instead = Parse(app, argc, argv)) {
    return *instead;
  }
  if (flags.path.empty()) {
    return WrongUsage(app->get_name(), "PATH: got \"\"; wanted a folder");
  }
  return flags;
}

Command ParsePlot(CLI::App* app, int argc, const char* const* argv) {
  PlotFlags flags;
  app->add_option("RUN", flags.runs, "A run's folder; several that differ in their seed only become one curve")
      ->required();
  AddPathFlag(app, "--out", &flags.out, "FILE",
              "The picture to write; RUN/curves.png for one run and curves.png for several unless given");
  app->add_flag("--returns", flags.returns_only, "Draw the returns alone");
  if (const std::optional<PrintAndExit> instead = Parse(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseCheck(CLI::App* app, int argc, const char* const* argv) {
  CheckFlags flags;
  AddFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  if (const std::optional<PrintAndExit> instead = Parse(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

Command ParseCommand(int argc, const char* const* argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "help" && argc > 2) {
    std::vector<const char*> words(argv + 2, argv + argc);
    words.insert(words.begin(), argv[0]);
    words.push_back("--help");
    return ParseCommand(static_cast<int>(words.size()), words.data());
  }
  if (verb == "--help" || verb == "-h" || verb == "help") {
    return PrintAndExit{kHelp, 0};
  }
  if (verb == "--version") {
    return PrintAndExit{absl::StrCat("waggle ", kVersion, "\n"), 0};
  }
  if (verb == "run") {
    CLI::App app(
        "Trains an experiment with all its processes on this machine, until its stop condition. Exits with 0 "
        "if that is met, 1 if the run failed, reached a limit before its target, or needs more memory than this "
        "machine has, 2 if the file or a flag is wrong, 130 if interrupted.",
        "waggle run");
    return ParseRun(&app, argc, argv);
  }
  if (verb == "status") {
    CLI::App app(
        "Says what each process and each table of a running experiment does; or, with --replay-server, how replay "
        "servers that serve alone and their tables fare. Exits with 0, 1 if nobody answers, 2 if a flag is wrong.",
        "waggle status");
    return ParseStatus(&app, argc, argv);
  }
  if (verb == "check") {
    CLI::App app("Checks an experiment's file, prints every value of it, and estimates what it takes.", "waggle check");
    return ParseCheck(&app, argc, argv);
  }
  if (verb == "evaluate") {
    CLI::App app(
        "Runs greedy episodes with what was trained: mean return, its standard error, the spread, and how long "
        "episodes "
        "are. Exits with 0, 1 if it failed, 2 if a flag is wrong or PATH holds nothing that can be evaluated, 130 if "
        "interrupted.",
        "waggle evaluate");
    return ParseEvaluate(&app, argc, argv);
  }
  if (verb == "plot") {
    CLI::App app(
        "Draws the curves of runs as a PNG: returns, rates and policy lag. Runs of one experiment become one curve, "
        "their mean, in a band of one standard deviation. Needs a python3 with matplotlib. Exits with 0, 2 if a flag "
        "or "
        "a folder is wrong, 3 if there is no matplotlib, 1 if it failed otherwise.",
        "waggle plot");
    return ParsePlot(&app, argc, argv);
  }
  if (verb == "why") {
    CLI::App app(
        "Says who waits for whom at the replay tables of a running experiment, why, and what would free them. Exits "
        "with 0 if everything flows, 3 if somebody waits, 4 if somebody waits for what can never come, 1 if a server "
        "does not answer or is missing, 2 if a flag is wrong or no server has the table.",
        "waggle why");
    return ParseWhy(&app, argc, argv);
  }
  if (verb == "inspect") {
    CLI::App app(
        "Shows what is in a replay table: how priorities, samplings and policy versions are spread over its items, "
        "some "
        "of these, or all columns of one. Exits with 0, 1 if no server answers, 2 if a flag is wrong or there is no "
        "such table or item.",
        "waggle inspect");
    return ParseInspect(&app, argc, argv);
  }
  if (verb == "reconfigure") {
    CLI::App app(
        "Changes the limits, the rate limiter or the numbers of the sampler of a replay table while it is in use, on "
        "all servers that have it. The values are each server's own, where those of an experiment's file are of all "
        "servers together. Exits with 0 if it is as it was asked for, 1 if a server does not answer or is missing, or "
        "somebody else changed the table meanwhile, 2 if it cannot be done.",
        "waggle reconfigure");
    return ParseReconfigure(&app, argc, argv);
  }
  if (verb == "replay") {
    return ParseReplay(argc, argv);
  }
  const std::vector<std::string> verbs = {"run", "status",  "check",       "evaluate", "plot",
                                          "why", "inspect", "reconfigure", "replay"};
  return WrongUsage("waggle", verb.empty()
                                  ? absl::StrCat("a verb is missing; wanted one of ", absl::StrJoin(verbs, ", "))
                                  : absl::StrCat("there is no verb \"", verb, "\"", DidYouMean(verb, verbs),
                                                 "; wanted one of ", absl::StrJoin(verbs, ", ")));
}

}  // namespace waggle
