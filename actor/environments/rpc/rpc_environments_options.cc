#include "actor/environments/rpc/rpc_environments_options.h"

#include "common/base/random.h"

namespace waggle {
namespace {

// Other servers' seeds may be limited to 31 bits.
constexpr uint64_t kMaxSeed = 0x7FFFFFFF;

void Set(const char* setting, int64_t value, RpcSettings* settings) {
  dm::Tensor tensor;
  tensor.mutable_int64s()->add_array(value);
  (*settings)[setting] = tensor;
}

}  // namespace

RpcSessionOptions SessionOfStream(const RpcEnvironmentsOptions& options, int64_t first_lane, int64_t lanes,
                                  int64_t opening, const std::string& world_name) {
  RpcSessionOptions session = options.session;
  session.spec.lanes = lanes;
  session.spec.batched = options.batch > 0;
  if (session.creates_world) {
    session.world_name = world_name;
  }
  if (session.spec.batched) {
    Set(kLanesSetting, lanes, &session.join);
  }
  const uint64_t own = Rng::Split(options.seed, "lane", static_cast<uint64_t>(first_lane)).Next();
  const auto seed = static_cast<int64_t>(Rng::Split(own, "start", static_cast<uint64_t>(opening)).Next() & kMaxSeed);
  if (options.seeds_world) {
    Set(kSeedSetting, seed, &session.world);
  }
  if (options.seeds_join) {
    Set(kSeedSetting, seed, &session.join);
  }
  return session;
}

}  // namespace waggle
