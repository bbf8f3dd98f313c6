#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace waggle {

// Which replay servers a verb is about: those that are named, or else all of a run.
struct ReplayTarget {
  std::vector<std::string> replay_servers;  // HOST:PORT each.
  std::string param_server;                 // HOST:PORT; not asked where the above are given.
  // Whose tables. Empty: of the one that runs; of named servers those of no experiment.
  std::string experiment_id = {};
};

// What is asked of a table's items.
struct TableQuestion {
  std::string table;
  std::string order = "newest";  // key, newest, oldest, highest or lowest.
  int64_t limit = 20;            // Items.
  std::string page;              // What the page before ended with.
  std::vector<uint64_t> keys;    // Instead of a page.
  std::optional<uint64_t> item;  // Instead of these: one, with its columns.
  bool in_full = false;          // The columns with all bytes that a message holds.
};

}  // namespace waggle
