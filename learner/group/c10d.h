#pragma once

// The parts of c10d, LibTorch's collective operations, that Waggle uses; no other file includes its headers.
// WAGGLE_WITH_GLOO is set if LibTorch has Gloo for the CPU: the Gloo headers must be those that LibTorch was built
// with.

#include "common/nn/torch.h"

#if WAGGLE_WITH_GLOO
#ifndef USE_C10D_GLOO  // LibTorch's own package may define it.
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
