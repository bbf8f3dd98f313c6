#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "waggle/v1/worker.pb.h"

namespace waggle {

// A run's result for programs and users. Pure functions.

// Null without a result.
nlohmann::ordered_json ResultJson(const std::optional<v1::Result>& result);

// "best: mean return 487.2, standard error 3.1, over 20 episodes, confirmed; weights of …".
std::string ResultText(const v1::Result& result);

}  // namespace waggle
