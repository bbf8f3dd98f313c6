#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/api/key_store.h"

namespace waggle {

// The map of the group of this epoch, at the parameter server at `address` (HOST:PORT). Connects when first used.
std::unique_ptr<KeyStore> NewGrpcKeyStore(const std::string& address, uint64_t epoch);

}  // namespace waggle
