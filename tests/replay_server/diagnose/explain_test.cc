#include "replay_server/diagnose/explain.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "replay_server/table/client_words.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Kind = TableClient::Kind;
using Explanation = v1::TableExplanation;

// A stall made by hand.
struct Stall {
  TableConfig config = testing::SmallTable();
  TablePicture picture;

  TablePicture Picture() const {
    TablePicture made = picture;
    made.config = std::make_shared<const TableConfig>(config);
    made.inserts_waiting = static_cast<int64_t>(made.first_inserts.size());
    made.samples_waiting = static_cast<int64_t>(made.first_samples.size());
    return made;
  }
  Explanation Explained() const { return Explain(Picture(), ExplainOptions()); }

  void Counts(int64_t items, int64_t inserts, int64_t samples) {
    picture.counts.items = items;
    picture.inserts = inserts;
    picture.samples = samples;
  }
  void Limit(double per_insert, int64_t min_items, double min_difference, double max_difference) {
    config.rate_limiter = {per_insert, min_items, 0, min_difference, max_difference};
  }
  void InsertWaits(const std::string& who, int64_t items, double seconds) {
    picture.first_inserts.push_back({who, true, {items, 0}, absl::Seconds(seconds)});
  }
  void SampleWaits(const std::string& who, int64_t items, double seconds) {
    picture.first_samples.push_back({who, true, {items, items}, absl::Seconds(seconds)});
  }
  void Party(Kind kind, const std::string& name, int64_t items, double active_ago) {
    picture.parties.push_back({kind, name, true, items, absl::Seconds(active_ago)});
  }
  void Gone(Kind kind, const std::string& name, int64_t items, double active_ago, double left_ago) {
    picture.parties.push_back({kind, name, false, items, absl::Seconds(active_ago), absl::Seconds(left_ago)});
  }
};

struct Case {
  const char* name;
  std::function<void(Stall*)> make;
  Explanation::Verdict verdict;
  std::string cause;
  std::vector<std::string> says;  // Parts of the summary, or of the clients that could end the wait.
  std::string remedy;             // The best one: "SETTING CHANGE, now NOW"; empty without one.
};

const std::vector<Case>& Stalls() {
  static const auto* const cases = new std::vector<Case>{
      {"the limiter is too tight for the batch",
       [](Stall* s) {
         s->Limit(4, 1, 0, 8);
         s->Counts(2, 2, 0);
         s->InsertWaits("actor-1", 3, 12);
         s->SampleWaits("learner", 32, 15);
         s->Party(Kind::kWriter, "actor-1", 2, 12);
         s->Party(Kind::kSampler, "learner", 0, 1e9);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kLimiterTooTight,
       {"for 15 s", "block each other for ever", "difference is 8", "max_difference, 8",
        "a batch of 32 needs it to be 32"},
       "rate_limiter.max_difference >= 32, now 8"},
      {"the error buffer is too small for the batch",
       [](Stall* s) {
         s->config.rate_limiter = {1, 10, 4};
         s->Counts(12, 14, 0);
         s->InsertWaits("actor-1", 1, 3);
         s->SampleWaits("learner", 64, 3);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kLimiterTooTight,
       {"block each other"},
       "rate_limiter.error_buffer >= 33, now 4"},
      {"a part of a batch counts for more than the limiter ever allows",
       [](Stall* s) {
         s->Limit(1, 1, 0, 100);
         s->Counts(100, 100, 0);
         s->picture.first_samples.push_back({"learner", true, {8, 101}, absl::Seconds(1)});
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kLimiterTooTight,
       {"a batch of 8, counted as 101, needs it to be 101"},
       "rate_limiter.max_difference >= 101, now 100"},
      {"max_bytes removes items before min_items is reached",
       [](Stall* s) {
         s->config.rate_limiter = {0, 60};
         s->config.max_bytes = 4000;
         s->Counts(40, 900, 0);
         s->picture.bytes = 4000;
         s->picture.byte_shortage = TableState::ByteShortage{40, false};
         s->SampleWaits("learner", 8, 100);
         s->Party(Kind::kWriter, "actor-1", 900, 0.1);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kBytesTooFew,
       {"samples wait for 60 items, and only about 40 fit", "max_bytes, 4000", "1 writer is connected: actor-1"},
       "max_bytes >= 6600, now 4000"},
      {"the memory of the server removes items before there are enough",
       [](Stall* s) {
         s->config.sampler.without_replacement = true;
         s->Counts(5, 900, 0);
         s->picture.bytes = 400;
         s->picture.server_bytes = 10'000;
         s->picture.server_max_bytes = 10'000;
         s->picture.byte_shortage = TableState::ByteShortage{5, true};
         s->SampleWaits("learner", 8, 100);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kServerMemoryFull,
       {"wait for 8 items", "only about 5 fit", "10000 of 10000 bytes"},
       "batch_size <= 5, now 8"},
      {"drawn batches wait for memory that a sampler holds without reading",
       [](Stall* s) {
         s->Counts(5, 5, 0);
         s->picture.sample_memory = {1000,
                                     2,
                                     absl::Seconds(33),
                                     "learner",
                                     {{"t", "debugger", 900, absl::Seconds(40)}, {"other", "learner", 60, {}}}};
       },
       Explanation::VERDICT_WAITING,
       causes::kSampleMemoryFull,
       {"for 33 s", "learner waits", "2 batches wait for memory", "960 of 1000 bytes", "max_sample_bytes",
        "debugger at table \"t\" 900, and has read nothing for 40 s", "learner at table \"other\" 60"},
       "memory of the server more (--memory-bytes), or smaller batches, now 1000"},
      {"a batch has more different items than the table may hold",
       [](Stall* s) {
         s->config.sampler.without_replacement = true;
         s->config.max_items = 20;
         s->Counts(20, 20, 0);
         s->SampleWaits("learner", 32, 5);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kBatchTooLarge,
       {"32 items, more than the table can give", "max_items is 20"},
       "batch_size <= 20, now 32"},
      {"a batch has more draws than max_times_sampled allows of a full table",
       [](Stall* s) {
         s->config.max_times_sampled = 2;
         s->config.max_items = 10;
         s->Counts(10, 10, 0);
         s->picture.counts.draws_left = 20;
         s->SampleWaits("learner", 21, 5);
       },
       Explanation::VERDICT_DEADLOCK,
       causes::kBatchTooLarge,
       {"each item may be drawn 2 times", "max_items is 10"},
       "batch_size <= 20, now 21"},
      {"the sampler is gone",
       [](Stall* s) {
         s->Limit(8, 100, 0, 800);
         s->Counts(100, 100, 0);
         s->InsertWaits("actor-1", 5, 93);
         s->Party(Kind::kWriter, "actor-1", 100, 93);
         s->Gone(Kind::kSampler, "learner", 640, 95, 94);
       },
       Explanation::VERDICT_WAITING,
       causes::kNobodySamples,
       {"for 93 s: no sampler is connected: ", "no sampler is connected: learner (sampled 95 s ago, left 94 s ago)"},
       "rate_limiter.max_difference >= 808, now 800"},
      {"the sampler is connected and asks for nothing",
       [](Stall* s) {
         s->Limit(8, 100, 0, 800);
         s->Counts(101, 101, 4);
         s->InsertWaits("actor-1", 5, 93);
         s->Party(Kind::kSampler, "learner", 4, 95);
       },
       Explanation::VERDICT_WAITING,
       causes::kSamplersSlow,
       {"inserts wait for 12 more samples", "1 sampler is connected: learner (sampled 95 s ago)"},
       "rate_limiter.max_difference >= 812, now 800"},
      {"no writer ever came",
       [](Stall* s) {
         s->config.rate_limiter = {0, 50};
         s->SampleWaits("learner", 8, 30);
       },
       Explanation::VERDICT_WAITING,
       causes::kNobodyWrites,
       {"no writer is connected, and no item was ever inserted: ", "no writer is connected, and none ever was"},
       ""},
      {"the writers are gone, and there are too few items",
       [](Stall* s) {
         s->config.rate_limiter = {0, 50};
         s->Counts(20, 20, 0);
         s->SampleWaits("learner", 8, 30);
         s->Gone(Kind::kWriter, "actor-1", 20, 60, 59);
       },
       Explanation::VERDICT_WAITING,
       causes::kNobodyWrites,
       {"no writer is connected: ", "30 more items", "actor-1 (inserted 60 s ago, left 59 s"},
       "rate_limiter.min_items <= 20, now 50"},
      {"min_items is far away",
       [](Stall* s) {
         s->config.max_items = 5000;
         s->config.rate_limiter = {0, 1000};
         s->Counts(500, 500, 0);
         s->SampleWaits("learner", 8, 30);
         s->Party(Kind::kWriter, "actor-1", 500, 1);
       },
       Explanation::VERDICT_WAITING,
       causes::kTooFewItems,
       {"500 more items: there are 500, min_items is 1000"},
       "rate_limiter.min_items <= 500, now 1000"},
      {"inserts are too few for the ratio",
       [](Stall* s) {
         s->Limit(8, 10, 0, 800);
         s->Counts(100, 100, 780);
         s->SampleWaits("learner", 32, 30);
         s->Party(Kind::kWriter, "actor-1", 100, 31);
       },
       Explanation::VERDICT_WAITING,
       causes::kInsertsTooFew,
       {"samples wait for 2 more inserts", "actor-1 (inserted 31 s ago)"},
       "rate_limiter.min_difference <= -12, now 0"},
      {"the counts of a restored table fit another limiter",
       [](Stall* s) {
         s->Limit(1, 10, 0, 800);
         s->Counts(100, 1000, 8000);  // Counts from a limiter of 8 samples an insert.
         s->SampleWaits("learner", 32, 30);
         s->Party(Kind::kWriter, "actor-1", 1000, 0.01);
       },
       Explanation::VERDICT_WAITING,
       causes::kOtherCounts,
       {"7032 more inserts", "where this configuration never leads", "counted under another one"},
       "rate_limiter.min_difference <= -7032, now 0"},
      {"a restored table has far more inserts than its new limiter allows",
       [](Stall* s) {
         s->config.rate_limiter = {8, 10, 100};
         s->Counts(100, 1000, 1000);  // Counts from a limiter of 1 sample an insert.
         s->InsertWaits("actor-1", 1, 30);
         s->Party(Kind::kSampler, "learner", 1000, 30);
       },
       Explanation::VERDICT_WAITING,
       causes::kSamplersSlow,
       {"6828 more samples", "filled under other settings"},
       "rate_limiter.error_buffer >= 6928, now 100"},
      {"all items were drawn as often as they may",
       [](Stall* s) {
         s->config.max_times_sampled = 1;
         s->Counts(10, 30, 20);
         s->picture.counts.draws_left = 10;
         s->SampleWaits("learner", 32, 30);
         s->Party(Kind::kWriter, "actor-1", 30, 1);
       },
       Explanation::VERDICT_WAITING,
       causes::kDrawsUsedUp,
       {"may be drawn 10 more times (max_times_sampled is 1)", "a batch of 32"},
       "max_times_sampled >= 4, now 1"},
      {"there are too few different items",
       [](Stall* s) {
         s->config.sampler.without_replacement = true;
         s->Counts(10, 30, 20);
         s->SampleWaits("learner", 32, 30);
         s->Party(Kind::kWriter, "actor-1", 30, 1);
       },
       Explanation::VERDICT_WAITING,
       causes::kTooFewDifferent,
       {"22 more items", "different items"},
       "batch_size <= 10, now 32"},
      {"the other side was busy a moment ago",
       [](Stall* s) {
         s->Limit(8, 10, 0, 800);
         s->Counts(101, 101, 4);
         s->InsertWaits("actor-1", 5, 93);  // Among many writers: others went before it.
         s->Party(Kind::kWriter, "actor-2", 101, 0.05);
         s->Party(Kind::kSampler, "learner", 4, 0.05);
       },
       Explanation::VERDICT_FLOWING,
       causes::kSamplersSlow,
       {"goes on; at the moment inserts wait for 12 more samples"},
       "rate_limiter.max_difference >= 812, now 800"},
      {"no call waits",
       [](Stall* s) { s->Counts(10, 10, 0); },
       Explanation::VERDICT_FLOWING,
       causes::kNone,
       {"no call waits; 10 of 100 items"},
       ""},
  };
  return *cases;
}

std::string Text(const v1::Remedy& remedy) {
  return absl::StrCat(remedy.setting(), " ", remedy.change(), ", now ", remedy.now());
}

TEST_CASE("Each stall has its cause, its reason and its best remedy", "[unit]") {
  for (const Case& stalled : Stalls()) {
    Stall stall;
    stalled.make(&stall);
    const Explanation explanation = stall.Explained();
    CAPTURE(stalled.name, explanation.summary(), explanation.who_could());
    CHECK(explanation.verdict() == stalled.verdict);
    CHECK(explanation.cause() == stalled.cause);
    for (const std::string& part : stalled.says) {
      CAPTURE(part);
      CHECK(absl::StrContains(absl::StrCat(explanation.summary(), " | ", explanation.who_could()), part));
    }
    CHECK((explanation.remedies().empty() ? "" : Text(explanation.remedies(0))) == stalled.remedy);
    CHECK(static_cast<size_t>(explanation.waits_size()) ==
          stall.picture.first_inserts.size() + stall.picture.first_samples.size());
  }
}

// Applies a remedy as a user would.
void Apply(const v1::Remedy& remedy, Stall* stall) {
  RateLimiterConfig& limiter = stall->config.rate_limiter;
  const auto whole = static_cast<int64_t>(remedy.value());
  if (remedy.setting() == "rate_limiter.max_difference") {
    limiter.max_difference = remedy.value();
  } else if (remedy.setting() == "rate_limiter.min_difference") {
    limiter.min_difference = remedy.value();
  } else if (remedy.setting() == "rate_limiter.error_buffer") {
    limiter.error_buffer = remedy.value();
  } else if (remedy.setting() == "rate_limiter.min_items") {
    limiter.min_items = whole;
  } else if (remedy.setting() == "max_times_sampled") {
    stall->picture.counts.draws_left += (whole - stall->config.max_times_sampled) * stall->picture.counts.items;
    stall->config.max_times_sampled = whole;
  } else if (remedy.setting() == "max_items") {
    stall->config.max_items = whole;
  } else if (remedy.setting() == "batch_size") {
    stall->picture.first_samples.front().asked = {whole, whole};
  } else {
    // The number of items in more bytes is unknown, so there is no shortage.
    stall->picture.byte_shortage.reset();
    stall->picture.sample_memory.waiting = 0;
  }
}

// True if inserts alone end the wait: the slow, obvious reference.
bool GoesOnByInserts(const Stall& stall) {
  RateLimiter limiter(stall.config.rate_limiter);
  limiter.Restore(stall.picture.inserts, stall.picture.samples, 0);
  TableCounts counts = stall.picture.counts;
  const DrawRequest batch = stall.picture.first_samples.front().asked;
  for (int i = 0; i < 100'000; ++i) {
    if (MaySample(stall.config, limiter, counts, batch)) {
      return true;
    }
    if (!MayInsert(stall.config, limiter, counts, batch.items)) {
      return false;
    }
    limiter.CountInsert();
    counts.items = std::min(counts.items + 1, stall.config.max_items);
    counts.draws_left =
        std::min(counts.draws_left + stall.config.max_times_sampled, counts.items * stall.config.max_times_sampled);
  }
  return false;
}

TEST_CASE("Each remedy ends its stall", "[unit]") {
  for (const Case& stalled : Stalls()) {
    Stall stall;
    stalled.make(&stall);
    const Explanation explanation = stall.Explained();
    for (const v1::Remedy& remedy : explanation.remedies()) {
      Stall cured = stall;
      Apply(remedy, &cured);
      CAPTURE(stalled.name, Text(remedy));
      const Explanation after = cured.Explained();
      CAPTURE(after.summary());
      CHECK(after.verdict() != Explanation::VERDICT_DEADLOCK);
      if (!cured.picture.first_samples.empty()) {
        CHECK(GoesOnByInserts(cured));
      } else {
        CHECK(after.cause() == causes::kNone);
      }
    }
  }
}

TEST_CASE("A limiter is called too tight exactly if no number of inserts is enough, and each remedy helps", "[unit]") {
  std::mt19937 random(7);
  const auto draw = [&random](int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); };
  int deadlocks = 0;
  for (int i = 0; i < 20'000; ++i) {
    Stall stall;
    stall.config.max_items = draw(1, 60);
    const double per_insert = draw(1, 24) / 4.0;
    const auto min_items = draw(1, static_cast<int>(stall.config.max_items));
    if (draw(0, 1) == 0) {
      stall.config.rate_limiter = {per_insert, min_items, draw(0, 80) / 2.0};
    } else {
      const double low = draw(-40, 200) / 2.0;
      stall.Limit(per_insert, min_items, low, low + draw(0, 100) / 2.0);
    }
    const int inserts = draw(0, 100);
    stall.Counts(std::min<int64_t>(stall.config.max_items, inserts), inserts, draw(0, 300));
    stall.SampleWaits("learner", draw(1, 40), 10);
    const Explanation explanation = stall.Explained();
    CAPTURE(i, explanation.summary());
    REQUIRE((explanation.verdict() == Explanation::VERDICT_DEADLOCK) == !GoesOnByInserts(stall));
    if (explanation.verdict() != Explanation::VERDICT_DEADLOCK) {
      continue;
    }
    ++deadlocks;
    REQUIRE(explanation.cause() == causes::kLimiterTooTight);
    REQUIRE(!explanation.remedies().empty());
    for (const v1::Remedy& remedy : explanation.remedies()) {
      Stall cured = stall;
      Apply(remedy, &cured);
      CAPTURE(Text(remedy));
      REQUIRE(GoesOnByInserts(cured));
    }
  }
  CHECK(deadlocks > 1000);
}

TEST_CASE("A stuck batch is reported while other samplers go on, and each size has its own reason", "[unit]") {
  Stall stall;
  stall.config.max_items = 5000;
  stall.config.sampler.without_replacement = true;
  stall.Counts(100, 100, 64000);
  stall.SampleWaits("large", 1000, 4);
  stall.SampleWaits("small", 32, 0.01);
  stall.SampleWaits("middling", 400, 4);
  stall.SampleWaits("large too", 1000, 3);
  stall.Party(Kind::kSampler, "large", 0, 1e9);
  stall.Party(Kind::kSampler, "small", 64000, 0.01);
  stall.Party(Kind::kWriter, "actor", 100, 60);
  const Explanation explained = stall.Explained();
  CHECK(explained.verdict() == Explanation::VERDICT_WAITING);
  CHECK(explained.cause() == causes::kTooFewDifferent);
  REQUIRE(explained.waits_size() == 4);
  CHECK(absl::StrContains(explained.waits(0).why(), "900 more items"));
  CHECK(absl::StrContains(explained.waits(1).why(), "is about to go on"));
  CHECK(absl::StrContains(explained.waits(2).why(), "300 more items"));
  CHECK(explained.waits(3).why() == "waits for its turn");
  // A batch goes on while batches of its size are served.
  stall.Party(Kind::kSampler, "large too", 1000, 0.5);
  CHECK(stall.Explained().verdict() == Explanation::VERDICT_FLOWING);
}

TEST_CASE("Inserts beside a batch for which items leave too early are reported to wait for samples", "[unit]") {
  Stall stall;
  stall.config.max_items = 5000;
  stall.config.sampler.without_replacement = true;
  stall.Limit(1, 1, 0, 100);
  stall.Counts(20, 100, 0);
  stall.picture.byte_shortage = TableState::ByteShortage{20, false};
  stall.SampleWaits("large", 1000, 4);
  stall.InsertWaits("actor", 1, 4);
  stall.Party(Kind::kSampler, "large", 0, 1e9);
  stall.Party(Kind::kWriter, "actor", 100, 4);
  const Explanation explained = stall.Explained();
  CHECK(explained.verdict() == Explanation::VERDICT_DEADLOCK);
  CHECK(explained.cause() == causes::kBytesTooFew);
  CHECK(absl::StrContains(explained.waits(0).why(), "wait for 1 more samples"));
}

TEST_CASE("Times are in seconds, and longer ones are rounder", "[unit]") {
  CHECK(SecondsText(absl::Milliseconds(12)) == "0.012 s");
  CHECK(SecondsText(absl::Milliseconds(93'400)) == "93.4 s");
  CHECK(SecondsText(absl::Hours(30)) == "108000 s");
  CHECK(SecondsText(-absl::Seconds(1)) == "0 s");
}

TEST_CASE("A polling sampler of several servers is reported to wait if this server holds it up", "[unit]") {
  Stall stall;
  stall.config.rate_limiter = {0, 50};
  stall.Counts(20, 20, 0);
  stall.SampleWaits("learner", 8, 30);
  stall.picture.first_samples.back().looks = true;
  Explanation explanation = stall.Explained();
  CHECK(explanation.verdict() == Explanation::VERDICT_WAITING);
  CHECK(explanation.cause() == causes::kNobodyWrites);
  CHECK(absl::StrContains(explanation.summary(), "samples wait for 30 more items"));

  stall.Counts(60, 60, 0);
  explanation = stall.Explained();
  CHECK(explanation.verdict() == Explanation::VERDICT_FLOWING);
  REQUIRE(explanation.waits_size() == 1);
  CHECK(explanation.waits(0).why() == "this server has its part of a batch; another server does not yet");

  // A deadlock of a request is no deadlock of a poll, because other servers may have the batch.
  stall.Limit(4, 1, 0, 8);
  stall.Counts(2, 2, 0);
  stall.InsertWaits("actor-1", 3, 12);
  stall.picture.first_samples.back().asked = {32, 32};
  explanation = stall.Explained();
  CHECK(explanation.verdict() == Explanation::VERDICT_WAITING);
  CHECK(absl::StartsWith(explanation.waits(0).why(), "inserts wait for "));
  CHECK(absl::StartsWith(explanation.waits(1).why(), "samples wait for "));
  stall.picture.first_samples.back().looks = false;
  CHECK(stall.Explained().verdict() == Explanation::VERDICT_DEADLOCK);
}

TEST_CASE("A client that waits in one table is reported so in the others", "[unit]") {
  Stall blocked;
  blocked.config.name = "errors";
  blocked.Limit(8, 100, 0, 800);
  blocked.Counts(100, 100, 0);
  blocked.InsertWaits("actor-1", 5, 93);
  Stall hungry;
  hungry.config.rate_limiter = {0, 50};
  hungry.SampleWaits("learner", 8, 30);
  hungry.Party(Kind::kWriter, "actor-1", 20, 94);
  hungry.Party(Kind::kWriter, "actor-2", 20, 95);
  std::vector<TablePicture> pictures = {blocked.Picture(), hungry.Picture()};
  LinkWaits(&pictures);
  const std::string who = Explain(pictures[1], ExplainOptions()).who_could();
  CAPTURE(who);
  CHECK(absl::StrContains(who, "actor-1 (inserted 94 s ago, waits at table \"errors\")"));
  CHECK(absl::StrContains(who, "actor-2 (inserted 95 s ago)"));
}

}  // namespace
}  // namespace waggle
