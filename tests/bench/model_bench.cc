// Weights from the learner to the parameter server and from there to an actor, over loopback gRPC. The limits are
// loopback TCP and memcpy with the same bytes.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/metrics/metrics.h"
#include "common/base/process/allocator.h"
#include "common/hub/model_client.h"
#include "common/net/server.h"
#include "param_server/services/model_service.h"
#include "tests/bench/bench.h"
#include "tests/bench/loopback_tcp.h"
#include "tests/bench/must.h"
#include "tests/param_server/single_run.h"

namespace waggle::bench {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

// A server in this process with one model, and its clients.
struct Fixture {
  explicit Fixture(size_t bytes) {
    server = Must(RpcServer::Start("127.0.0.1:0", {&service}));
    publisher = NewGrpcModelPublisher(server->address());
    subscriber = NewGrpcModelSubscriber(server->address(), "m");
    const std::shared_ptr<char> data = AllocateBytes(bytes);
    std::fill_n(data.get(), bytes, 'x');
    snapshot.model = "m";
    snapshot.tensors = {{"weights", DType::kFloat32, {static_cast<int64_t>(bytes / 4)}}};
    snapshot.data = ByteSlices({data.get(), bytes, data});
  }

  void Push() {
    ++snapshot.version.version;
    Must(publisher->Publish(snapshot, StopToken()));
  }
  void Pull(std::optional<ModelVersion> newer_than) {
    const auto pulled = subscriber->PullNewer(newer_than, StopToken());
    WAGGLE_CHECK(pulled.ok() && pulled->has_value() != newer_than.has_value(), pulled.status().ToString());
  }

  ModelStore store{ModelStoreOptions()};
  Metrics metrics;
  ModelService service{testing::SingleRun(nullptr, &store, &metrics)};
  std::unique_ptr<RpcServer> server;
  std::unique_ptr<ModelPublisher> publisher;
  std::unique_ptr<ModelSubscriber> subscriber;
  ModelSnapshot snapshot;
};

Result BesideTcp(const std::function<void()>& call, size_t bytes) {
  LoopbackTcp tcp(bytes);
  const TimingBesideLimit timing = TimeBesideLimit(call, [&tcp] { tcp.Transfer(); });
  return Milliseconds(timing.call, absl::ToDoubleMilliseconds(timing.limit.best), "loopback TCP");
}

Result Push(size_t bytes) {
  Fixture fixture(bytes);
  return BesideTcp([&fixture] { fixture.Push(); }, bytes);
}

Result Pull(size_t bytes) {
  Fixture fixture(bytes);
  fixture.Push();
  return BesideTcp([&fixture] { fixture.Pull(std::nullopt); }, bytes);
}

Result PullAgainstMemcpy(size_t bytes) {
  Fixture fixture(bytes);
  fixture.Push();
  const double copied = MemcpyBytesPerSecond(bytes);
  return Milliseconds(TimePerCall([&fixture] { fixture.Pull(std::nullopt); }),
                      1'000 * static_cast<double>(bytes) / copied, "memcpy");
}

Result PullAgainstAim() {
  Fixture fixture(kMebibyte);
  fixture.Push();
  return Milliseconds(TimePerCall([&fixture] { fixture.Pull(std::nullopt); }), 2, "aim");
}

Result PullNothing() {
  Fixture fixture(kMebibyte);
  fixture.Push();
  return BesideTcp([&fixture] { fixture.Pull(fixture.snapshot.version); }, 1);
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  using waggle::bench::Case;
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, size_t>> sizes = {
      {"4KiB", size_t{4} << 10}, {"1MiB", size_t{1} << 20}, {"64MiB", size_t{64} << 20}, {"512MiB", size_t{512} << 20}};
  for (const auto& [name, bytes] : sizes) {
    cases.push_back({absl::StrCat("model_push_", name), [bytes = bytes] { return waggle::bench::Push(bytes); }});
    cases.push_back({absl::StrCat("model_pull_", name), [bytes = bytes] { return waggle::bench::Pull(bytes); }});
    cases.push_back({absl::StrCat("model_pull_", name, "_memcpy"),
                     [bytes = bytes] { return waggle::bench::PullAgainstMemcpy(bytes); }});
  }
  cases.push_back({"model_pull_1MiB_aim", &waggle::bench::PullAgainstAim});
  cases.push_back({"model_pull_nothing_newer", &waggle::bench::PullNothing});
  waggle::KeepFreedMemory();  // As every executable does.
  return waggle::bench::RunCases(argc, argv, cases);
}
