#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actor/environments/rpc/protocol.h"

namespace waggle {

// A read-only value that a server returns on request.
struct ServedProperty {
  std::string key;
  std::string description;
  dm::DataType type = dm::STRING;
  dm::Tensor value;
};

// Answers a request of the protocol's extension `properties`: to read one, or to list all. UNIMPLEMENTED for another
// extension, NOT_FOUND for an unknown key, PERMISSION_DENIED for a write.
absl::Status AnswerProperty(const google::protobuf::Any& request, const std::vector<ServedProperty>& properties,
                            google::protobuf::Any* response);

}  // namespace waggle
