#include "replay_server/table/table_client.h"

#include "absl/strings/str_cat.h"
#include "common/base/steady_now.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Kind = TableClient::Kind;

TEST_CASE("A client that comes back keeps its counts", "[unit]") {
  TableClients clients;
  std::shared_ptr<TableClient> first = clients.Add(Kind::kWriter, "w");
  first->Count(3, 1);
  first->Count(4, 2);
  const auto beside = clients.Add(Kind::kWriter, "w");  // Has the same name, while the first is connected.
  const auto other = clients.Add(Kind::kSampler, "w");
  CHECK(beside != first);
  CHECK(other != first);
  TableClient* const before = first.get();
  first.reset();
  first = clients.Add(Kind::kWriter, "w");
  CHECK(first.get() == before);
  CHECK(first->items() == 7);
  CHECK(first->last_counted() == absl::Nanoseconds(2));
  CHECK(clients.all().size() == 3);
}

TEST_CASE("A client is present while it has a connection", "[unit]") {
  TableClients clients;
  const auto client = clients.Add(Kind::kSampler, "s");
  CHECK_FALSE(client->present());
  CHECK(client->left() == -absl::InfiniteDuration());
  CHECK(client->last_counted() == -absl::InfiniteDuration());
  {
    const TableClient::Connection one({client});
    TableClient::Connection two({client});
    CHECK(client->present());
    two = TableClient::Connection();
    CHECK(client->present());
  }
  CHECK_FALSE(client->present());
  CHECK(client->left() <= SteadyElapsed());
  CHECK(client->left() > absl::ZeroDuration());
}

TEST_CASE("Only some former clients are remembered, and no present client is forgotten", "[unit]") {
  TableClients clients;
  const auto here = clients.Add(Kind::kWriter, "here");
  for (size_t i = 0; i < 3 * TableClients::kMaxGone; ++i) {
    const TableClient::Connection connection({clients.Add(Kind::kSampler, absl::StrCat("s", i))});
  }
  const auto all = clients.all();
  CHECK(all.size() == TableClients::kMaxGone + 1);
  CHECK(all.front() == here);
}

TEST_CASE("A sample request lasts from its first note until a note of 0 items", "[unit]") {
  TableClient client(Kind::kSampler, "learner");
  CHECK(client.requested_items() == 0);
  client.NoteSampleRequest(8, 100);
  client.NoteSampleRequest(9, 200);
  CHECK(client.requested_items() == 9);
  CHECK(client.requested_since() == absl::Nanoseconds(100));
  client.NoteSampleRequest(0, 300);
  CHECK(client.requested_items() == 0);
  client.NoteSampleRequest(8, 400);
  CHECK(client.requested_since() == absl::Nanoseconds(400));
}

}  // namespace
}  // namespace waggle
