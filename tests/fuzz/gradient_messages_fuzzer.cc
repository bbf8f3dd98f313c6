// The messages between workers, reducers and a primary, and a primary's checkpoint of them.
#include <string>

#include "common/base/check.h"
#include "common/hub/gradients/gradient_convert.h"
#include "param_server/gradients/settled_gradients.h"
#include "tests/fuzz/fuzz_input.h"
#include "waggle/v1/gradient.pb.h"

namespace waggle {
namespace {

void ReadHeader(const grpc::ByteBuffer& bytes) {
  v1::GradientHeader header;
  ByteSlices ignored;
  if (!DecodeMessage(bytes, kMaxHeaderBytes, &header, &ignored).ok()) {
    return;
  }
  const absl::StatusOr<GradientPush> push = FromProto(header);
  if (!push.ok()) {
    return;
  }
  WAGGLE_CHECK(ToProto(*push).total_bytes() == header.total_bytes(), "a header that was read is written the same");
  SettledGradients settled;
  for (const GradientMember& member : push->members) {
    if (settled.Hear(member).ok() && !settled.Find(member).has_value()) {
      settled.Settle(member, {});
    }
  }
  const absl::StatusOr<SettledGradients> again = SettledGradients::FromText(settled.ToText());
  WAGGLE_CHECK(again.ok() && again->ToText() == settled.ToText(), "what was settled comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  switch (input.Byte() % 3) {
    case 0:
      ReadHeader(input.Rest());
      break;
    case 1: {
      const size_t members = input.Byte();
      v1::PushGradientResponse response;
      ByteSlices ignored;
      if (DecodeMessage(input.Rest(), kMaxHeaderBytes, &response, &ignored).ok()) {
        FromProto(response, members).status().IgnoreError();
      }
      break;
    }
    default:
      SettledGradients::FromText({reinterpret_cast<const char*>(data), size}).status().IgnoreError();
  }
  return 0;
}

}  // namespace waggle
