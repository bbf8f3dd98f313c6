#include "common/config/experiment/dm_env_rpc_options.h"

#include "common/base/host_port.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr char kAddresses[] = "HOST:PORT, such as simulator:9000";
bool IsAddress(const std::string& address) {
  return ValidateReachable(address).ok();
}

bool IsNotEmpty(const std::string& text) {
  return !text.empty();
}

}  // namespace

void DmEnvRpcOptions::Visit(ConfigVisitor& visitor) {
  visitor.TextList("address", &address, IsAddress, kAddresses);
  visitor.Bool("create_world", &create_world);
  if (visitor.Applies("world", create_world, "means nothing with create_world: false; wanted join, or none")) {
    visitor.AnyValue("world", &world);
  }
  if (visitor.Applies("world_name", !create_world,
                      "means nothing with create_world: true; wanted create_world: false, or none")) {
    visitor.String("world_name", &world_name);
  }
  visitor.AnyValue("join", &join);
  visitor.Choice("seed", &seed, {"none", "world", "join"});
  visitor.TextList("observations", &observations, IsNotEmpty, "an observation's name");
  visitor.Int("batch", &batch, In(0, 65'536));
  visitor.Double("timeout_seconds", &timeout_seconds, In(0.001, 86'400));
  visitor.Choice("credentials", &credentials, {"plain", "local", "tls"});
  if (visitor.Applies("ca_file", credentials == "tls", "means nothing without credentials: tls; wanted it, or none")) {
    visitor.String("ca_file", &ca_file);
  }
  visitor.AnyValue("metadata", &metadata);
}

absl::Status DmEnvRpcOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!address.empty(), "address: got none; wanted a list, each ", kAddresses);
  problems.AddUnless(world[0] == '{', "world: got ", world, "; wanted a mapping");
  problems.AddUnless(join[0] == '{', "join: got ", join, "; wanted a mapping");
  problems.AddUnless(metadata[0] == '{', "metadata: got ", metadata, "; wanted a mapping");
  problems.AddUnless(create_world || seed != "world",
                     "seed: got world, which is not created here; wanted join or none");
  return problems.ToStatus();
}

}  // namespace waggle
