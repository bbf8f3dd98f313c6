#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "tests/support/catch.h"

namespace waggle::testing {

// The message with this text in the format of protocol buffers.
template <class Message>
Message FromText(const std::string& text) {
  Message message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

}  // namespace waggle::testing
