#pragma once

#include "absl/types/span.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Hand-written policies of built-in environments: see EnvironmentScript.

// CartPole-v1: pushes the cart under the pole, and the pole back to the middle. Episodes reach 500 steps.
void BalanceCartPole(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions);
// Pendulum-v1: adds energy until it is that of the upright pendulum, then holds it there (Åström and Furuta 2000,
// "Swinging up a pendulum by energy control").
void SwingUpPendulum(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions);
// MountainCar-v0 and MountainCarContinuous-v0: pushes the way that the car drives.
void RockMountainCar(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions);
// PointMass-v0: accelerates to the goal, and brakes.
void SteerPointMass(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                    absl::Span<void* const> actions);
// Spread-v0: each agent pushes to its landmark of an assignment whose length no exchange of two landmarks reduces.
void SpreadOut(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
               absl::Span<void* const> actions);

}  // namespace waggle
