#pragma once

#include "common/base/tensor/byte_slices.h"

namespace waggle {

// A protobuf message whose field `bytes data = 15` travels without a copy. `header` has all other fields, and no
// `data`.
template <class Header>
struct Message {
  Header header;
  ByteSlices data;
};

}  // namespace waggle
