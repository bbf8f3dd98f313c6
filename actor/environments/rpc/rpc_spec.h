#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/rpc/protocol.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

struct RpcSpecOptions {
  std::string environment_name;
  std::vector<std::string> observations;  // The requested ones, by the server's names; empty: all.
  int64_t lanes = 1;                      // Lanes of the stream.
  bool batched = false;                   // True if every tensor has the lanes' dimension in front.
};

// A tensor of the protocol that maps to an array.
struct RpcLeaf {
  std::string name;  // The server's.
  uint64_t uid = 0;
  dm::DataType type = dm::INVALID_DATA_TYPE;
  std::vector<int64_t> shape;  // With the lanes' dimension, if there is one.
  // The server's numbers for the first choice: empty if it is 0, one for all elements, or one for each element of a
  // lane.
  std::vector<int64_t> starts;
};

// An environment as a server describes it.
struct RpcSpec {
  EnvironmentSpec environment;
  std::vector<RpcLeaf> observations;  // One for each of environment.observations, in their order.
  std::vector<RpcLeaf> actions;
  std::vector<std::optional<RpcLeaf>> rewards;  // One for each of environment.rewards; absent if the server has none.
  std::optional<RpcLeaf> discount;              // A scalar; absent: it follows from the state.
  std::optional<RpcLeaf> step_type;             // Present if batched.
  int64_t answer_bytes = 0;                     // The largest answer to a step.
  std::vector<std::string> notes;               // The conversions, in words.

  // All observations to request.
  std::vector<const RpcLeaf*> Requested() const;
  // True if it equals `other`, but for the tensors' uids, which differ from one join to the next.
  bool Matches(const RpcSpec& other) const;
  // INVALID_ARGUMENT if the observations of so many lanes, twice, take more than half of the machine's memory.
  absl::Status CheckMemory(int64_t lanes) const;
};

// Converts a server's specs. The leaves are in the order of their names: the server's, with a "/" for each ".", and
// below observation/ or action/ if they have no root of their own. Scalars of integers with two bounds are discrete,
// and vectors of them among the actions multi-discrete; bool is multi-binary. `reward` and `discount` are the reward
// and the discount. INVALID_ARGUMENT, in one sentence, for unsupported specs: dimensions that vary, text, arrays that
// do not fit into a message.
absl::StatusOr<RpcSpec> ReadSpecs(const dm::ActionObservationSpecs& specs, const RpcSpecOptions& options);

}  // namespace waggle
