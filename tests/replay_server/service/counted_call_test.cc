#include "replay_server/service/counted_call.h"

#include <grpcpp/test/default_reactor_test_peer.h>

#include <map>
#include <memory>
#include <string>

#include "common/net/server.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/service/replay_service.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

// The other ends of calls are in refused_requests_test.cc.

// The refusals of a service, by reason.
std::map<std::string, uint64_t> Refusals(ReplayService* service) {
  grpc::CallbackServerContext context;
  grpc::testing::DefaultReactorTestPeer peer(&context);
  grpc::ByteBuffer response;
  const grpc::ByteBuffer request = EncodeMessage(v1::DescribeRequest(), ByteSlices());
  service->Describe(&context, &request, &response);
  v1::DescribeResponse described;
  REQUIRE_OK(DecodeRequest(response, 1 << 20, &described));
  return {described.refusals().begin(), described.refusals().end()};
}

// Parts of HTTP/2, by hand.
std::string BigEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text.push_back(static_cast<char>(number >> (8 * i)));
  }
  return text;
}
std::string Frame(int type, int flags, const std::string& payload, int stream = 1) {
  return BigEndian(payload.size(), 3) + BigEndian(static_cast<uint64_t>(type), 1) +
         BigEndian(static_cast<uint64_t>(flags), 1) + BigEndian(static_cast<uint64_t>(stream), 4) + payload;
}
constexpr int kEndStream = 1;
std::string Data(const std::string& payload, int flags = 0) {
  return Frame(0, flags, payload);
}
std::string Headers(const std::string& method, int flags = 0) {
  std::string block;
  for (const auto& [name, value] : std::map<std::string, std::string>{{":method", "POST"},
                                                                      {":scheme", "http"},
                                                                      {":path", "/waggle.v1.ReplayService/" + method},
                                                                      {":authority", "test"},
                                                                      {"content-type", "application/grpc"},
                                                                      {"te", "trailers"}}) {
    block += std::string(1, '\0') + BigEndian(name.size(), 1) + name + BigEndian(value.size(), 1) + value;
  }
  return Frame(1, 4 | flags, block);
}
std::string Reset() {
  return Frame(3, 0, BigEndian(8, 4));  // CANCEL.
}

TEST_CASE("A call that is given up before its request has arrived is not counted; one that ends without a request is",
          "[grpc]") {
  const std::string method = GENERATE("CreateTable", "Reconfigure", "UpdatePriorities", "Delete", "Clear", "Export",
                                      "Describe", "Explain", "Inspect", "Checkpoint");
  CAPTURE(method);
  // The first bytes of a message of 1000 bytes.
  const std::string cut_off = std::string(1, '\0') + BigEndian(1000, 4) + std::string(10, 'a');
  struct Case {
    const char* what;
    std::string bytes;  // The connection is closed after them.
    bool counted;
  };
  const Case cases[] = {
      {"given up with nothing sent", Headers(method) + Reset(), false},
      {"given up within the message", Headers(method) + Data(cut_off) + Reset(), false},
      {"gone within the message", Headers(method) + Data(cut_off), false},
      {"ended without a message", Headers(method, kEndStream), true},
      {"ended within the message", Headers(method) + Data(cut_off, kEndStream), true},
      {"bytes that are not a message",
       Headers(method) + Data(std::string(1, '\0') + BigEndian(1, 4) + "\xff", kEndStream), true},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    ReplayStore store{ReplayStoreOptions()};
    auto executor = std::make_unique<Executor>("test", 1, 100);
    ReplayService service(&store, nullptr, executor.get(), executor.get(), ReplayServiceOptions());
    const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
    auto socket = std::make_unique<testing::TcpSocket>(server->address());
    REQUIRE(socket->connected());
    // The answer to a PING shows that the server has read all bytes before it.
    const std::string ping(8, 'p');
    socket->Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, "", 0) + one.bytes + Frame(6, 0, ping, 0));
    REQUIRE(socket->AwaitBytes(Frame(6, 1, ping, 0)));
    if (one.counted) {
      REQUIRE(socket->AwaitBytes("grpc-status"));
    }
    socket = nullptr;
    server->Shutdown(absl::Seconds(30));
    executor = nullptr;
    const std::map<std::string, uint64_t> once = {{"malformed_message", 1}};
    CHECK(Refusals(&service) == (one.counted ? once : std::map<std::string, uint64_t>()));
  }
}

}  // namespace
}  // namespace waggle
