#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actor/rpc_environments/protocol.h"

namespace waggle {

// Settings of the protocol, by name.
using RpcSettings = google::protobuf::Map<std::string, dm::Tensor>;

// From a mapping, as JSON: whole numbers become INT64, others DOUBLE, true and false BOOL, text STRING; lists of equal
// lengths and one type become tensors, and the keys of a mapping in a mapping are joined by dots. INVALID_ARGUMENT,
// beginning with the key's path below `path`, for what is none of these.
absl::StatusOr<RpcSettings> SettingsFromJson(const std::string& json, const std::string& path);

// A mapping, as JSON, of settings. INVALID_ARGUMENT, beginning with the setting's name, for a tensor that is malformed,
// has no elements, or has more than a setting has any business with.
absl::StatusOr<std::string> SettingsToJson(const RpcSettings& settings);

// Takes the scalar integer of this name out of the settings; none if it is not there. INVALID_ARGUMENT for a tensor
// that is none, or is not within [least, most].
absl::StatusOr<std::optional<int64_t>> TakeInteger(const char* name, int64_t least, int64_t most,
                                                   RpcSettings* settings);

}  // namespace waggle
