#pragma once

#include <unordered_map>

#include "absl/hash/hash.h"

namespace waggle {

// A hash map that is as it was before where memory runs out while something is put in. absl::flat_hash_map is not:
// where it cannot grow it takes itself for larger than it is, and the next look into it reads what is not there. Its
// elements stay where they are. The hash is seeded: no peer can choose keys that all fall into one place.
//
// Values are to be made in place and then filled (`map[key] = …`, `try_emplace(key)`): of one that is moved in, nothing
// is left where there is no memory for it.
template <class Key, class Value>
using HashMap = std::unordered_map<Key, Value, absl::Hash<Key>>;

}  // namespace waggle
