#include "replay_server/service/export_source.h"

#include <memory>
#include <vector>

#include "common/base/threads/executor.h"
#include "common/base/threads/stop_token.h"
#include "common/net/raw_codec.h"
#include "common/replay/replay_convert.h"
#include "replay_server/store/replay_store.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

// Asks again and again.
std::vector<Message<v1::ExportResponse>> ReadAll(ExportSource* source) {
  std::vector<Message<v1::ExportResponse>> messages;
  source->OnOpen([] {});
  for (int asked = 0;; ++asked) {
    const WriteSource::Step step = source->Next();
    if (step.end.has_value()) {
      REQUIRE_OK(*step.end);
      return messages;
    }
    if (step.message.has_value()) {
      messages.emplace_back();
      REQUIRE_OK(DecodeMessage(*step.message, kMaxHeaderBytes, &messages.back().header, &messages.back().data));
      continue;
    }
    StopToken().WaitFor(absl::Milliseconds(1));
    REQUIRE(asked < 30'000);
  }
}

TEST_CASE("A table is sent as a header and the blocks of its items", "[unit]") {
  ReplayStore store{ReplayStoreOptions()};
  Executor executor("test", 1, 10);
  const TableConfig config = SimpleTable("t", 5000);
  REQUIRE_OK(store.CreateTable(config));
  const auto session = ValueOf(store.OpenWriter("w", {"t"}, config.signature));
  for (uint64_t i = 0; i < 3; ++i) {
    session->Insert(i + 1, SimpleBlock(i * 100, 100, 5000),
                    [](const absl::StatusOr<WriterSession::Result>& result) { REQUIRE_OK(result.status()); });
  }
  ExportSource source(ValueOf(store.FindTable("t")), &executor);
  const std::vector<Message<v1::ExportResponse>> messages = ReadAll(&source);
  REQUIRE(messages.size() > 3);
  CHECK(messages[0].header.header().items() == 300);
  CHECK(messages[0].header.header().config().name() == "t");
  int items = 0;
  for (size_t i = 1; i < messages.size(); ++i) {
    CHECK(messages[i].header.block().sequence() == i);
    items += messages[i].header.block().item_stream_size();
  }
  CHECK(items == 300);
}

TEST_CASE("A reader that disconnects leaves no task behind", "[unit]") {
  ReplayStore store{ReplayStoreOptions()};
  Executor executor("test", 1, 10);
  REQUIRE_OK(store.CreateTable(SimpleTable("t")));
  {
    ExportSource source(ValueOf(store.FindTable("t")), &executor);
    source.OnOpen([] {});
    source.Next();
  }
  const StopToken drained;
  REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
  REQUIRE(drained.WaitFor(absl::Seconds(10)));
}

}  // namespace
}  // namespace waggle
