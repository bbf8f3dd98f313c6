// Random operations on a table behind a server, through the real clients. The table must agree with a naive one after
// each. With one client everything follows from the seed.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/deadline.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/grpc_shard_sampler.h"
#include "common/replay/table_config_convert.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/replay_server/table/random_play.h"
#include "tests/support/eventually.h"
#include "tests/support/replay_fixtures.h"

namespace waggle::testing {
namespace {

constexpr int64_t kMaxBatch = 5;
constexpr absl::Duration kLong = absl::Minutes(1);

// Holds the answer to one request.
class OneAnswer final : public ShardSampleReceiver {
 public:
  void Opened(size_t /*shard*/) override {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void Heard(size_t /*shard*/) override {}
  absl::Status Answered(size_t /*shard*/, SampledBatch answer) override {
    MutexLock lock(&mutex_);
    answers_.push_back(std::move(answer));
    changed_.SignalAll();
    return absl::OkStatus();
  }
  void Closed(size_t /*shard*/) override {}
  void Failed(size_t /*shard*/, absl::Status failure) override {
    MutexLock lock(&mutex_);
    failure_ = std::move(failure);
    changed_.SignalAll();
  }

  void AwaitOpen() {
    const Deadline deadline(kLong);
    MutexLock lock(&mutex_);
    while (!open_ && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
    REQUIRE(open_);
  }
  SampledBatch Await() {
    const Deadline deadline(kLong);
    MutexLock lock(&mutex_);
    while (answers_.empty() && failure_.ok() && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
    REQUIRE_OK(failure_);
    REQUIRE(answers_.size() == 1);
    SampledBatch answer = std::move(answers_.front());
    answers_.clear();
    return answer;
  }
  bool answered() const {
    MutexLock lock(&mutex_);
    return !answers_.empty();
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<SampledBatch> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

class PlayOverGrpc : private RandomPlay {
 public:
  PlayOverGrpc(const ServerFixture& server, const TableConfig& config, uint64_t seed)
      : RandomPlay(config, seed),
        server_(server),
        stub_(v1::ReplayService::NewStub(NewChannel(server.address(), "player"))),
        connection_(server.Connect()) {
    REQUIRE_OK(connection_->CreateTable(config, StopToken()));
    writer_ = ValueOf(connection_->NewWriter(SimpleWriter("writer-" + config.name, config)));
    updater_ = ValueOf(connection_->NewPriorityUpdater(config.name));
    NewSampler();
  }

  // The drawn items, numbered in the order of insertion.
  const std::vector<int64_t>& Play(int operations) {
    for (int step = 0; step < operations; ++step) {
      const uint64_t choice = rng_.UniformInt(100);
      if (choice < 50) {
        Insert();
      } else if (choice < 75) {
        Sample();
      } else if (choice < 88) {
        Update();
      } else if (choice < 94) {
        Delete();
      } else if (choice < 98) {
        Reconfigure();
      } else {
        Clear();
      }
      Compare();
    }
    return drawn_;
  }

 private:
  template <class Request, class Response>
  Response Call(StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    return ValueOf(CallUnary(stub_.get(), method, request, kLong));
  }
  v1::TableInfo Info() {
    const auto response = Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest());
    const auto found = std::find_if(response.tables().begin(), response.tables().end(),
                                    [this](const v1::TableInfo& info) { return info.config().name() == config_.name; });
    REQUIRE(found != response.tables().end());
    return *found;
  }
  // By number: generations count the items.
  std::map<int64_t, v1::InspectedItem> Items() {
    v1::InspectRequest request;
    request.set_table(config_.name);
    request.set_page_size(1000);
    const auto response = Call(&v1::ReplayService::Stub::Inspect, request);
    REQUIRE(response.next_page_token().empty());
    std::map<int64_t, v1::InspectedItem> items;
    for (const v1::InspectedItem& item : response.items()) {
      if (first_generation_ == 0) {
        first_generation_ = item.generation();
      }
      items[static_cast<int64_t>(item.generation() - first_generation_)] = item;
    }
    REQUIRE(items.size() == static_cast<size_t>(response.items_size()));
    return items;
  }

  void NewSampler() {
    ReplaySamplerOptions options = SimpleSampler(config_, kMaxBatch);
    sampler_ = nullptr;
    receiver_ = std::make_shared<OneAnswer>();
    sampler_ =
        ValueOf(GrpcShardSampler::Create(std::make_shared<ReplayLink>(server_.address()), options, 0, receiver_));
    receiver_->AwaitOpen();
  }

  // The items that have left, in the order in which they must have left.
  std::vector<int64_t> Left(bool times_changed = false) {
    const std::map<int64_t, v1::InspectedItem> items = Items();
    std::vector<NaiveTable::Item> left;
    for (const NaiveTable::Item& item : naive_.items()) {
      if (items.count(item.id) == 0) {
        left.push_back(item);
      }
    }
    const SelectorKind kind = config_.remover.kind;
    const auto rank = [&](const NaiveTable::Item& item) {
      const bool exhausted =
          times_changed && config_.max_times_sampled > 0 && item.times_sampled >= config_.max_times_sampled;
      const bool low = kind == SelectorKind::kMinHeap;
      const bool high = kind == SelectorKind::kMaxHeap || kind == SelectorKind::kPrioritized;
      return std::make_tuple(!exhausted,
                             low    ? item.priority
                             : high ? -item.priority
                                    : 0.0,
                             kind == SelectorKind::kLifo ? -item.id : item.id);
    };
    std::sort(left.begin(), left.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    std::vector<int64_t> ids;
    for (const NaiveTable::Item& item : left) {
      ids.push_back(item.id);
    }
    removed_ += static_cast<int64_t>(ids.size());
    return ids;
  }

  void Insert() {
    if (!naive_.CanInsert()) {
      return;
    }
    InsertBlock block = SimpleBlock(static_cast<uint64_t>(next_id_), 1);
    block.highest_priority = rng_.UniformInt(4) == 0;
    block.items[0].priority = RandomPriority();
    NewItem item;
    item.priority = block.items[0].priority;
    item.highest_priority = block.highest_priority;
    REQUIRE_OK(writer_->Append(std::move(block), StopToken()));
    REQUIRE_OK(writer_->Flush(kLong));
    naive_.Insert(next_id_, item, Left());
    ++next_id_;
    if (item_bytes_ == 0) {
      item_bytes_ = static_cast<int64_t>(Info().bytes());
      REQUIRE(item_bytes_ > 0);
      naive_.SetItemBytes(item_bytes_);
    }
  }

  void Sample() {
    const DrawRequest request = RandomDraw(kMaxBatch);
    sampler_->Ask({ShardAsk{0, static_cast<uint32_t>(request.items), static_cast<uint32_t>(request.counted)}});
    if (!naive_.CanSample(request)) {
      Refuse();
      return;
    }
    const double sum = naive_.PrioritySum();
    const SampledBatch batch = receiver_->Await();
    REQUIRE(batch.priority_sum == Approx(sum));
    REQUIRE(batch.table_items == naive_.items().size());
    naive_.CountSamples(request.counted);
    sampled_ += request.counted;
    CheckDraws(batch, request.items);
  }

  // No answer comes.
  void Refuse() {
    Eventually("a request that waits", [this] { return Info().samples_waiting() == 1; });
    REQUIRE(!Info().blocked_because().empty());
    REQUIRE(!receiver_->answered());
    NewSampler();
    Eventually("no request that waits", [this] { return Info().samples_waiting() == 0; });
  }

  void CheckDraws(const SampledBatch& batch, int64_t items) {
    BatchCheck check(this);
    for (int64_t i = 0; i < items; ++i) {
      const auto id = static_cast<int64_t>(static_cast<const float*>(batch.Data("reward"))[i]);
      SampledItem item;
      item.key = static_cast<uint64_t>(static_cast<const int64_t*>(batch.Data(kItemKey))[i]);
      item.generation = static_cast<uint64_t>(static_cast<const int64_t*>(batch.Data(kItemGeneration))[i]);
      item.times_sampled = static_cast<uint32_t>(static_cast<const int64_t*>(batch.Data(kItemTimesSampled))[i]);
      item.priority = static_cast<const double*>(batch.Data(kItemPriority))[i];
      item.probability = static_cast<const double*>(batch.Data(kItemProbability))[i];
      REQUIRE(item.generation - first_generation_ == static_cast<uint64_t>(id));
      removed_ += check.Draw(id, item) ? 1 : 0;
      drawn_.push_back(id);
    }
  }

  void Update() {
    if (addresses_.empty()) {
      return;
    }
    const auto [address, id] = Seen(50);
    const double priority = RandomPriority();
    REQUIRE_OK(updater_->Update({address.first}, {address.second}, {priority}));
    REQUIRE_OK(updater_->Flush(kLong));
    NaiveTable::Item* const known = naive_.Find(id);
    applied_ += known != nullptr ? 1 : 0;
    missed_ += known != nullptr ? 0 : 1;
    if (known != nullptr) {
      known->priority = naive_.Magnitude(priority);
    }
    const PriorityUpdateCounts counts = updater_->counts();
    REQUIRE(counts.applied == applied_);
    REQUIRE(counts.stale + counts.unknown == missed_);
  }

  void Delete() {
    if (addresses_.empty()) {
      return;
    }
    const auto [address, id] = Seen(50);
    v1::DeleteRequest request;
    request.set_table(config_.name);
    request.add_keys(address.first);
    request.add_generations(address.second);
    const auto response = Call(&v1::ReplayService::Stub::Delete, request);
    const bool known = naive_.Find(id) != nullptr;
    REQUIRE(response.deleted() == (known ? 1 : 0));
    REQUIRE(response.stale() + response.unknown() == (known ? 0 : 1));
    if (known) {
      naive_.Remove(id);
      ++removed_;
    }
  }

  void Reconfigure() {
    const int64_t times = config_.max_times_sampled;
    ChangeConfig(kMaxBatch, kMaxBatch + 19, 2 * kMaxBatch);
    const auto fitting = static_cast<int64_t>(1 + rng_.UniformInt(20));
    config_.max_bytes = item_bytes_ > 0 ? fitting * item_bytes_ : config_.max_bytes;
    REQUIRE_OK(config_.Validate());
    v1::ReconfigureRequest request;
    *request.mutable_config() = ToProto(config_);
    request.set_config_generation(Info().config_generation());
    Call(&v1::ReplayService::Stub::Reconfigure, request);
    naive_.Reconfigure(config_, Left(times != config_.max_times_sampled));
    NewSampler();
  }

  void Clear() {
    v1::ClearRequest request;
    request.set_table(config_.name);
    REQUIRE(Call(&v1::ReplayService::Stub::Clear, request).deleted() == naive_.items().size());
    removed_ += static_cast<int64_t>(naive_.items().size());
    naive_.Clear();
  }

  void Compare() {
    const v1::TableInfo info = Info();
    REQUIRE(info.items() == naive_.items().size());
    REQUIRE(info.bytes() == static_cast<uint64_t>(naive_.Bytes()));
    REQUIRE(info.items_inserted() == static_cast<uint64_t>(next_id_));
    REQUIRE(info.items_sampled() == static_cast<uint64_t>(sampled_));
    REQUIRE(info.items_removed() == static_cast<uint64_t>(removed_));
    REQUIRE(info.priorities_applied() == applied_);
    REQUIRE(info.priorities_stale() + info.priorities_unknown() == missed_);
    REQUIRE(info.priority_sum() == Approx(naive_.PrioritySum()));
    REQUIRE(writer_->stats().items_inserted == static_cast<uint64_t>(next_id_));
    std::map<int64_t, v1::InspectedItem> items = Items();
    REQUIRE(items.size() == naive_.items().size());
    for (const NaiveTable::Item& item : naive_.items()) {
      const auto found = items.find(item.id);
      REQUIRE(found != items.end());
      REQUIRE(found->second.priority() == item.priority);
      REQUIRE(found->second.times_sampled() == static_cast<uint64_t>(item.times_sampled));
      REQUIRE((config_.max_times_sampled == 0 || item.times_sampled < config_.max_times_sampled));
    }
  }

  const ServerFixture& server_;
  const std::unique_ptr<v1::ReplayService::Stub> stub_;
  const std::unique_ptr<ReplayConnection> connection_;
  std::unique_ptr<ReplayWriter> writer_;
  std::unique_ptr<PriorityUpdater> updater_;
  std::shared_ptr<OneAnswer> receiver_;
  std::unique_ptr<ShardSampler> sampler_;
  uint64_t first_generation_ = 0;
  int64_t next_id_ = 0;
  int64_t item_bytes_ = 0;  // 0: unknown, before the first insert.
  int64_t sampled_ = 0;
  int64_t removed_ = 0;
  uint64_t applied_ = 0;
  uint64_t missed_ = 0;
  std::vector<int64_t> drawn_;
};

constexpr SelectorKind kKinds[] = {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo,
                                   SelectorKind::kLifo,    SelectorKind::kMinHeap,     SelectorKind::kMaxHeap};

TableConfig Variant(SelectorKind sampler, SelectorKind remover, uint64_t seed) {
  TableConfig config = SimpleTable("table-" + std::to_string(seed));
  config.seed = seed;
  config.sampler.kind = sampler;
  config.remover.kind = remover;
  config.sampler.without_replacement = seed % 3 == 1;
  config.sampler.absolute_priorities = seed % 2 == 0;
  config.sampler.priority_epsilon = seed % 3 == 0 ? 0.25 : 0;
  config.sampler.independent_draws = seed % 5 == 0;
  if (seed % 3 == 2 && sampler == SelectorKind::kPrioritized) {
    config.sampler.uniform_share = 0.3;
  } else if (seed % 3 == 2 && sampler == SelectorKind::kUniform) {
    config.sampler.recent_share = 0.4;
    config.sampler.recent_items = 5;
  }
  config.max_items = kMaxBatch + static_cast<int64_t>(seed % 20);
  config.max_times_sampled = static_cast<int64_t>(seed % 4);
  REQUIRE_OK(config.Validate());
  return config;
}

#ifdef __SANITIZE_ADDRESS__  // Each operation is many times slower.
constexpr int kOperations = 15;
#else
constexpr int kOperations = 60;
#endif

void PlayAll(int rounds, int operations) {
  uint64_t seed = 0;
  for (int round = 0; round < rounds; ++round) {
    const ServerFixture server;
    for (const SelectorKind sampler : kKinds) {
      for (const SelectorKind remover : kKinds) {
        ++seed;
        CAPTURE(seed, static_cast<int>(sampler), static_cast<int>(remover));
        PlayOverGrpc(server, Variant(sampler, remover, seed), seed).Play(operations);
      }
    }
  }
}

TEST_CASE("a table behind a server agrees with a naive one through random operations", "[grpc]") {
  PlayAll(1, kOperations);
}

TEST_CASE("a table behind a server agrees with a naive one through millions of random operations", "[soak]") {
  PlayAll(30, 2'000);
}

TEST_CASE("what one client draws from a server follows from the seeds", "[grpc]") {
  const TableConfig config = Variant(SelectorKind::kPrioritized, SelectorKind::kUniform, 7);
  std::vector<std::vector<int64_t>> drawn;
  for (int i = 0; i < 2; ++i) {
    const ServerFixture server;
    drawn.push_back(PlayOverGrpc(server, config, 5).Play(180));
  }
  CHECK(drawn[0].size() > kMaxBatch);
  CHECK(drawn[0] == drawn[1]);
}

}  // namespace
}  // namespace waggle::testing
