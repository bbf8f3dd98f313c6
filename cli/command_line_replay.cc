#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line_parts.h"

namespace waggle {
namespace {

Command ParseWhy(CLI::App* app, int argc, const char* const* argv) {
  WhyFlags flags;
  AddWord(app, "TABLE", &flags.table, "A table; by default all of them");
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
  AddWord(app, "TABLE", &question.table, "A table");
  AddReplayTarget(app, &flags.target);
  AddSwitch(app, "--cuts", &flags.cuts,
            "Show the cuts of the experiment instead of a table: the states that it can go back to");
  std::vector<std::pair<std::string, std::string>> orders;
  for (const char* const order : {"key", "newest", "oldest", "highest", "lowest"}) {
    orders.emplace_back(order, order);
  }
  AddChoiceFlag(app, "--order", &question.order, orders,
                "The order of the items: by key, newest, oldest, highest or lowest (priority)");
  AddIntegerFlag(app, "--limit", &question.limit, 1, 1'000'000, "The most items to show");
  AddTextFlag(app, "--page", "TOKEN", &question.page, "Continue a listing with the token that it ended with");
  AddKeysFlag(app, "--key", &question.keys, "Show only the item with this key; may be given again");
  AddKeyFlag(app, "--item", &question.item, "Show one item with its columns");
  AddSwitch(app, "--json", &flags.json, "Print JSON, with an item's columns in full");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  if (question.table.empty() != flags.cuts) {
    return WrongUsage("waggle inspect", flags.cuts ? "TABLE and --cuts exclude each other" : "TABLE is required");
  }
  if (flags.cuts && flags.target.param_server.empty()) {
    return WrongUsage("waggle inspect", "--cuts needs --param-server");
  }
  question.in_full = flags.json;
  return flags;
}

Command ParseReconfigure(CLI::App* app, int argc, const char* const* argv) {
  ReconfigureFlags flags;
  SetRequired(AddWord(app, "TABLE", &flags.table, "A table"), true);
  AddAssignments(app, &flags.changes, "A setting and its new value, such as max_items=200000");
  AddReplayTarget(app, &flags.target);
  AddSwitch(app, "--dry-run", &flags.dry_run, "Only print what would change");
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseExport(CLI::App* app, int argc, const char* const* argv) {
  ExportFlags flags;
  SetRequired(AddWord(app, "TABLE", &flags.table, "A table"), true);
  SetRequired(AddWord(app, "FILE", &flags.file, "The file to write, which must not exist"), true);
  AddReplayTarget(app, &flags.target);
  if (const std::optional<PrintAndExit> instead = ParseWithTarget(app, flags.target, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseImport(CLI::App* app, int argc, const char* const* argv) {
  ImportFlags flags;
  SetRequired(AddWord(app, "FILE", &flags.file, "A file that `waggle replay export` wrote"), true);
  AddTextFlag(app, "--table", "TABLE", &flags.table, "The table to fill; by default the file's own table");
  AddIntegerFlag(app, "--idle-timeout", &flags.idle_seconds, 1, 1'000'000'000,
                 "Give up if the table takes nothing for this long, in seconds");
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
       "Shows which processes wait at the replay tables of a running experiment, why, and which changes would free "
       "them. Exits with 0 if no process waits, 3 if one waits, 4 if one waits for something that can never come, 1 "
       "if a server does not answer or is missing, 2 if a flag is wrong or no server has the table.",
       &ParseWhy},
      {"inspect",
       "Shows the contents of a replay table: how priorities, sample counts and policy versions are spread over its "
       "items, some of the items, or all columns of one. Exits with 0, 1 if no server answers, 2 if a flag is wrong "
       "or there is no such table or item.",
       &ParseInspect},
      {"reconfigure",
       "Changes the limits, the rate limiter or the sampler's numbers of a replay table while it is in use, on all "
       "servers that have it. The values are for each server; those of an experiment's file are for all servers "
       "together. Exits with 0 if the change was made, 1 if a server does not answer or is missing, or another user "
       "changed the table meanwhile, 2 if the change is not possible.",
       &ParseReconfigure},
  };
}

std::vector<Verb> ReplayFileVerbs() {
  return {
      {"export",
       "Writes the items of a table on one replay server to a file, oldest first, while the table is in use. Exits "
       "with 0, 1 if the server does not answer, 2 if a flag is wrong, there is no such table or the file exists, 130 "
       "if interrupted.",
       &ParseExport},
      {"import",
       "Inserts the items of a file into a replay table, which is created from the file if it does not exist. Exits "
       "with 0, 1 if a server does not answer or the table takes nothing for too long, 2 if a flag or the file is "
       "wrong or the table differs, 130 if interrupted.",
       &ParseImport},
  };
}

}  // namespace waggle
