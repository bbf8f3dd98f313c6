// Weights from the learner to the parameter server and from there to an actor, over loopback gRPC, beside what loopback
// TCP and memcpy take for the same bytes.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/clients/model_client.h"
#include "common/metrics/metrics.h"
#include "common/process/allocator.h"
#include "common/rpc/server.h"
#include "param_server/model_service.h"
#include "tests/bench/bench.h"
#include "tests/bench/loopback_tcp.h"

namespace waggle::bench {
namespace {

constexpr double kMebibyte = 1 << 20;

// A server in this process with one model, and its clients.
struct Fixture {
  explicit Fixture(int64_t mebibytes) {
    auto started = RpcServer::Start("127.0.0.1:0", {&service});
    WAGGLE_CHECK(started.ok(), "a free port can be had");
    server = *std::move(started);
    publisher = NewGrpcModelPublisher(server->address());
    subscriber = NewGrpcModelSubscriber(server->address(), "m");
    const size_t bytes = static_cast<size_t>(mebibytes) << 20;
    const std::shared_ptr<char> data = AllocateBytes(bytes);
    std::fill_n(data.get(), bytes, 'x');
    snapshot.model = "m";
    snapshot.tensors = {{"weights", DType::kFloat32, {static_cast<int64_t>(bytes / 4)}}};
    snapshot.data = ByteSlices({data.get(), bytes, data});
  }

  void Push() {
    ++snapshot.version.version;
    const absl::Status status = publisher->Publish(snapshot);
    WAGGLE_CHECK(status.ok(), status.ToString());
  }
  void Pull(std::optional<ModelVersion> newer_than) {
    const auto pulled = subscriber->PullNewer(newer_than);
    WAGGLE_CHECK(pulled.ok() && pulled->has_value() != newer_than.has_value(), pulled.status().ToString());
  }

  ModelStore store{ModelStoreOptions()};
  Metrics metrics;
  ModelService service{&store, &metrics};
  std::unique_ptr<RpcServer> server;
  std::unique_ptr<ModelPublisher> publisher;
  std::unique_ptr<ModelSubscriber> subscriber;
  ModelSnapshot snapshot;
};

Result AgainstTcp(const Timing& timing, int64_t mebibytes) {
  LoopbackTcp tcp(static_cast<size_t>(mebibytes) << 20);
  return Milliseconds(timing, absl::ToDoubleMilliseconds(TimePerCall([&tcp] { tcp.Transfer(); }).best), "loopback TCP");
}

Result Push(int64_t mebibytes) {
  Fixture fixture(mebibytes);
  return AgainstTcp(TimePerCall([&fixture] { fixture.Push(); }), mebibytes);
}

Result Pull(int64_t mebibytes) {
  Fixture fixture(mebibytes);
  fixture.Push();
  return AgainstTcp(TimePerCall([&fixture] { fixture.Pull(std::nullopt); }), mebibytes);
}

Result PullAgainstMemcpy(int64_t mebibytes) {
  Fixture fixture(mebibytes);
  fixture.Push();
  const double copied = MemcpyBytesPerSecond(static_cast<size_t>(mebibytes) << 20);
  return Milliseconds(TimePerCall([&fixture] { fixture.Pull(std::nullopt); }),
                      1'000 * static_cast<double>(mebibytes) * kMebibyte / copied, "memcpy");
}

Result PullAgainstAim() {
  Fixture fixture(1);
  fixture.Push();
  return Milliseconds(TimePerCall([&fixture] { fixture.Pull(std::nullopt); }), 2, "aim");
}

Result PullNothing() {
  Fixture fixture(1);
  fixture.Push();
  LoopbackTcp tcp(1);
  return Milliseconds(TimePerCall([&fixture] { fixture.Pull(fixture.snapshot.version); }),
                      absl::ToDoubleMilliseconds(TimePerCall([&tcp] { tcp.Transfer(); }).best),
                      "loopback TCP round trip");
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  using waggle::bench::Case;
  std::vector<Case> cases;
  for (const int64_t mebibytes : {1, 64}) {
    cases.push_back(
        {absl::StrCat("model_push_", mebibytes, "MiB"), [mebibytes] { return waggle::bench::Push(mebibytes); }});
    cases.push_back(
        {absl::StrCat("model_pull_", mebibytes, "MiB"), [mebibytes] { return waggle::bench::Pull(mebibytes); }});
    cases.push_back({absl::StrCat("model_pull_", mebibytes, "MiB_memcpy"),
                     [mebibytes] { return waggle::bench::PullAgainstMemcpy(mebibytes); }});
  }
  cases.push_back({"model_pull_1MiB_aim", &waggle::bench::PullAgainstAim});
  cases.push_back({"model_pull_nothing_newer", &waggle::bench::PullNothing});
  waggle::KeepFreedMemory();  // As every executable does.
  return waggle::bench::RunCases(argc, argv, cases);
}
