// The requests of dm_env_rpc clients to a server of environments.
#include <memory>

#include "actor/environments/rpc/environment_session.h"
#include "tests/fuzz/fuzz_environment.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace waggle;
  const auto worlds = ServedWorlds::Create(fuzz::NullDefinition(), fuzz::Spaces(), 1, int64_t{1} << 20);
  WAGGLE_CHECK(worlds.ok(), "the environment is there");
  const auto peer = std::make_shared<fuzz::SinkPeer<Message<dm::EnvironmentResponse>>>();
  EnvironmentSession session(worlds->get());
  session.OnOpen(peer);
  fuzz::Input input(data, size);
  fuzz::Feed<dm::EnvironmentRequest>(&input, *peer, &session);
  return 0;
}
