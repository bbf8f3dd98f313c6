// The specs and answers of a dm_env_rpc server.
#include <string>

#include "actor/environments/rpc/rpc_answer.h"
#include "actor/environments/rpc/rpc_settings.h"
#include "actor/environments/rpc/rpc_spec.h"
#include "common/base/check.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace waggle;
  fuzz::Input input(data, size);
  RpcSpecOptions options;
  options.environment_name = "fuzzed";
  options.lanes = 1 + input.Byte() % 3;
  options.batched = options.lanes > 1;
  dm::ActionObservationSpecs specs;
  if (!specs.ParseFromString(input.NextString())) {
    return 0;
  }
  const absl::StatusOr<RpcSpec> spec = ReadSpecs(specs, options);
  if (!spec.ok() || spec->answer_bytes > int64_t{1} << 20) {
    return 0;
  }
  WAGGLE_CHECK(spec->Matches(*spec), "a spec is the same as itself");
  ReadyRows rows(spec->environment, options.lanes);
  while (!input.empty()) {
    dm::StepResponse answer;
    if (!answer.ParseFromString(input.NextString()) || !CheckAnswer(*spec, answer).ok()) {
      continue;
    }
    for (int64_t lane = 0; lane < options.lanes; ++lane) {
      if (ReadRow(*spec, answer, lane, /*ahead=*/0, &rows).ok()) {
        rows.Add(lane, StepType::kMid, 1);
      }
    }
    rows.Show();
  }
  return 0;
}
