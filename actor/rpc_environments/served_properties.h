#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actor/rpc_environments/protocol.h"

namespace waggle {

// A value that a server tells on request; it cannot be written.
struct ServedProperty {
  std::string key;
  std::string description;
  dm::DataType type = dm::STRING;
  dm::Tensor value;
};

// Answers a request of the protocol's extension `properties`: to read one, or to list all. UNIMPLEMENTED for another
// extension, NOT_FOUND for a key that is none, PERMISSION_DENIED for a write.
absl::Status AnswerProperty(const google::protobuf::Any& request, const std::vector<ServedProperty>& properties,
                            google::protobuf::Any* response);

}  // namespace waggle
