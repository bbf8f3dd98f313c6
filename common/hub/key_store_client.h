#pragma once

#include <cstdint>
#include <memory>

#include "common/hub/ports/hub.h"
#include "common/hub/ports/key_store.h"

namespace waggle {

// The parameter server's map for the group of this epoch. Connects at the first call.
std::unique_ptr<KeyStore> NewGrpcKeyStore(const RunAddress& run, uint64_t epoch);

}  // namespace waggle
