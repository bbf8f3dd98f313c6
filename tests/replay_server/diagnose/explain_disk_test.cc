#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Explanation = v1::TableExplanation;

struct Case {
  const char* name;
  Durability durability;
  std::function<void(TableConfig*, TablePicture*)> make;
  Explanation::Verdict verdict;
  std::string cause;
  std::string summary;
  std::string who_could;
  std::string remedy;  // The first one; empty without one.
};

void FillDisk(TablePicture* picture) {
  picture->disk.folder = "/data";
  picture->disk.failure = absl::ResourceExhaustedError("no space left");
  picture->disk.failing = absl::Seconds(40);
}

// A writer waits for samples, and no sampler is connected.
void MakeInsertWait(TableConfig* config, TablePicture* picture) {
  config->rate_limiter = {8, 100, 0, 0, 800};
  picture->counts.items = 100;
  picture->inserts = 100;
  picture->first_inserts.push_back({"actor-1", true, {5, 0}, absl::Seconds(93)});
  picture->inserts_waiting = 1;
}

constexpr char kRoom[] =
    "more room in /data: then the server goes on without a restart, and nothing that was acknowledged is lost";
constexpr char kNobodySamples[] =
    "no sampler is connected, and no item was ever sampled: inserts wait for 8 more samples: 100 inserts and 0 samples "
    "so far, at 8 samples_per_insert, make a difference of 800, and one more insert may not take it past 800";

std::vector<Case> Cases() {
  return {
      {"the disk refuses rows past the memory limit", Durability::kNone,
       [](TableConfig* config, TablePicture* picture) {
         config->memory_limit = 1000;
         picture->counts.items = 5;
         picture->disk.folder = "/data";
         picture->tier.status = absl::ResourceExhaustedError("no space left");
       },
       Explanation::VERDICT_WAITING, causes::kDiskRefuses,
       "inserts wait: rows past memory_limit cannot be written to disk, and go on when they can: no space left; 5 of "
       "100 items",
       kRoom, "room in /data"},
      {"the disk refuses a log, and a writer waits for the limiter too", Durability::kLog,
       [](TableConfig* config, TablePicture* picture) {
         MakeInsertWait(config, picture);
         FillDisk(picture);
         picture->disk.unacknowledged_blocks = 3;
         picture->disk.unacknowledged_bytes = 4096;
       },
       Explanation::VERDICT_WAITING, causes::kDiskRefuses,
       absl::StrCat("for 40 s: writers wait for the disk of /data, which refuses writes: no space left; 3 "
                    "blocks of its writers, with 4096 bytes, have come and are not acknowledged; for 93 s: ",
                    kNobodySamples),
       kRoom, "room in /data"},
      {"the disk refuses a checkpoint's data for another reason than room", Durability::kCheckpoint,
       [](TableConfig* /*config*/, TablePicture* picture) {
         FillDisk(picture);
         picture->disk.failure = absl::DataLossError("Input/output error");
         picture->disk.unacknowledged_blocks = 1;
         picture->disk.unacknowledged_bytes = 7;
         picture->disk.checkpoint_problem = "keeping checkpoint 8: no space left";
         picture->disk.checkpoint_number = 7;
         picture->disk.checkpoint_ago = absl::Seconds(400);
       },
       Explanation::VERDICT_WAITING, causes::kDiskRefuses,
       "for 40 s: writers wait for the disk of /data, which refuses writes: Input/output error; 1 block of "
       "its writers, with 7 bytes, has come and is not acknowledged; the last checkpoint was not kept: keeping "
       "checkpoint 8: no space left; the newest kept checkpoint, number 7, is 400 s old; 0 of 100 items",
       "a repair that lets the server write to /data: then the server goes on without a restart, and nothing that was "
       "acknowledged is lost",
       ""},
      {"files have run out", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) {
         FillDisk(picture);
         picture->disk.failure = absl::ResourceExhaustedError("Too many open files");
       },
       Explanation::VERDICT_WAITING, causes::kDiskRefuses,
       "for 40 s: writers wait for the disk of /data, which refuses writes: Too many open files; 0 of 100 "
       "items",
       "a repair that lets the server write to /data: then the server goes on without a restart, and nothing that was "
       "acknowledged is lost",
       ""},
      {"the disk refuses another table's data", Durability::kNone,
       [](TableConfig* /*config*/, TablePicture* picture) { FillDisk(picture); }, Explanation::VERDICT_FLOWING,
       causes::kNone, "no call waits; 0 of 100 items", "", ""},
      {"a commit takes long", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) {
         picture->disk.folder = "/data";
         picture->disk.commit_waits = absl::Seconds(5);
         picture->disk.unacknowledged_blocks = 2;
         picture->disk.unacknowledged_bytes = 9;
       },
       Explanation::VERDICT_WAITING, causes::kDiskSlow,
       "for 5 s: writers wait for the disk of /data, which is slow: a commit is under way; 2 blocks of its writers, "
       "with 9 bytes, have come and are not acknowledged; 0 of 100 items",
       "the disk of /data: the writers go on once it has written the data", ""},
      {"a commit waits for a checkpoint", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) {
         picture->disk.commit_waits = absl::Seconds(5);
         picture->disk.makes_checkpoint = true;
         picture->disk.unacknowledged_blocks = 1;
       },
       Explanation::VERDICT_WAITING, causes::kDiskSlow,
       "for 5 s: writers wait for the disk, which is slow: a checkpoint is being made, and the next commit comes "
       "after it; 1 block of its writers, with 0 bytes, has come and is not acknowledged; 0 of 100 items",
       "the disk: the writers go on once it has written the data", ""},
      {"a commit for other tables takes long", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) {
         picture->disk.folder = "/data";
         picture->disk.commit_waits = absl::Seconds(5);
       },
       Explanation::VERDICT_FLOWING, causes::kDiskSlow,
       "a commit of this server takes long, 5 s so far, on the disk of /data: a commit is under way; no call waits; 0 "
       "of 100 items",
       "", ""},
      {"a commit for other tables takes long, and a writer waits for the limiter", Durability::kLog,
       [](TableConfig* config, TablePicture* picture) {
         MakeInsertWait(config, picture);
         picture->disk.commit_waits = absl::Seconds(5);
       },
       Explanation::VERDICT_WAITING, causes::kNobodySamples,
       absl::StrCat("for 93 s: ", kNobodySamples,
                    "; a commit of this server takes long, 5 s so far, on the disk: a commit is under way"),
       "no sampler is connected, and none ever was", "rate_limiter.max_difference"},
      {"a commit for other tables takes long, and a checkpoint was not kept", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) {
         picture->disk.commit_waits = absl::Seconds(5);
         picture->disk.checkpoint_problem = "no space left";
       },
       Explanation::VERDICT_FLOWING, causes::kCheckpointFails,
       "a commit of this server takes long, 5 s so far, on the disk: a commit is under way; the last checkpoint was "
       "not kept: no space left; no checkpoint was kept since the server was started; no call waits; 0 of 100 items",
       "", ""},
      {"the disk refuses a log, and a deadlock would remain with room", Durability::kLog,
       [](TableConfig* config, TablePicture* picture) {
         config->max_items = 20;
         config->sampler.without_replacement = true;
         picture->counts.items = 20;
         picture->inserts = 20;
         picture->first_samples.push_back({"learner", true, {32, 32}, absl::Seconds(5)});
         picture->samples_waiting = 1;
         FillDisk(picture);
       },
       Explanation::VERDICT_DEADLOCK, causes::kBatchTooLarge,
       "for 5 s: samples wait for 32 items, more than the table can give: a batch of 32 different items "
       "(without_replacement) was requested, and max_items is 20; for 40 s: writers wait for the disk of /data, which "
       "refuses writes: no space left",
       "no writer is connected", "batch_size"},
      {"a commit takes a moment", Durability::kLog,
       [](TableConfig* /*config*/, TablePicture* picture) { picture->disk.commit_waits = absl::Seconds(1); },
       Explanation::VERDICT_FLOWING, causes::kNone, "no call waits; 0 of 100 items", "", ""},
      {"a checkpoint was not kept, and no call waits", Durability::kCheckpoint,
       [](TableConfig* /*config*/, TablePicture* picture) { picture->disk.checkpoint_problem = "no space left"; },
       Explanation::VERDICT_FLOWING, causes::kCheckpointFails,
       "the last checkpoint was not kept: no space left; no checkpoint was kept since the server was started; no call "
       "waits; 0 of 100 items",
       "", ""},
      {"a checkpoint was not kept, and a writer waits for the limiter", Durability::kLog,
       [](TableConfig* config, TablePicture* picture) {
         MakeInsertWait(config, picture);
         picture->disk.checkpoint_problem = "no space left";
       },
       Explanation::VERDICT_WAITING, causes::kNobodySamples,
       absl::StrCat("for 93 s: ", kNobodySamples,
                    "; the last checkpoint was not kept: no space left; no checkpoint was kept since the server was "
                    "started"),
       "no sampler is connected, and none ever was", "rate_limiter.max_difference"},
  };
}

TEST_CASE("Explain names the data that the disk refuses, the waiting calls and the remedy", "[unit]") {
  for (const Case& refused : Cases()) {
    CAPTURE(refused.name);
    TableConfig config = testing::SmallTable();
    config.durability = refused.durability;
    TablePicture picture;
    refused.make(&config, &picture);
    picture.config = std::make_shared<const TableConfig>(config);
    const Explanation explanation = Explain(picture, ExplainOptions());
    CHECK(explanation.verdict() == refused.verdict);
    CHECK(explanation.cause() == refused.cause);
    CHECK(explanation.summary() == refused.summary);
    CHECK(explanation.who_could() == refused.who_could);
    CHECK((explanation.remedies().empty() ? "" : explanation.remedies(0).setting()) == refused.remedy);
  }
}

}  // namespace
}  // namespace waggle
