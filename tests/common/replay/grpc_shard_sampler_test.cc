#include "common/replay/grpc_shard_sampler.h"

#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/threads/mutex.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleTable;
using testing::ValueOf;

constexpr absl::Duration kLong = absl::Seconds(30);

// Records the events in words, and the answers.
class Recorder final : public ShardSampleReceiver {
 public:
  void Opened(size_t shard) override { Add(shard, "opened"); }
  void Heard(size_t shard) override { Add(shard, "heard"); }
  absl::Status Answered(size_t shard, SampledBatch answer) override {
    {
      MutexLock lock(&mutex_);
      answers_.push_back(std::move(answer));
    }
    Add(shard, "answered");
    return absl::OkStatus();
  }
  void Closed(size_t shard) override { Add(shard, "closed"); }
  void Failed(size_t shard, absl::Status failure) override {
    Add(shard, absl::StrCat("failed: ", absl::StatusCodeToString(failure.code())));
  }

  // Waits for so many events, up to a limit.
  std::vector<std::string> Await(size_t count) {
    const Deadline deadline(kLong);
    MutexLock lock(&mutex_);
    while (events_.size() < count && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
    return events_;
  }
  std::vector<SampledBatch> answers() const {
    MutexLock lock(&mutex_);
    return answers_;
  }

 private:
  void Add(size_t shard, const std::string& event) {
    MutexLock lock(&mutex_);
    events_.push_back(absl::StrCat(shard, " ", event));
    changed_.SignalAll();
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<SampledBatch> answers_ ABSL_GUARDED_BY(mutex_);
};

using Events = std::vector<std::string>;

// A server with eight items, and its sampler.
struct Fixture {
  explicit Fixture(int64_t width = 2)
      : table(SimpleTable("t", width)), link(std::make_shared<ReplayLink>(server.address())) {
    REQUIRE_OK(link->CreateTable(table, StopToken()));
    const auto connection = server.Connect();
    const auto writer = ValueOf(connection->NewWriter(testing::SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(testing::SimpleBlock(0, 8, width), StopToken()));
    REQUIRE_OK(writer->Flush(kLong));
    ReplaySamplerOptions options = testing::SimpleSampler(table, 16);
    options.sampler_id = "learner";
    sampler = ValueOf(GrpcShardSampler::Create(link, options, 3, recorder));
  }

  ServerFixture server;
  const TableConfig table;
  const std::shared_ptr<ReplayLink> link;
  const std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  std::unique_ptr<ShardSampler> sampler;
};

TEST_CASE("A shard answers draws of any size in their order", "[grpc]") {
  Fixture fixture;
  REQUIRE(fixture.recorder->Await(1) == Events{"3 opened"});
  fixture.sampler->Ask({ShardAsk{3, 0, 2}, ShardAsk{3, 5, 2}, ShardAsk{3, 16, 2}});
  fixture.sampler->Ask({ShardAsk{3, 0, 2}, ShardAsk{3, 1, 2}});
  REQUIRE(fixture.recorder->Await(6).size() == 6);
  const std::vector<SampledBatch> answers = fixture.recorder->answers();
  const std::vector<int64_t> wanted = {0, 5, 16, 0, 1};
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(answers[i].table_items == 8);
    CHECK(answers[i].priority_sum == 8);
    REQUIRE((wanted[i] == 0) == answers[i].layout->fields.empty());
    for (int64_t item = 0; item < wanted[i]; ++item) {
      const float reward = static_cast<const float*>(answers[i].Data("reward"))[item];
      CHECK((reward >= 0 && reward < 8));
      CHECK(static_cast<const double*>(answers[i].Data(kItemProbability))[item] == Approx(1.0 / 8));
    }
  }
}

TEST_CASE("The server knows a shard's sampler by its name", "[grpc]") {
  Fixture fixture;
  fixture.recorder->Await(1);
  grpc::ClientContext context;
  v1::ExplainResponse response;
  REQUIRE(fixture.link->stub()->Explain(&context, v1::ExplainRequest(), &response).ok());
  REQUIRE(response.tables_size() == 1);
  std::vector<std::string> samplers;
  for (const v1::Party& party : response.tables(0).parties()) {
    if (party.kind() == v1::Party::KIND_SAMPLER) {
      samplers.push_back(party.name());
    }
  }
  REQUIRE(samplers == std::vector<std::string>{"learner"});
}

TEST_CASE("Each piece of a large answer is a sign of life", "[grpc]") {
  Fixture fixture(1 << 18);
  fixture.recorder->Await(1);
  fixture.sampler->Ask({ShardAsk{3, 8, 8}});
  // Eight items of a mebibyte, in pieces of two.
  REQUIRE(fixture.recorder->Await(6) == Events{"3 opened", "3 heard", "3 heard", "3 heard", "3 heard", "3 answered"});
  REQUIRE(fixture.recorder->answers().size() == 1);
}

TEST_CASE("The end of a stream is reported, and it is reopened; its requests get no answers", "[grpc]") {
  Fixture fixture;
  fixture.recorder->Await(1);
  fixture.server.Stop();
  REQUIRE(fixture.recorder->Await(2) == Events{"3 opened", "3 closed"});
  fixture.sampler->Ask({ShardAsk{3, 4, 4}});  // No stream is open.
  fixture.server.Start();
  REQUIRE(fixture.recorder->Await(3) ==
          Events{"3 opened", "3 closed", "3 opened"});  // The keeper has restored the table.
  fixture.sampler->Ask({ShardAsk{3}});
  REQUIRE(fixture.recorder->Await(4).back() == "3 answered");
  REQUIRE(fixture.recorder->answers().back().table_items == 0);
}

TEST_CASE("A refusal is final", "[grpc]") {
  Fixture fixture;
  fixture.recorder->Await(1);
  fixture.sampler->Ask({ShardAsk{3, 17, 17}});
  REQUIRE(fixture.recorder->Await(3) == Events{"3 opened", "3 closed", "3 failed: INVALID_ARGUMENT"});
}

TEST_CASE("No call comes after a shard's sampler is destroyed", "[grpc]") {
  Fixture fixture;
  fixture.recorder->Await(1);
  fixture.sampler.reset();
  REQUIRE(fixture.recorder->Await(2) == Events{"3 opened", "3 closed"});
}

}  // namespace
}  // namespace waggle
