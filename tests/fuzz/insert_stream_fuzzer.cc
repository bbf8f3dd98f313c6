// A writer's messages to a replay server: an Insert stream, to tables of every kind.
#include "replay_server/service/insert_stream.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  static Executor executor("fuzz", 1, 1000);
  const auto peer = std::make_shared<fuzz::SinkPeer<Message<v1::InsertResponse>>>();
  InsertStreamOptions options;
  options.max_inline_bytes = 1 << 30;
  InsertStream stream(&store, &executor, options);
  stream.OnOpen(peer);
  const uint8_t table = input.Byte();
  if (table < fuzz::kTables) {  // Otherwise the input opens the stream itself.
    stream.OnMessage(fuzz::OpenInsert(table));
  }
  fuzz::Feed<v1::InsertRequest>(&input, *peer, &stream);
  fuzz::SampleAll(&store);
  return 0;
}

}  // namespace waggle
