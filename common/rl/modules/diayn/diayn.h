#pragma once

#include <string>

#include "common/rl/modules/intrinsic/definition.h"

namespace waggle {

// Diversity is all you need (Eysenbach et al. 2018, arXiv 1802.06070): the agent learns skills that can be told from
// each other by the observations that they lead to. Each episode has a skill, which the observation shows.
struct DiaynOptions : public IntrinsicOptions {
  std::string skill = "observation/skill";  // The leaf with the skill, one of several choices.

  // The paper's agent has no other reward, and its bonuses are not normalised.
  DiaynOptions();

  void Visit(ConfigVisitor& visitor) override;
};

inline constexpr char kDiaynDiscriminator[] = "diayn_discriminator";

}  // namespace waggle
