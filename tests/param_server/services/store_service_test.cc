#include "param_server/services/store_service.h"

#include "common/base/threads/thread.h"
#include "tests/param_server/group_store_server.h"

namespace waggle {
namespace {

using Values = std::vector<std::string>;

TEST_CASE("a client reads any bytes of another one, and waits for keys", "[grpc]") {
  testing::GroupStoreServer server;
  const std::unique_ptr<KeyStore> writer = server.Client();
  const std::unique_ptr<KeyStore> reader = server.Client();
  const std::string bytes("\0\xff\n", 3);
  REQUIRE_OK(writer->Set("a", bytes, StopToken()));
  CHECK(testing::ValueOf(reader->Get({"a"}, false, StopToken())) == Values{bytes});
  CHECK(reader->Get({"a", "b"}, false, StopToken()).status().code() == absl::StatusCode::kNotFound);
  absl::StatusOr<Values> waited;
  {
    const Thread waits("waits", [&] { waited = reader->Get({"b", "a"}, true, StopToken()); });
    CHECK(testing::ValueOf(writer->Add("b", 4, StopToken())) == 4);
  }
  CHECK(testing::ValueOf(waited) == Values{"4", bytes});
  CHECK(testing::ValueOf(writer->Delete("a", StopToken())));
  CHECK_FALSE(testing::ValueOf(reader->Delete("a", StopToken())));
}

TEST_CASE("a wait ends with the client's stop, with the next group, and with the server", "[grpc]") {
  testing::GroupStoreServer server;
  const std::unique_ptr<KeyStore> store = server.Client();
  const StopToken stop;
  absl::Status stopped, later;
  {
    const Thread waits("waits", [&] { stopped = store->Get({"x"}, true, stop).status(); });
    stop.RequestStop();
  }
  CHECK(stopped.code() == absl::StatusCode::kCancelled);
  {
    const Thread waits("waits", [&] { later = store->Get({"x"}, true, StopToken()).status(); });
    server.store.Begin(server.epoch + 1);
  }
  CHECK(later.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(store->Set("x", "", StopToken()).code() == absl::StatusCode::kFailedPrecondition);
  server.server.reset();
  CHECK(store->Set("x", "", StopToken()).code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace waggle
