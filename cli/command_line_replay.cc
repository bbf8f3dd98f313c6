// No test of its own: command_line_test.cc.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line_parts.h"

namespace waggle {
namespace {

Command ParseWhy(CLI::App* app, int argc, const char* const* argv) {
  WhyFlags flags;
  AddWord(app, "TABLE", &flags.table, "A table; all unless given");
  AddReplayTarget(app, &flags.target);
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseInspect(CLI::App* app, int argc, const char* const* argv) {
  InspectFlags flags;
  TableQuestion& question = flags.question;
  SetRequired(AddWord(app, "TABLE", &question.table, "A table"), true);
  AddReplayTarget(app, &flags.target);
  std::vector<std::pair<std::string, std::string>> orders;
  for (const char* const order : {"key", "newest", "oldest", "highest", "lowest"}) {
    orders.emplace_back(order, order);
  }
  AddChoiceFlag(app, "--order", &question.order, orders,
                "Which items first: by key, newest, oldest, highest or lowest (priority)");
  AddIntegerFlag(app, "--limit", &question.limit, 1, 1'000'000, "How many items");
  AddTextFlag(app, "--page", "TOKEN", &question.page, "Go on where a listing ended");
  AddKeysFlag(app, "--key", &question.keys, "Only the item of this key; may be given again");
  AddKeyFlag(app, "--item", &question.item, "One item, with its columns");
  AddSwitch(app, "--json", &flags.json, "Print JSON, with an item's columns in full");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  question.in_full = flags.json;
  return flags;
}

Command ParseReconfigure(CLI::App* app, int argc, const char* const* argv) {
  ReconfigureFlags flags;
  SetRequired(AddWord(app, "TABLE", &flags.table, "A table"), true);
  AddAssignments(app, &flags.changes, "What is to be, such as max_items=200000");
  AddReplayTarget(app, &flags.target);
  AddSwitch(app, "--dry-run", &flags.dry_run, "Only say what would change");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseExport(CLI::App* app, int argc, const char* const* argv) {
  ExportFlags flags;
  SetRequired(AddWord(app, "TABLE", &flags.table, "A table"), true);
  SetRequired(AddWord(app, "FILE", &flags.file, "The file to write, which must not be there"), true);
  AddReplayTarget(app, &flags.target);
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseImport(CLI::App* app, int argc, const char* const* argv) {
  ImportFlags flags;
  SetRequired(AddWord(app, "FILE", &flags.file, "A file that `waggle replay export` wrote"), true);
  AddTextFlag(app, "--table", "TABLE", &flags.table, "The table to fill; that of the file unless given");
  AddIntegerFlag(app, "--idle-timeout", &flags.idle_seconds, 1, 1'000'000'000,
                 "Give up once the table took nothing for so long, in seconds");
  AddReplayTarget(app, &flags.target);
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> ReplayVerbs() {
  return {
      {"why",
       "Says who waits for whom at the replay tables of a running experiment, why, and what would free them. Exits "
       "with 0 if everything flows, 3 if somebody waits, 4 if somebody waits for what can never come, 1 if a server "
       "does not answer or is missing, 2 if a flag is wrong or no server has the table.",
       &ParseWhy},
      {"inspect",
       "Shows what is in a replay table: how priorities, samplings and policy versions are spread over its items, "
       "some of these, or all columns of one. Exits with 0, 1 if no server answers, 2 if a flag is wrong or there is "
       "no "
       "such table or item.",
       &ParseInspect},
      {"reconfigure",
       "Changes the limits, the rate limiter or the numbers of the sampler of a replay table while it is in use, on "
       "all servers that have it. The values are each server's own, where those of an experiment's file are of all "
       "servers together. Exits with 0 if it is as it was asked for, 1 if a server does not answer or is missing, or "
       "somebody else changed the table meanwhile, 2 if it cannot be done.",
       &ParseReconfigure},
  };
}

std::vector<Verb> ReplayFileVerbs() {
  return {
      {"export",
       "Writes what a table of one replay server holds to a file, oldest items first, while the table goes on. Exits "
       "with 0, 1 if the server does not answer, 2 if a flag is wrong, there is no such table or the file is there, "
       "130 if interrupted.",
       &ParseExport},
      {"import",
       "Inserts the items of a file into a replay table, which is created as the file says where it is not there. "
       "Exits with 0, 1 if a server does not answer or the table takes nothing for too long, 2 if a flag or the file "
       "is wrong or the table differs, 130 if interrupted.",
       &ParseImport},
  };
}

}  // namespace waggle
