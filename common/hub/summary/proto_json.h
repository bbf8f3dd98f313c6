#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace waggle {

// A message as JSON, by its fields' names, except those in `left_out`. The others must be no maps and no bytes. Absent
// fields are null. Numbers are numbers and defaults are there, unlike in MessageToJsonString.
nlohmann::ordered_json ProtoJson(const google::protobuf::Message& message, const std::set<std::string>& left_out = {});

// "deadlock" for VERDICT_DEADLOCK; "unknown" for a number without a name.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

}  // namespace waggle
