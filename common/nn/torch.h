#pragma once

// The part of LibTorch that Waggle uses: tensors and autograd, without the modules, optimizers and data loaders of
// torch/torch.h, which cost three seconds more in every file. Precompiled; nothing else includes LibTorch's headers,
// except tests that compare with the parts that are left out.

#include <torch/csrc/autograd/autograd.h>  // IWYU pragma: export
#include <torch/csrc/autograd/function.h>  // IWYU pragma: export
#include <torch/cuda.h>                    // IWYU pragma: export
#include <torch/types.h>                   // IWYU pragma: export
#include <torch/utils.h>                   // IWYU pragma: export
#include <torch/version.h>                 // IWYU pragma: export
