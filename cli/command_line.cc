#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/build_info.h"
#include "common/base/host_port.h"
#include "common/base/nearest_name.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

constexpr char kHelp[] =
    R"(waggle: distributed actor-learner training of deep reinforcement learning

usage: waggle VERB ...

  run FILE      train an experiment with all its processes on this machine
  status        what each process and each table of a running experiment does
  check FILE    check an experiment's file, print every value of it, and estimate what it takes

  --help        after a verb: its flags
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
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Command ParseRun(CLI::App* app, int argc, const char* const* argv) {
  RunFlags flags;
  std::optional<int64_t> actors;
  std::optional<int64_t> seed;
  AddFile(app, &flags.file);
  AddOverrides(app, &flags.overrides);
  app->add_option("--actors", actors, "How many actor processes; the same as --set actor.processes=N")->type_name("N");
  app->add_option("--seed", seed, "All randomness follows from it; the same as --set experiment.seed=N")
      ->type_name("N");
  app->add_option("--output-dir", flags.output_dir, "Where results go; runs/NAME-TIME unless given")->type_name("DIR");
  if (const std::optional<PrintAndExit> instead = Parse(app, argc, argv)) {
    return *instead;
  }
  if (actors.has_value()) {
    flags.overrides.emplace_back("actor.processes", absl::StrCat(*actors));
  }
  if (seed.has_value()) {
    flags.overrides.emplace_back("experiment.seed", absl::StrCat(*seed));
  }
  return flags;
}

Command ParseStatus(CLI::App* app, int argc, const char* const* argv) {
  StatusFlags flags;
  app->add_option("--param-server", flags.param_server, "Where the parameter server is")
      ->envname("WAGGLE_PARAM_SERVER")
      ->type_name("HOST:PORT")
      ->check([](const std::string& value) { return std::string(ValidateHostPort(value).message()); })
      ->required();
  app->add_flag("--json", flags.json, "Print JSON");
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
  if (verb == "--help" || verb == "-h" || verb == "help") {
    return PrintAndExit{kHelp, 0};
  }
  if (verb == "--version") {
    return PrintAndExit{absl::StrCat("waggle ", kVersion, "\n"), 0};
  }
  if (verb == "run") {
    CLI::App app(
        "Trains an experiment with all its processes on this machine, until its stop condition. Exits with 0 "
        "if that is met, 1 if the run failed or reached a limit before its target, 2 if the file or a flag is "
        "wrong, 130 if interrupted.",
        "waggle run");
    return ParseRun(&app, argc, argv);
  }
  if (verb == "status") {
    CLI::App app("Says what each process and each table of a running experiment does.", "waggle status");
    return ParseStatus(&app, argc, argv);
  }
  if (verb == "check") {
    CLI::App app("Checks an experiment's file, prints every value of it, and estimates what it takes.", "waggle check");
    return ParseCheck(&app, argc, argv);
  }
  const std::vector<std::string> verbs = {"run", "status", "check"};
  return WrongUsage("waggle", verb.empty()
                                  ? absl::StrCat("a verb is missing; wanted one of ", absl::StrJoin(verbs, ", "))
                                  : absl::StrCat("there is no verb \"", verb, "\"", DidYouMean(verb, verbs),
                                                 "; wanted one of ", absl::StrJoin(verbs, ", ")));
}

}  // namespace waggle
