#include "common/rl/algorithms/policy_forms.h"

#include <utility>

#include "common/base/check.h"

namespace waggle {

PolicyForms BuiltinPolicyForms() {
  PolicyForms forms("policy in ONNX of algorithm");
  const auto add = [&forms](const char* algorithm, PolicyForm form) {
    WAGGLE_CHECK(forms.Register(algorithm, std::move(form)).ok(), "two forms are of one algorithm");
  };
  add("ddpg", ddpg_form());
  add("hddpg", hddpg_form());
  add("ippo", ippo_form());
  add("iqn", iqn_form());
  add("maddpg", maddpg_form());
  add("mappo", mappo_form());
  add("mdq", mdq_form());
  add("oac", oac_form());
  add("qmix", qmix_form());
  add("sac", sac_form());
  add("taac", taac_form());
  return forms;
}

}  // namespace waggle
