#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/table/table_config.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/table/disk_picture.h"
#include "replay_server/table/table_client.h"

namespace waggle {

// The memory for sampled batches that all samplers of a server share, as one table's samplers see it.
struct SampleMemory {
  int64_t limit = 0;  // max_sample_bytes.
  // This table's drawn batches that wait for memory; and the sampler that has waited longest since it last got some.
  int64_t waiting = 0;
  absl::Duration waited;
  std::string who;

  struct Holder {
    std::string table;
    std::string who;
    int64_t bytes = 0;
    absl::Duration unread;  // Time since it last took a message.
  };
  std::vector<Holder> holders;  // Samplers of all tables, largest first.
};

// A table, its waiting requests and its clients at one moment: the input of Explain.
struct TablePicture {
  std::shared_ptr<const TableConfig> config;
  uint64_t config_generation = 1;
  TableCounts counts;
  int64_t bytes = 0;
  int64_t inserts = 0;  // The rate limiter's count, as is `samples`.
  int64_t samples = 0;
  double ratio_carried = 0;  // RateLimiter::carried().
  std::optional<TableState::ByteShortage> byte_shortage;
  ChunkTier::Info tier;        // Empty without a memory_limit.
  DiskPicture disk;            // The server's; filled in by the caller.
  SampleMemory sample_memory;  // If batches wait for it; filled in by the caller.
  // Sums over the server's tables. No limit if server_max_bytes is 0.
  int64_t server_bytes = 0;
  int64_t server_max_bytes = 0;

  struct Wait {
    std::string who;      // Empty if unknown.
    bool present = true;  // False if it has disconnected.
    DrawRequest asked;    // Items that are not in yet, for an insert.
    absl::Duration waited;
    bool looks = false;  // A sampler of several servers that polls; `asked` is approximate.
  };
  // Counts of requests. The lists have the first requests in order, then polling samplers.
  int64_t inserts_waiting = 0;
  int64_t samples_waiting = 0;
  std::vector<Wait> first_inserts;
  std::vector<Wait> first_samples;

  // A present or former writer or sampler. Only some former ones are listed.
  struct Party {
    TableClient::Kind kind = TableClient::Kind::kWriter;
    std::string name;
    bool present = false;
    int64_t items = 0;                                     // Inserted or sampled.
    absl::Duration active_ago = absl::InfiniteDuration();  // Infinite if never.
    absl::Duration left_ago = absl::InfiniteDuration();    // If not present.
    std::string waits_at = {};                             // Another table at which it waits; see LinkWaits.
  };
  std::vector<Party> parties;

  struct Activity {
    absl::Duration ago = absl::InfiniteDuration();  // Infinite if never or unknown.
    std::string who;
  };
  Activity last_update;
  // The latest activity of clients of this kind.
  Activity Last(TableClient::Kind kind) const {
    Activity last;
    for (const Party& party : parties) {
      if (party.kind == kind && party.active_ago < last.ago) {
        last = {party.active_ago, party.name};
      }
    }
    return last;
  }
};

}  // namespace waggle
