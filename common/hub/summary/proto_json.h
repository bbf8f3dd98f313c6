#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace waggle {

// A message as JSON by its fields' names, without those in `left_out`, which must name all maps and bytes. Absent
// fields are null. Unlike MessageToJsonString, it writes 64-bit integers as numbers, and fields with default values.
nlohmann::ordered_json ProtoJson(const google::protobuf::Message& message, const std::set<std::string>& left_out = {});

// "deadlock" for VERDICT_DEADLOCK; "unknown" for an unknown number.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

}  // namespace waggle
