#pragma once

#include "common/onnx/policy_form.h"

namespace waggle {

// The policies of shipped algorithms with AlgorithmPlan::own_policy, as ONNX graphs: NAME_form(), in NAME/onnx_form.cc.
PolicyForm ddpg_form();
PolicyForm hddpg_form();
PolicyForm ippo_form();
PolicyForm iqn_form();
PolicyForm maddpg_form();
PolicyForm mappo_form();
PolicyForm mdq_form();
PolicyForm oac_form();
PolicyForm qmix_form();
PolicyForm sac_form();
PolicyForm taac_form();

PolicyForms BuiltinPolicyForms();

}  // namespace waggle
