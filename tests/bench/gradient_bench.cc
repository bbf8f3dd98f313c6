// Gradients from workers to a primary that steps with them, over loopback gRPC. The limits are sending the same bytes
// as raw slices to a server that only counts them, and copying and adding them in memory.

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/process/allocator.h"
#include "common/base/threads/thread.h"
#include "common/hub/gradients/gradient_link.h"
#include "common/hub/gradients/gradient_sink.h"
#include "common/net/bidi_reactor.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/server.h"
#include "common/nn/flat_kernels.h"
#include "param_server/gradients/gradient_primary.h"
#include "param_server/gradients/gradient_runner.h"
#include "param_server/gradients/gradient_service.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

using Request = v1::PushGradientRequest;
using Response = v1::PushGradientResponse;

constexpr int64_t kWindow = 4;  // Unanswered gradients of a worker.

std::shared_ptr<const float> Ones(int64_t elements) {
  const std::shared_ptr<char> bytes = AllocateBytes(static_cast<size_t>(elements) * sizeof(float));
  auto* const data = reinterpret_cast<float*>(bytes.get());
  std::fill_n(data, elements, 1e-9F);
  return {bytes, data};
}

// Runs `work` in each of `workers` threads.
void InEach(int workers, const std::function<void(size_t worker)>& work) {
  std::vector<Thread> threads;
  for (size_t worker = 0; worker < static_cast<size_t>(workers); ++worker) {
    threads.emplace_back("worker", [&work, worker] { work(worker); });
  }
}

// A primary in this process, which steps by plain descent with a gradient of each worker.
class Pushing {
 public:
  Pushing(int64_t elements, int workers) : gradient_(Ones(elements)) {
    ModelSnapshot weights;
    weights.tensors = {ArraySpec{"weights", DType::kFloat32, {elements}}};
    const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
    weights.data = ByteSlices({reinterpret_cast<const char*>(gradient_.get()), bytes, gradient_});
    OptimizerOptions sgd;
    sgd.type = "sgd";
    parameters_ = Must(SteppedParameters::Create(weights, {{{"all", elements}, sgd}}));
    GradientPrimaryOptions options;
    options.batch = workers;
    options.flush_after = absl::Milliseconds(5);
    primary_ = std::make_unique<GradientPrimary>(options, parameters_.get(), &settled_, &metrics_, nullptr);
    service_ = std::make_unique<GradientService>();
    service_->Begin("primary", "bench", &metrics_);
    runner_.Start(primary_.get());
    service_->SetTaker(&runner_, parameters_->model());
    server_ = Must(RpcServer::Start("127.0.0.1:0", {service_.get()}));
    for (int i = 0; i < workers; ++i) {
      links_.push_back(NewGradientLink("bench", [address = server_->address()](int64_t) { return address; }));
      sinks_.push_back(NewGradientSink({parameters_->model(), absl::StrCat("worker-", i), 0, kWindow},
                                       links_.back().get(), nullptr));
    }
  }
  ~Pushing() {
    links_.clear();
    server_.reset();
    runner_.Stop();
  }

  void Push(int64_t each) {
    InEach(static_cast<int>(sinks_.size()), [this, each](size_t worker) {
      for (int64_t i = 0; i < each; ++i) {
        Must(sinks_[worker]->Push(gradient_, {}, StopToken()));
      }
      Must(sinks_[worker]->Flush(absl::Minutes(1), StopToken()));
      WAGGLE_CHECK(sinks_[worker]->counts().Refused() == 0, sinks_[worker]->counts().last_refusal);
    });
  }

 private:
  const std::shared_ptr<const float> gradient_;
  Metrics metrics_;
  SettledGradients settled_;
  std::unique_ptr<SteppedParameters> parameters_;
  std::unique_ptr<GradientPrimary> primary_;
  GradientRunner runner_;
  std::unique_ptr<GradientService> service_;
  std::unique_ptr<RpcServer> server_;
  std::vector<std::unique_ptr<GradientTaker>> links_;
  std::vector<std::unique_ptr<GradientSink>> sinks_;
};

// Answers each gradient at its last byte, without reading it.
class Counting final : public v1::GradientService::WithRawCallbackMethod_Push<v1::GradientService::Service> {
 public:
  class Handler final : public StreamHandler<Message<Request>, Message<Response>> {
   public:
    void OnOpen(std::shared_ptr<StreamPeer<Message<Response>>> peer) override { peer_ = std::move(peer); }
    void OnMessage(Message<Request> message) override {
      if (message.header.has_header()) {
        left_ = message.header.header().total_bytes();
      }
      left_ -= message.data.size();
      if (left_ == 0) {
        peer_->Send({});
      }
      peer_->RequestNext();
    }
    void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

   private:
    std::shared_ptr<StreamPeer<Message<Response>>> peer_;
    size_t left_ = 0;
  };

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context) override {
    return new BidiReactor<Request, Response>(context, std::make_unique<Handler>());
  }
};

class RawSlices {
 public:
  RawSlices(int64_t elements, int workers)
      : bytes_(static_cast<size_t>(elements) * sizeof(float)),
        gradient_(Ones(elements)),
        server_(Must(RpcServer::Start("127.0.0.1:0", {&service_}))) {
    for (int i = 0; i < workers; ++i) {
      streams_.push_back(std::make_unique<BlockingStream>(NewChannel(server_->address(), absl::StrCat("raw", i)),
                                                          "/waggle.v1.GradientService/Push", absl::Minutes(1),
                                                          StopToken()));
    }
  }

  void Push(int64_t each) {
    InEach(static_cast<int>(streams_.size()), [this, each](size_t worker) {
      BlockingStream* const stream = streams_[worker].get();
      grpc::ByteBuffer answer;
      for (int64_t i = 0; i < each + kWindow; ++i) {
        WAGGLE_CHECK(i < kWindow || stream->Read(&answer), "an answer comes");
        if (i < each) {
          PushOne(stream);
        }
      }
    });
  }

 private:
  void PushOne(BlockingStream* stream) {
    Message<Request> message;
    message.header.mutable_header()->set_total_bytes(bytes_);
    for (size_t sent = 0; sent < bytes_;) {
      const size_t size = std::min(bytes_ - sent, static_cast<size_t>(kPieceBytes));
      message.data = ByteSlices({reinterpret_cast<const char*>(gradient_.get()) + sent, size, gradient_});
      WAGGLE_CHECK(stream->Write(EncodeMessage(message)), "a piece is taken");
      message.header.clear_header();
      sent += size;
    }
  }

  const size_t bytes_;
  const std::shared_ptr<const float> gradient_;
  Counting service_;
  const std::unique_ptr<RpcServer> server_;
  std::vector<std::unique_ptr<BlockingStream>> streams_;
};

struct Load {
  int64_t elements = 0;
  int workers = 1;
  int64_t each = 1;  // Gradients of a worker in one round.
};

Result BesideLimit(const Load& load, const std::function<void()>& limit, const std::string& limit_name) {
  Pushing pushing(load.elements, load.workers);
  pushing.Push(load.each);
  limit();
  const TimingBesideLimit timing = TimeBesideLimit([&] { pushing.Push(load.each); }, limit);
  const auto count = static_cast<double>(load.each * load.workers);
  return Rate(timing.call, count, "gradients/s", count / absl::ToDoubleSeconds(timing.limit.best), limit_name);
}

Result BesideGrpc(const Load& load) {
  RawSlices raw(load.elements, load.workers);
  return BesideLimit(
      load, [&] { raw.Push(load.each); }, "raw slices over gRPC");
}

Result BesideCopyAndAdd(const Load& load) {
  const std::shared_ptr<const float> gradient = Ones(load.elements);
  std::vector<float> copy(static_cast<size_t>(load.elements));
  std::vector<float> sum(static_cast<size_t>(load.elements));
  const auto limit = [&] {
    for (int64_t i = 0; i < load.each * load.workers; ++i) {
      std::memcpy(copy.data(), gradient.get(), copy.size() * sizeof(float));
      AddScaled(copy.data(), 1, sum.data(), load.elements);
    }
  };
  return BesideLimit(load, limit, "copy and add");
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  using waggle::bench::Case;
  using waggle::bench::Load;
  std::vector<Case> cases;
  struct Size {
    const char* name;
    int64_t elements;
    int64_t gradients;  // All workers', in one round.
  };
  for (const Size& size : {Size{"10kB", 2'500, 1'600}, Size{"1MB", 250'000, 160}, Size{"10MB", 2'500'000, 32}}) {
    for (const int workers : {1, 2, 8}) {
      const Load load{size.elements, workers, size.gradients / workers};
      const std::string name = absl::StrCat("gradient_push_", size.name, "_", workers, "_workers");
      cases.push_back({name, [load] { return waggle::bench::BesideGrpc(load); }});
      cases.push_back({absl::StrCat(name, "_copy_add"), [load] { return waggle::bench::BesideCopyAndAdd(load); }});
    }
  }
  waggle::KeepFreedMemory();  // As every executable does.
  return waggle::bench::RunCases(argc, argv, cases);
}
