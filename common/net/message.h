#pragma once

#include "common/base/tensor/byte_slices.h"

namespace waggle {

// A protobuf message whose bulk bytes, its field `bytes data = 15`, travel beside it without being copied. `header`
// holds every other field; its own `data` stays empty.
template <class Header>
struct Message {
  Header header;
  ByteSlices data;
};

}  // namespace waggle
