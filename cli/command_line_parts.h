#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "common/process/flags.h"

// What the verbs' command lines are made of. As common/process/flags.h it does without the header of CLI11, which costs
// a file ten seconds.

namespace waggle {

// A verb: its first word, what it says of itself, and how the words behind it are understood.
struct Verb {
  std::string name;
  std::string description;
  Command (*parse)(CLI::App* app, int argc, const char* const* argv);
};

// The verbs by what they are about, and the one of this name; null where there is none.
std::vector<Verb> LocalVerbs();       // command_line_local.cc: this machine's files and processes.
std::vector<Verb> ExperimentVerbs();  // command_line_experiments.cc: what a hub is asked.
std::vector<Verb> ReplayVerbs();      // command_line_replay.cc: the tables of replay servers.
std::vector<Verb> ReplayFileVerbs();  // Behind `waggle replay`.
const Verb* FindVerb(const std::vector<Verb>& verbs, const std::string& name);
// `program`: "waggle run". The verb's own words begin with argv[2].
Command ParseVerb(const Verb& verb, const std::string& program, int argc, const char* const* argv);

// "PROGRAM: PROBLEM; see PROGRAM --help".
PrintAndExit WrongUsage(const std::string& program, const std::string& problem);

// Parses one verb's flags. Returns what to print instead of going on, if anything.
std::optional<PrintAndExit> ParseFlags(CLI::App* app, int argc, const char* const* argv);
// As ParseFlags, for a verb that asks replay servers.
std::optional<PrintAndExit> ParseWithTarget(CLI::App* app, const ReplayTarget& target, int argc,
                                            const char* const* argv);

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Words that stand by themselves: one, or one and more.
CLI::Option* AddWord(CLI::App* app, const std::string& name, std::string* word, const std::string& description);
CLI::Option* AddWords(CLI::App* app, const std::string& name, std::vector<std::string>* words,
                      const std::string& description);
CLI::Option* AddExperimentFile(CLI::App* app, std::string* file);
// KEY=VALUE, once and more: as words, or behind --set.
void AddAssignments(CLI::App* app, Overrides* assignments, const std::string& description);
void AddOverrides(CLI::App* app, Overrides* overrides);

// Any text, called `type` in the help.
CLI::Option* AddTextFlag(CLI::App* app, const std::string& name, const std::string& type, std::string* text,
                         const std::string& description);
// An item's key; keys, where it may be given again.
void AddKeyFlag(CLI::App* app, const std::string& name, std::optional<uint64_t>* key, const std::string& description);
void AddKeysFlag(CLI::App* app, const std::string& name, std::vector<uint64_t>* keys, const std::string& description);

// --param-server, --replay-server and --experiment, which is returned.
CLI::Option* AddReplayTarget(CLI::App* app, ReplayTarget* target);

}  // namespace waggle
