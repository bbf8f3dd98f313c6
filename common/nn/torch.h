#pragma once

// The part of LibTorch that Waggle uses: tensors and autograd. Modules, optimizers and data loaders of torch/torch.h
// would cost three seconds more a file. Precompiled. Only tests that compare with those parts include other headers of
// LibTorch.

#include <torch/csrc/autograd/autograd.h>  // IWYU pragma: export
#include <torch/csrc/autograd/function.h>  // IWYU pragma: export
#include <torch/cuda.h>                    // IWYU pragma: export
#include <torch/types.h>                   // IWYU pragma: export
#include <torch/utils.h>                   // IWYU pragma: export
#include <torch/version.h>                 // IWYU pragma: export
