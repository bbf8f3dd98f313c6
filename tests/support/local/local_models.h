#pragma once

#include <memory>
#include <string>

#include "common/hub/ports/model.h"
#include "param_server/models/model_store.h"

namespace waggle {

// The model ports in process, on a store that outlives them, without copies.
std::unique_ptr<ModelPublisher> NewLocalModelPublisher(ModelStore* store);
std::unique_ptr<ModelSubscriber> NewLocalModelSubscriber(ModelStore* store, const std::string& model);

}  // namespace waggle
