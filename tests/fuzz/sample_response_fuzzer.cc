// The messages of a server, real or forged, to a sampler.
#include "common/replay/batch_assembler.h"
#include "common/replay/replay_convert.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto layout = std::make_shared<const BatchLayout>(*MakeBatchLayout(fuzz::Table(0), 4, 1 << 20));
  BufferPool pool(layout->total_bytes, 2);
  BatchAssembler assembler([&layout](uint32_t /*items*/) { return layout; }, &pool);
  while (!input.empty()) {
    Message<v1::SampleResponse> message;
    if (!DecodeMessage(input.NextMessage(), kMaxHeaderBytes, &message.header, &message.data).ok()) {
      continue;
    }
    if (message.header.has_opened()) {
      CheckSameLayout(message.header.opened(), *layout).IgnoreError();
    }
    if (!assembler.Add(message.header, message.data).ok()) {
      break;
    }
  }
  return 0;
}

}  // namespace waggle
