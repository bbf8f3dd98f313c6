#include "replay_server/table/waiting_inserts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr int64_t kTurn = WaitingInserts::kTurnItems;

// Inserts of empty items. Writers have names of one letter.
struct Queue {
  void Push(char writer, int64_t items) {
    WaitingInsert insert;
    insert.items.resize(static_cast<size_t>(items));
    insert.client = MakeClient(writer);
    waiting.Push(std::move(insert));
  }
  TableClient* MakeClient(char writer) {
    return clients
        .try_emplace(writer, std::make_shared<TableClient>(TableClient::Kind::kWriter, std::string(1, writer)))
        .first->second.get();
  }
  // Lets in up to `items` items, and returns their writers: "a5 b3".
  std::string Serve(int64_t items) {
    std::string said;
    while (items > 0 && !waiting.empty()) {
      WaitingInsert& insert = waiting.front();
      const auto left = static_cast<int64_t>(insert.items.size() - insert.next);
      const int64_t count = std::min({items, waiting.turn_left(), left});
      said += (said.empty() ? "" : " ") + insert.client->name() + std::to_string(count);
      insert.next += static_cast<size_t>(count);
      items -= count;
      waiting.GoneIn(count);
    }
    return said;
  }

  std::map<char, std::shared_ptr<TableClient>> clients;
  WaitingInserts waiting;
};

TEST_CASE("Writers take turns, however large their blocks are", "[unit]") {
  Queue queue;
  queue.Push('a', 3 * kTurn);
  queue.Push('a', 1);
  for (int i = 0; i < 3; ++i) {
    queue.Push('b', 1);
  }
  const std::string turn = std::to_string(kTurn);
  CHECK(queue.waiting.size() == 5);
  CHECK(queue.Serve(4 * kTurn) == "a" + turn + " b1 b1 b1 a" + turn + " a" + turn + " a1");
  CHECK(queue.waiting.empty());
}

TEST_CASE("An interrupted turn goes on", "[unit]") {
  Queue queue;
  queue.Push('a', 2 * kTurn);
  queue.Push('b', 2 * kTurn);
  CHECK(queue.Serve(kTurn - 1) == "a" + std::to_string(kTurn - 1));
  CHECK(queue.waiting.turn_left() == 1);
  CHECK(queue.Serve(3) == "a1 b2");
  CHECK(queue.Serve(1) == "b1");
}

TEST_CASE("A writer without items left begins again behind the others", "[unit]") {
  Queue queue;
  queue.Push('a', 1);
  queue.Push('b', 1);
  CHECK(queue.Serve(1) == "a1");
  queue.Push('a', 1);
  CHECK(queue.Serve(2) == "b1 a1");
}

TEST_CASE("First lists waiting inserts by turns, and TakeAll takes them by writer", "[unit]") {
  Queue queue;
  queue.Push('a', 10);
  queue.Push('a', 11);
  queue.Push('b', 20);
  queue.Push('c', 30);
  queue.Push('b', 21);
  std::vector<size_t> sizes;
  for (const WaitingInsert* insert : queue.waiting.First(4)) {
    sizes.push_back(insert->items.size());
  }
  CHECK(sizes == std::vector<size_t>{10, 20, 30, 11});
  CHECK(queue.waiting.First(100).size() == 5);
  sizes.clear();
  for (const WaitingInsert& insert : queue.waiting.TakeAll()) {
    sizes.push_back(insert.items.size());
  }
  CHECK(sizes == std::vector<size_t>{10, 11, 20, 21, 30});
  CHECK(queue.waiting.empty());
  CHECK(queue.waiting.First(1).empty());
}

}  // namespace
}  // namespace waggle
