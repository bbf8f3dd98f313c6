#include "replay_server/service/replay_exports.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "replay_server/table/disk_picture.h"
#include "replay_server/table/table.h"
#include "replay_server/table/table_picture.h"

namespace waggle {
namespace {

using Kind = ExportedFigure::Kind;

absl::Duration Longest(const std::vector<TablePicture::Wait>& waits) {
  absl::Duration longest;
  for (const TablePicture::Wait& wait : waits) {
    longest = std::max(longest, wait.waited);
  }
  return longest;
}

}  // namespace

std::vector<ExportedFigure> ReplayFigures() {
  return {
      {"items_inserted", "waggle_replay_items_inserted_total", Kind::kCounter, "Items that were inserted."},
      {"items_sampled", "waggle_replay_items_sampled_total", Kind::kCounter, "Items that were sampled."},
      {"refused_*",
       "waggle_replay_refused_total",
       Kind::kCounter,
       "Calls and streams that were refused, by reason.",
       {{"reason", ""}}},
      {"items", "waggle_replay_items", Kind::kSum, "Items in all tables."},
      {"max_items", "waggle_replay_max_items", Kind::kSum, "The most items that the tables may have."},
      {"bytes", "waggle_replay_bytes", Kind::kSum, "Bytes of the rows to which items refer."},
      {"memory_bytes", "waggle_replay_memory_bytes", Kind::kSum, "Bytes of rows in memory."},
      {"disk_bytes", "waggle_replay_disk_bytes", Kind::kSum, "Bytes of rows that are only on disk."},
      {"writers", "waggle_replay_writers", Kind::kSum, "Writers that are known."},
      {"writer_bytes", "waggle_replay_writer_bytes", Kind::kSum, "Bytes of the newest rows of writers."},
      {"inserts_waiting",
       "waggle_replay_waiting",
       Kind::kSum,
       "Streams that wait for a rate limiter or for room (insert), or for items (sample).",
       {{"side", "insert"}}},
      {"samples_waiting",
       "waggle_replay_waiting",
       Kind::kSum,
       "Streams that wait for a rate limiter or for room (insert), or for items (sample).",
       {{"side", "sample"}}},
  };
}

void WriteReplayWaits(const ReplayStore& store, const Journal* journal, PrometheusText* text) {
  absl::Duration inserts;
  absl::Duration samples;
  const std::vector<std::shared_ptr<Table>> tables = store.tables();
  for (const std::shared_ptr<Table>& table : tables) {
    const TablePicture picture = table->picture();
    inserts = std::max(inserts, Longest(picture.first_inserts));
    samples = std::max(samples, Longest(picture.first_samples));
  }
  const std::string help = "For how long the request that has waited longest has waited; 0 if none waits.";
  text->Gauge("waggle_replay_longest_wait_seconds", help, absl::ToDoubleSeconds(inserts), {{"side", "insert"}});
  text->Gauge("waggle_replay_longest_wait_seconds", help, absl::ToDoubleSeconds(samples), {{"side", "sample"}});
  text->Gauge("waggle_replay_tables", "Tables that the server holds.", static_cast<double>(tables.size()));
  const DiskPicture disk = journal == nullptr ? DiskPicture() : journal->disk();
  text->Gauge("waggle_replay_disk_failing_seconds", "For how long writes to disk have failed; 0 if they do not.",
              absl::ToDoubleSeconds(disk.failing));
  text->Gauge("waggle_replay_disk_commit_wait_seconds",
              "For how long the request that has waited longest for the disk has waited.",
              absl::ToDoubleSeconds(disk.commit_waits));
  text->Gauge("waggle_replay_checkpoint_failing", "1 if the last attempt at a checkpoint failed.",
              disk.checkpoint_problem.empty() ? 0 : 1);
  if (disk.checkpoint_ago.has_value()) {
    text->Gauge("waggle_replay_checkpoint_timestamp_seconds",
                "The last checkpoint of this process, in seconds since 1970; absent before the first.",
                absl::ToDoubleSeconds(absl::Now() - *disk.checkpoint_ago - absl::UnixEpoch()));
  }
}

}  // namespace waggle
