#include "learner/inference/inference_service.h"

#include <memory>
#include <string>

#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/server.h"
#include "tests/learner/inference/counting_policy.h"
#include "tests/support/catch.h"

// The answers to an actor that keeps to the protocol are tested with the actor's side (tests/common/hub/inference).

namespace waggle {
namespace {

using testing::CountingBatcher;
using testing::ValueOf;

constexpr uint64_t kHash = 0x1234;

class Service {
 public:
  Service() : server_(ValueOf(RpcServer::Start("127.0.0.1:0", {&service_}))) {
    counting_.batcher->SetWeights(testing::Weights(1));
    service_.SetBatcher(counting_.batcher, kHash);
  }
  ~Service() { service_.SetBatcher(nullptr, 0); }

  // The end of a stream that sends these messages and gets `answers` answers.
  absl::Status EndOf(const std::vector<grpc::ByteBuffer>& messages, int answers = 0) const {
    BlockingStream stream(NewChannel(server_->address(), "test"), "/waggle.v1.InferenceService/Act", absl::Minutes(1),
                          StopToken());
    for (const grpc::ByteBuffer& message : messages) {
      stream.Write(message);
    }
    grpc::ByteBuffer answer;
    for (int i = 0; i < answers; ++i) {
      REQUIRE(stream.Read(&answer));
    }
    CHECK_FALSE(stream.Read(&answer));
    return stream.Finish();
  }

 private:
  InferenceService service_;
  const std::unique_ptr<RpcServer> server_;
  CountingBatcher counting_;
};

grpc::ByteBuffer Open(uint32_t index = 0) {
  v1::ActRequest request;
  request.mutable_open()->set_index(index);
  request.mutable_open()->set_lanes(2);
  request.mutable_open()->set_network_hash(kHash);
  request.mutable_open()->set_request_row_bytes(9);
  request.mutable_open()->set_response_row_bytes(16);
  return EncodeMessage(request, ByteSlices());
}

// A request for these lanes, with `bytes` bytes.
grpc::ByteBuffer Ask(const std::vector<uint32_t>& lanes, size_t bytes) {
  v1::ActRequest request;
  request.mutable_lanes()->Assign(lanes.begin(), lanes.end());
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  std::fill_n(data.get(), bytes, '\0');
  return EncodeMessage(request, ByteSlices(ByteSlice{data.get(), bytes, data}));
}

TEST_CASE("a stream that breaks the protocol ends with the reason, and other streams go on", "[grpc]") {
  const Service service;
  CHECK(absl::IsInvalidArgument(service.EndOf({Ask({0}, 9)})));          // It is not open.
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Open()})));       // It is open already.
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({0}, 8)})));  // A byte is missing.
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({2}, 9)})));
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({1, 1}, 18)})));
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({4'294'967'295U}, 9)})));
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({}, 0)})));
  CHECK(absl::IsResourceExhausted(service.EndOf({Open(4'294'967'295U)})));
  const grpc::Slice garbage(std::string("\xff\xff\xff\xff no message"));
  CHECK(absl::IsInvalidArgument(service.EndOf({grpc::ByteBuffer(&garbage, 1)})));
  CHECK(absl::IsInvalidArgument(service.EndOf({Open(), Ask({0}, 9), Ask({0}, 1)}, /*answers=*/1)));
}

}  // namespace
}  // namespace waggle
