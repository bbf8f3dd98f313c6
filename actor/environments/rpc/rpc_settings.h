#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actor/environments/rpc/protocol.h"

namespace waggle {

// Settings of the protocol, by name.
using RpcSettings = google::protobuf::Map<std::string, dm::Tensor>;

// Converts a JSON mapping. Whole numbers become INT64, others DOUBLE, true and false BOOL, text STRING. Lists of equal
// lengths and one type become tensors. The keys of nested mappings are joined by dots. INVALID_ARGUMENT, beginning with
// the key's path below `path`, for any other value.
absl::StatusOr<RpcSettings> SettingsFromJson(const std::string& json, const std::string& path);

// Converts settings to a JSON mapping. INVALID_ARGUMENT, beginning with the setting's name, if a tensor is malformed,
// empty or too large for a setting.
absl::StatusOr<std::string> SettingsToJson(const RpcSettings& settings);

// Removes the scalar integer `name` from the settings; nullopt if it is missing. INVALID_ARGUMENT if the tensor is not
// a scalar integer in [least, most].
absl::StatusOr<std::optional<int64_t>> TakeInteger(const char* name, int64_t least, int64_t most,
                                                   RpcSettings* settings);

}  // namespace waggle
