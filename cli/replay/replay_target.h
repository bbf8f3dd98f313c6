#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace waggle {

// The replay servers that a verb asks: the named ones, or else all of a run.
struct ReplayTarget {
  std::vector<std::string> replay_servers;  // HOST:PORT each.
  std::string param_server;                 // HOST:PORT; not asked if replay servers are given.
  // The experiment whose tables are asked for. Empty: the running one; for named servers, tables of no experiment.
  std::string experiment_id = {};
};

// A question about a table's items.
struct TableQuestion {
  std::string table;
  std::string order = "newest";  // key, newest, oldest, highest or lowest.
  int64_t limit = 20;            // Items.
  std::string page;              // The token at the end of the page before.
  std::vector<uint64_t> keys;    // These items, instead of a page.
  std::optional<uint64_t> item;  // One item with its columns, instead of these.
  bool in_full = false;          // True: columns with as many bytes as a message holds.
};

}  // namespace waggle
