#include "cli/replay/why_report.h"

#include <string>

#include "absl/strings/match.h"
#include "tests/cli/golden_json.h"
#include "tests/support/catch.h"
#include "tests/support/text_proto.h"

namespace waggle {
namespace {

using Explanation = v1::TableExplanation;

Explanation* AddTable(const std::string& name, Explanation::Verdict verdict, v1::ExplainResponse* response) {
  Explanation* table = response->add_tables();
  table->mutable_config()->set_name(name);
  table->mutable_config()->set_max_items(1000);
  table->mutable_config()->mutable_rate_limiter()->set_min_items(1);
  table->set_verdict(verdict);
  table->set_cause("none");
  table->set_summary("no call waits; 0 of 1000 items");
  return table;
}

// One server with a table that flows, one that waits and one that is stuck, and a server that is away.
Explanations Sample() {
  Explanations explanations(2);
  explanations[0].address = "127.0.0.1:1";
  explanations[0].status = absl::UnavailableError("connection refused");
  explanations[1].address = "127.0.0.1:2";
  v1::ExplainResponse* const response = &explanations[1].response;
  AddTable("a", Explanation::VERDICT_FLOWING, response);
  AddTable("b", Explanation::VERDICT_WAITING, response)->set_summary("for 3 s: samples wait");
  AddTable("c", Explanation::VERDICT_DEADLOCK, response)->MergeFrom(testing::FromText<Explanation>(R"t(
      cause: "limiter_too_tight" summary: "for 15 s: block each other\033[2J"
      who_could: "1 sampler is connected: learner (never sampled)"
      config { rate_limiter { samples_per_insert: 4 } }
      items: 2 items_inserted: 2 difference: 8 max_difference: 8 inserts_waiting: 1 samples_waiting: 70
      waits { kind: KIND_INSERT who: "actor-1" items: 3 seconds: 12 why: "inserts wait for 4 more samples" }
      waits { kind: KIND_SAMPLE who: "learner" connected: true items: 8 counted: 32 seconds: 75 why: "block each other" }
      remedies { setting: "rate_limiter.max_difference" now: "8" change: ">= 32" value: 32 is_table_setting: true }
      remedies { setting: "batch_size" now: "32" change: "<= 8" }
      parties { kind: KIND_WRITER name: "actor-1" items: 2 active_ago: 12 left_ago: 11 }
      parties { kind: KIND_SAMPLER name: "learner" connected: true waits_at: "b" }
      priorities_updated_ago: 90 priorities_updated_by: "127.0.0.1:3")t"));
  return explanations;
}

TEST_CASE("The text begins with the worst table", "[unit]") {
  CHECK(WhyText(Sample(), {}, /*in_full=*/false) ==
        "c at 127.0.0.1:2: DEADLOCK: for 15 s: block each other?[2J\n"
        "  could be ended by: 1 sampler is connected: learner (never sampled)\n"
        "  remedies, each enough by itself:\n"
        "      rate_limiter.max_difference >= 32, now 8    waggle reconfigure c rate_limiter.max_difference=32\n"
        "      batch_size <= 8, now 32    of the sampler\n"
        "  waiting calls:\n"
        "      insert  actor-1 (gone)  3 items left           12.0 s    inserts wait for 4 more samples\n"
        "      sample  learner         8 items counted as 32  1 m 15 s  block each other\n"
        "      and 69 more\n"
        "  in numbers: 2 items (min_items 1, max_items 1000), 2 inserted, 0 sampled; difference 8 in [0, 8] at 4 "
        "samples an insert\n"
        "  clients:\n"
        "      writer   actor-1      left 11.0 s ago        2 items, last 12.0 s ago\n"
        "      sampler  learner      connected, waits at b  0 items, last never\n"
        "      updater  127.0.0.1:3                         priorities 1 m 30 s ago\n"
        "b at 127.0.0.1:2: WAITING: for 3 s: samples wait\n"
        "  in numbers: 0 items (min_items 1, max_items 1000), 0 inserted, 0 sampled\n"
        "a at 127.0.0.1:2: flowing: no call waits; 0 of 1000 items\n"
        "the replay server at 127.0.0.1:1 does not answer: connection refused\n");
}

TEST_CASE("A table that flows is shown in full on request", "[unit]") {
  Explanations explanations(1);
  explanations[0].address = "hive:1";
  AddTable("a", Explanation::VERDICT_FLOWING, &explanations[0].response);
  CHECK(WhyText(explanations, {}, /*in_full=*/true) ==
        "a at hive:1: flowing: no call waits; 0 of 1000 items\n"
        "  in numbers: 0 items (min_items 1, max_items 1000), 0 inserted, 0 sampled\n");
  explanations[0].response.clear_tables();
  CHECK(WhyText(explanations, {}, /*in_full=*/false) == "the replay server at hive:1 has no table yet\n");
}

TEST_CASE("The exit status is that of the worst table", "[unit]") {
  Explanations explanations = Sample();
  CHECK(WhyExitStatus(explanations, {}) == 4);
  explanations[1].response.mutable_tables()->RemoveLast();
  CHECK(WhyExitStatus(explanations, {}) == 3);
  explanations[1].response.mutable_tables()->RemoveLast();
  CHECK(WhyExitStatus(explanations, {}) == 1);
  explanations.erase(explanations.begin());
  CHECK(WhyExitStatus(explanations, {}) == 0);
}

// A server with a full disk, and its waiting clients.
Explanations FullDisk() {
  Explanations explanations(1);
  explanations[0].address = "hive:1";
  AddTable("a", Explanation::VERDICT_WAITING, &explanations[0].response)->MergeFrom(testing::FromText<Explanation>(R"(
      cause: "disk_refuses" summary: "for 93 s: writers wait for the disk of /data"
      who_could: "more room in /data" remedies { setting: "room in /data" now: "none" change: "more" }
      unacknowledged_blocks: 3 unacknowledged_bytes: 4096
      storage { folder: "/data" write_problem: "No space left on device" write_problem_seconds: 93
                commit_waiting_seconds: 94 checkpoint_problem: "keeping checkpoint 8: No space left"
                checkpoint_ago: 400 checkpoint_number: 7 })"));
  return explanations;
}

TEST_CASE("A full disk is shown with its waiting clients, and a failed checkpoint with the last good one", "[unit]") {
  CHECK(WhyText(FullDisk(), {}, /*in_full=*/false) ==
        "a at hive:1: WAITING: for 93 s: writers wait for the disk of /data\n"
        "  could be ended by: more room in /data\n"
        "  remedies:\n"
        "      more room in /data\n"
        "  in numbers: 0 items (min_items 1, max_items 1000), 0 inserted, 0 sampled\n"
        "  on disk, in /data:\n"
        "      for 1 m 33 s nothing can be written: No space left on device\n"
        "      3 blocks with 4.0 KiB of its writers are not acknowledged\n"
        "      last checkpoint kept 6 m 40 s ago, the one since failed: keeping checkpoint 8: No space left\n");
  CHECK(WhyExitStatus(FullDisk(), {}) == 3);
}

TEST_CASE("A remedy that is not a setting is in words", "[unit]") {
  Explanations explanations(1);
  explanations[0].address = "hive:1";
  Explanation* const table = AddTable("a", Explanation::VERDICT_WAITING, &explanations[0].response);
  v1::Remedy* const memory = table->add_remedies();
  memory->set_setting("memory of the server");
  memory->set_now("1000");
  memory->set_change("more (--memory-bytes), or smaller batches");
  CHECK(absl::StrContains(WhyText(explanations, {}, /*in_full=*/false),
                          "      more memory of the server (--memory-bytes), or smaller batches, now 1000\n"));
}

// An actor and a learner that tables wait for, and an evaluator.
SilentWorkers SampleSilent() {
  SilentWorkers silent(3);
  silent[0].worker = testing::FromText<v1::WorkerInfo>(R"(role: ROLE_ACTOR index: 1 host: "bee" process_id: 77)");
  silent[0].silent = absl::Seconds(4);
  silent[1].worker = testing::FromText<v1::WorkerInfo>(R"(role: ROLE_LEARNER host: "bee" process_id: 78)");
  silent[1].silent = absl::Seconds(42);
  silent[2].worker.set_role(v1::ROLE_EVALUATOR);
  return silent;
}

TEST_CASE("A silent process that a table waits for comes before every setting", "[unit]") {
  const SilentWorkers silent = SampleSilent();
  Explanations explanations = Sample();
  const std::string all = WhyText(explanations, {}, /*in_full=*/false);
  CHECK(WhyText(explanations, {}, /*in_full=*/false, silent) ==
        "actor-1, process 77 on bee, has sent no heartbeat for 4.0 s: it is stopped, hangs or is cut off, and should "
        "write to c at 127.0.0.1:2; another setting would let the others go on for a moment only\n"
        "learner, process 78 on bee, has sent no heartbeat for 42.0 s: it is stopped, hangs or is cut off, and should "
        "sample from c at 127.0.0.1:2; another setting would let the others go on for a moment only\n" +
            all);
  // A table that flows waits for no process.
  explanations[1].response.mutable_tables(2)->set_verdict(Explanation::VERDICT_FLOWING);
  CHECK(absl::StartsWith(WhyText(explanations, {}, /*in_full=*/false, silent), "b at 127.0.0.1:2: WAITING"));
}

const MissingServers kMissing = {{1, "hive:2", absl::Seconds(93), "no space\nleft"}, {2, "", std::nullopt, ""}};

TEST_CASE("A missing server is named, and changes the exit status", "[unit]") {
  Explanations explanations(1);
  explanations[0].address = "hive:1";
  AddTable("a", Explanation::VERDICT_FLOWING, &explanations[0].response);
  CHECK(WhyText(explanations, kMissing, /*in_full=*/false) ==
        "a at hive:1: flowing: no call waits; 0 of 1000 items\n"
        "replay server 1, last at hive:2, is missing: the parameter server heard of it last 1 m 33 s ago, and counts "
        "it as "
        "gone; it gave up: no space?left\n"
        "replay server 2 is missing: the parameter server does not know it: it has not joined the run yet, or has been "
        "gone "
        "for long\n");
  CHECK(WhyExitStatus(explanations, {}) == 0);
  CHECK(WhyExitStatus(explanations, kMissing) == 1);
  CHECK(WhyExitStatus(FullDisk(), kMissing) == 3);
}

TEST_CASE("The JSON of an explanation has the same facts", "[unit]") {
  Explanations explanations = Sample();
  explanations.push_back(FullDisk()[0]);
  testing::CheckGolden(WhyJson(explanations, kMissing, SampleSilent()), "why.json");
}

}  // namespace
}  // namespace waggle
