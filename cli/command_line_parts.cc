#include "cli/command_line_parts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/shipped/shipped_experiments.h"
#include "common/base/host_port.h"
#include "common/base/nearest_name.h"
#include "common/base/process/find_program.h"
#include "common/base/process/security_flags.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr int kWrongUsageStatus = 2;

std::string CheckAddress(const std::string& value) {
  return std::string(ValidateHostPort(value).message());
}

std::string CheckKey(const std::string& value) {
  uint64_t key = 0;
  return absl::SimpleAtoi(value, &key) ? "" : absl::StrCat("got \"", value, "\"; wanted an item's key, a number >= 0");
}

// Parses each text as KEY=VALUE. `name` is the flag or argument, for errors.
void TakeAssignments(const std::string& name, const std::vector<std::string>& texts, Overrides* assignments) {
  for (const std::string& text : texts) {
    auto parsed = ParseOverride(text);
    if (!parsed.ok()) {
      throw CLI::ValidationError(name, std::string(parsed.status().message()));
    }
    assignments->push_back(*std::move(parsed));
  }
}

// Makes a repeatable option take one value each time: the word after the value is the verb's own argument.
void TakeOneEachTime(CLI::Option* option) {
  option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddSecurityFlags(const Verb& verb, CLI::App* app, SecurityOptions* security) {
  if (verb.connections == Connections::kClient) {
    AddClientSecurityFlags(app, security);
  } else if (verb.connections == Connections::kServer) {
    AddServerSecurityFlags(app, security);
  }
}

}  // namespace

const Verb* FindVerb(const std::vector<Verb>& verbs, const std::string& name) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&name](const Verb& verb) { return verb.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

Command ParseVerb(const Verb& verb, const std::string& program, int argc, const char* const* argv,
                  SecurityOptions* security) {
  CLI::App app(verb.description, program);
  AddSecurityFlags(verb, &app, security);
  return verb.parse(&app, argc, argv);
}

VerbFacts FactsOf(const Verb& verb, const std::string& name) {
  CLI::App app(verb.description, absl::StrCat("waggle ", name));
  SecurityOptions unused;
  AddSecurityFlags(verb, &app, &unused);
  // Parsers add all flags before they parse.
  const char* const words[] = {"waggle", verb.name.c_str(), "--help"};
  verb.parse(&app, 3, words);
  return {name, verb.description, FlagsOf(app)};
}

PrintAndExit WrongUsage(const std::string& program, const std::string& problem) {
  return {absl::StrCat(program, ": ", absl::StrReplaceAll(problem, {{"\n", " "}}), "; see ", program, " --help\n"),
          kWrongUsageStatus};
}

std::optional<PrintAndExit> ParseFlags(CLI::App* app, int argc, const char* const* argv) {
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

std::optional<PrintAndExit> ParseWithTarget(CLI::App* app, const ReplayTarget& target, int argc,
                                            const char* const* argv) {
  std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv);
  if (!instead.has_value() && target.replay_servers.empty() && target.param_server.empty()) {
    instead = WrongUsage(app->get_name(), "--param-server or --replay-server is required");
  }
  return instead;
}

CLI::Option* AddWord(CLI::App* app, const std::string& name, std::string* word, const std::string& description) {
  return app->add_option(name, *word, description);
}

CLI::Option* AddWords(CLI::App* app, const std::string& name, std::vector<std::string>* words,
                      const std::string& description) {
  return app->add_option(name, *words, description);
}

CLI::Option* AddExperimentFile(CLI::App* app, std::string* file) {
  return app
      ->add_option_function<std::string>(
          "FILE",
          [file](const std::string& word) {
            absl::StatusOr<std::string> found = ExperimentFile(ShippedFolder(OwnFolder()), word);
            if (!found.ok()) {
              throw CLI::ValidationError("FILE", std::string(found.status().message()));
            }
            *file = *std::move(found);
          },
          "The experiment's YAML file, or the name of one that ships, from `waggle configs`")
      ->required();
}

void AddAssignments(CLI::App* app, Overrides* assignments, const std::string& description) {
  app->add_option_function<std::vector<std::string>>(
         "KEY=VALUE",
         [assignments](const std::vector<std::string>& texts) { TakeAssignments("KEY=VALUE", texts, assignments); },
         description)
      ->required();
}

void AddOverrides(CLI::App* app, Overrides* overrides) {
  TakeOneEachTime(
      app->add_option_function<std::vector<std::string>>(
             "--set",
             [overrides](const std::vector<std::string>& texts) { TakeAssignments("--set", texts, overrides); },
             "Replace a value of the file, such as learner.batch_size=256; may be given again")
          ->type_name("KEY=VALUE"));
}

CLI::Option* AddTextFlag(CLI::App* app, const std::string& name, const std::string& type, std::string* text,
                         const std::string& description) {
  return app->add_option(name, *text, description)->type_name(type);
}

void AddTextsFlag(CLI::App* app, const std::string& name, const std::string& type, std::vector<std::string>* texts,
                  const std::string& description) {
  TakeOneEachTime(app->add_option(name, *texts, description)->type_name(type));
}

void AddAssignmentFlag(CLI::App* app, const std::string& name, const std::string& type, const std::string& key,
                       Overrides* assignments, const std::string& description) {
  app->add_option_function<std::string>(
         name, [assignments, key](const std::string& value) { assignments->emplace_back(key, value); }, description)
      ->type_name(type);
}

void AddKeyFlag(CLI::App* app, const std::string& name, std::optional<uint64_t>* key, const std::string& description) {
  app->add_option(name, *key, description)->type_name("KEY")->check(CheckKey);
}

void AddKeysFlag(CLI::App* app, const std::string& name, std::vector<uint64_t>* keys, const std::string& description) {
  TakeOneEachTime(app->add_option(name, *keys, description)->type_name("KEY")->check(CheckKey));
}

void AddHubFlag(CLI::App* app, std::string* param_server) {
  app->add_option("--param-server", *param_server,
                  "The parameter server that has the experiments that are named by their ids")
      ->envname("WAGGLE_PARAM_SERVER")
      ->type_name("HOST:PORT")
      ->check(CheckAddress);
}

CLI::Option* AddReplayTarget(CLI::App* app, ReplayTarget* target) {
  app->add_option("--param-server", target->param_server, "The parameter server; its replay servers are asked")
      ->envname("WAGGLE_PARAM_SERVER")
      ->type_name("HOST:PORT")
      ->check(CheckAddress);
  TakeOneEachTime(app->add_option("--replay-server", target->replay_servers,
                                  "A replay server to ask instead; may be given again, or several with commas between "
                                  "them")
                      ->type_name("HOST:PORT")
                      ->delimiter(',')
                      ->check(CheckAddress));
  return AddTextFlag(app, "--experiment", "ID", &target->experiment_id,
                     "The experiment that the tables belong to; may be left out if one experiment runs");
}

}  // namespace waggle
