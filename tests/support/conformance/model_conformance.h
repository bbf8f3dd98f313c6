#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/hub/ports/model.h"

// Checks of every form of the model ports.

namespace waggle::testing {

// One store, and new ports to it.
struct ModelPorts {
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& model)> new_subscriber;
};

// Runs all checks, each on ports of its own store, which `new_ports` makes and keeps alive until it is called again.
void CheckModelConformance(const std::function<ModelPorts()>& new_ports);

// A version whose bytes follow from `version`: a float32 [rows, 4] and an int64 scalar.
ModelSnapshot MakeModel(const std::string& model, ModelVersion version, int64_t rows = 3);

std::string BytesOf(const ByteSlices& data);

// Shares a copy of `bytes`.
ByteSlices SlicesOf(const std::string& bytes);

}  // namespace waggle::testing
