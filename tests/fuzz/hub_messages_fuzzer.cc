// The messages between a hub, its workers and publishers of weights.
#include "common/hub/hub_convert.h"
#include "param_server/models/model_upload.h"
#include "tests/fuzz/fuzz_input.h"
#include "waggle/v1/model.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {
namespace {

template <class Proto>
void Convert(const grpc::ByteBuffer& bytes) {
  Proto proto;
  ByteSlices data;
  if (DecodeMessage(bytes, kMaxHeaderBytes, &proto, &data).ok()) {
    FromProto(proto).status().IgnoreError();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  switch (input.Byte() % 3) {
    case 0:
      Convert<v1::EnvironmentSpec>(input.Rest());
      break;
    case 1:
      Convert<v1::Assignment>(input.Rest());
      break;
    default: {
      v1::ModelHeader header;
      ByteSlices ignored;
      if (DecodeMessage(input.NextMessage(), kMaxHeaderBytes, &header, &ignored).ok()) {
        if (const absl::StatusOr<ModelSnapshot> snapshot = FromProto(header); snapshot.ok()) {
          ValidateModel(*snapshot, header.total_bytes()).IgnoreError();
        }
      }
    }
  }
  return 0;
}

}  // namespace waggle
