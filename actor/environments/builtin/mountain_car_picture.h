#pragma once

#include "actor/environments/pictures/picture.h"

namespace waggle {

// The valley with a car, at this position in [-1.2, 0.6], and a flag at the goal.
Picture DrawMountainCar(double position, double goal);

}  // namespace waggle
