#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/rpc_environments/protocol.h"
#include "common/spec/environment_spec.h"

namespace waggle {

struct RpcSpecOptions {
  std::string environment_name;
  std::vector<std::string> observations;  // Those to be asked for, by the server's names; empty: all.
  int64_t lanes = 1;                      // Lanes of the stream.
  bool batched = false;                   // Every tensor has a dimension of the lanes in front.
};

// A tensor of the protocol that is an array of Waggle's.
struct RpcLeaf {
  std::string name;  // The server's.
  uint64_t uid = 0;
  dm::DataType type = dm::INVALID_DATA_TYPE;
  std::vector<int64_t> shape;  // With the dimension of the lanes, if there is one.
  // The server's number for the first choice: none if it is 0, one for all elements, or one an element of one lane.
  std::vector<int64_t> starts;
};

// An environment as a server describes it.
struct RpcSpec {
  EnvironmentSpec environment;
  std::vector<RpcLeaf> observations;  // One for each of environment.observations, in their order.
  std::vector<RpcLeaf> actions;
  std::vector<std::optional<RpcLeaf>> rewards;  // One for each of environment.rewards; absent: the server tells none.
  std::optional<RpcLeaf> discount;              // A scalar; absent: it follows from the state.
  std::optional<RpcLeaf> step_type;             // If it is batched.
  int64_t answer_bytes = 0;                     // The most that an answer to a step takes.
  std::vector<std::string> notes;               // The changes on the way, in words.

  // All that is to be asked for.
  std::vector<const RpcLeaf*> Requested() const;
  // Whether it is the same but for the numbers of the tensors, which differ from one join to the next.
  bool Matches(const RpcSpec& other) const;
};

// The leaves are in the order of their names, which are the server's with a "/" for each "." and, below observation/
// and action/, if they have no root of their own. Scalars of integers with two bounds are discrete, and vectors of them
// among the actions multi-discrete; bool is multi-binary. `reward` and `discount` are what they are called.
// INVALID_ARGUMENT, in one sentence, for what Waggle cannot take: dimensions that vary, text, arrays that do not fit
// into a message.
absl::StatusOr<RpcSpec> ReadSpecs(const dm::ActionObservationSpecs& specs, const RpcSpecOptions& options);

}  // namespace waggle
