#pragma once

// What Waggle uses of c10d, LibTorch's collective operations; nothing else includes its headers. WAGGLE_WITH_GLOO says
// whether Gloo is there for the CPU: its headers have to be those that LibTorch was built with.

#include "common/nn/torch.h"

#if WAGGLE_WITH_GLOO
#ifndef USE_C10D_GLOO  // LibTorch's own package may say so.
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
