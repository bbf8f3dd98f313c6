#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/table_config/table_config.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/table/disk_picture.h"
#include "replay_server/table/requester.h"
#include "replay_server/table/sample_memory.h"

namespace waggle {

// A table, who waits for it and who is there, at one moment and in numbers: all that Explain goes by.
struct TablePicture {
  std::shared_ptr<const TableConfig> config;
  uint64_t config_generation = 1;
  TableCounts counts;
  int64_t bytes = 0;
  int64_t inserts = 0;  // As the rate limiter counts them, and so are the samples.
  int64_t samples = 0;
  double ratio_carried = 0;  // RateLimiter::carried().
  std::optional<TableState::ByteShortage> byte_shortage;
  ChunkTier::Info tier;        // Where the table has a memory_limit.
  DiskPicture disk;            // Of the server; filled in by who knows it.
  SampleMemory sample_memory;  // Where batches wait for it; filled in by who knows it.
  // Of all tables of the server; no limit where it is 0.
  int64_t server_bytes = 0;
  int64_t server_max_bytes = 0;

  struct Wait {
    std::string who;      // Empty where nobody has said.
    bool present = true;  // Whether it is still connected.
    DrawRequest asked;    // Of an insert, how many items are not in yet.
    absl::Duration waited;
    bool looks =
        false;  // A sampler of several servers, which looks whether they allow a batch; `asked` is about right.
  };
  // Requests, of which the first ones are listed, in their order, and then those who look.
  int64_t inserts_waiting = 0;
  int64_t samples_waiting = 0;
  std::vector<Wait> first_inserts;
  std::vector<Wait> first_samples;

  // Who writes and samples, and who did; of those who have left not all.
  struct Party {
    Requester::Kind kind = Requester::Kind::kWriter;
    std::string name;
    bool present = false;
    int64_t items = 0;                                     // Inserted, or sampled.
    absl::Duration active_ago = absl::InfiniteDuration();  // Infinite: never.
    absl::Duration left_ago = absl::InfiniteDuration();    // Where it is not present.
    std::string waits_at = {};                             // Another table, at which it waits; see LinkWaits.
  };
  std::vector<Party> parties;

  struct Activity {
    absl::Duration ago = absl::InfiniteDuration();  // Infinite: never, or not known.
    std::string who;
  };
  Activity last_update;
  // The latest of the parties of this kind.
  Activity Last(Requester::Kind kind) const {
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
