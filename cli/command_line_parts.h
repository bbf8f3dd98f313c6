#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/completion/verb_facts.h"
#include "common/base/process/flags.h"
#include "common/net/security/security_options.h"

// The parts of the verbs' command lines. Like common/base/process/flags.h it does not include the header of CLI11,
// which costs a file ten seconds.

namespace waggle {

enum class Connections { kNone, kClient, kServer };

// A verb: its first word, its description, and the parser of its command line.
struct Verb {
  std::string name;
  std::string description;
  Command (*parse)(CLI::App* app, int argc, const char* const* argv);
  Connections connections = Connections::kClient;  // Which flags for secured connections it has.
};

// The verbs by subject, and the verb of a name, or null.
std::vector<Verb> LocalVerbs();       // command_line_local.cc: this machine's files and processes.
std::vector<Verb> ExperimentVerbs();  // command_line_experiments.cc: questions to a hub.
std::vector<Verb> ResultVerbs();      // command_line_results.cc: the results of runs and experiments.
std::vector<Verb> ReplayVerbs();      // command_line_replay.cc: the tables of replay servers.
std::vector<Verb> ReplayFileVerbs();  // Behind `waggle replay`.
const Verb* FindVerb(const std::vector<Verb>& verbs, const std::string& name);
// `program` is such as "waggle run". The verb's own words begin with argv[2].
// Sets `security` by the flags of a verb that connects.
Command ParseVerb(const Verb& verb, const std::string& program, int argc, const char* const* argv,
                  SecurityOptions* security);

// The verbs and all their flags, in the order of the help.
std::vector<VerbFacts> AllVerbFacts();
// The facts of one verb, whose name is `name`.
VerbFacts FactsOf(const Verb& verb, const std::string& name);

// "PROGRAM: PROBLEM; see PROGRAM --help".
PrintAndExit WrongUsage(const std::string& program, const std::string& problem);

// Parses one verb's flags. Returns a text to print instead of running the verb, if any.
std::optional<PrintAndExit> ParseFlags(CLI::App* app, int argc, const char* const* argv);
// Like ParseFlags, for a verb that asks replay servers.
std::optional<PrintAndExit> ParseWithTarget(CLI::App* app, const ReplayTarget& target, int argc,
                                            const char* const* argv);

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Adds an argument without a flag: one word, or one word or more.
CLI::Option* AddWord(CLI::App* app, const std::string& name, std::string* word, const std::string& description);
CLI::Option* AddWords(CLI::App* app, const std::string& name, std::vector<std::string>* words,
                      const std::string& description);
CLI::Option* AddExperimentFile(CLI::App* app, std::string* file);
// Adds KEY=VALUE, once or more: as words, or after --set.
void AddAssignments(CLI::App* app, Overrides* assignments, const std::string& description);
void AddOverrides(CLI::App* app, Overrides* overrides);

// Adds a flag for any text, called `type` in the help.
CLI::Option* AddTextFlag(CLI::App* app, const std::string& name, const std::string& type, std::string* text,
                         const std::string& description);
// The same, for a flag that may be given again.
void AddTextsFlag(CLI::App* app, const std::string& name, const std::string& type, std::vector<std::string>* texts,
                  const std::string& description);
// Adds a flag whose text becomes the value of `key`.
void AddAssignmentFlag(CLI::App* app, const std::string& name, const std::string& type, const std::string& key,
                       Overrides* assignments, const std::string& description);
// Adds a flag for an item's key; AddKeysFlag's may be given again.
void AddKeyFlag(CLI::App* app, const std::string& name, std::optional<uint64_t>* key, const std::string& description);
void AddKeysFlag(CLI::App* app, const std::string& name, std::vector<uint64_t>* keys, const std::string& description);

// Adds --param-server for a verb that takes experiments' ids as well as paths; it may be left out.
void AddHubFlag(CLI::App* app, std::string* param_server);
// Adds --param-server, --replay-server and --experiment, and returns --experiment.
CLI::Option* AddReplayTarget(CLI::App* app, ReplayTarget* target);

}  // namespace waggle
