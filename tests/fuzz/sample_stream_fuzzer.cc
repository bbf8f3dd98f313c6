// A sampler's messages to a replay server: a Sample stream.
#include "replay_server/service/sample_stream.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  static Executor executor("fuzz", 1, 1000);
  const auto budget = std::make_shared<MemoryAccount>(int64_t{1} << 24);
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  for (uint8_t table = 0; table < fuzz::kTables; ++table) {
    fuzz::InsertSome(&store, table);
  }
  const auto memory = std::make_shared<BatchMemory>(1 << 20, 1 << 20);
  const auto readers = std::make_shared<SampleReaders>(SampleReadersOptions());
  const auto peer = std::make_shared<fuzz::SinkPeer<Message<v1::SampleResponse>>>();
  SampleStreamOptions options;
  options.max_batch_bytes = 1 << 20;
  options.max_batch_items = 64;
  options.max_credits = 16;
  options.max_inline_bytes = 1 << 30;
  {
    SampleStream stream(&store, {&executor, &executor, budget, memory, readers}, options);
    stream.OnOpen(peer);
    fuzz::Feed<v1::SampleRequest>(&input, *peer, &stream);
  }
  budget->Close();
  return 0;
}

}  // namespace waggle
