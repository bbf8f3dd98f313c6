#pragma once

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/dtype.h"
#include "common/nn/torch.h"

// All code that depends on LibTorch's version (1.13 or 2.x), and the functions that catch its exceptions.

namespace waggle {

inline torch::ScalarType ToScalarType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return torch::kBool;
    case DType::kUint8:
      return torch::kUInt8;
    case DType::kInt8:
      return torch::kInt8;
    case DType::kInt16:
      return torch::kInt16;
    case DType::kInt32:
      return torch::kInt32;
    case DType::kInt64:
      return torch::kInt64;
    case DType::kFloat16:
      return torch::kFloat16;
    case DType::kBfloat16:
      return torch::kBFloat16;
    case DType::kFloat32:
      return torch::kFloat32;
    case DType::kFloat64:
      return torch::kFloat64;
  }
  return torch::kFloat32;
}

// INVALID_ARGUMENT for types that arrays do not have (complex, quantised).
inline absl::StatusOr<DType> FromScalarType(torch::ScalarType type) {
  for (int number = 1; IsDType(number); ++number) {
    if (ToScalarType(static_cast<DType>(number)) == type) {
      return static_cast<DType>(number);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("no array type of ours for LibTorch's ", torch::toString(type)));
}

// A node of autograd's graph, held by std::shared_ptr or, in 2.15, by LibTorch's own pointer.
template <class Node, class... Arguments>
auto MakeNode(Arguments&&... arguments) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Node>) {
    return c10::make_intrusive<Node>(std::forward<Arguments>(arguments)...);
  } else {
    // torch::autograd::deleteNode, which some versions lack, found by its argument if this branch is compiled.
    return std::shared_ptr<Node>(new Node(std::forward<Arguments>(arguments)...), [](auto* node) { deleteNode(node); });
  }
}

// One step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019) over flat tensors of one kind.
struct FusedAdamStep {
  bool decoupled = false;  // AdamW's weight decay.
  torch::Tensor values;
  torch::Tensor gradient;
  torch::Tensor mean;            // The gradients'.
  torch::Tensor square;          // The mean of their squares.
  torch::Tensor largest_square;  // AMSGrad's; undefined without it.
  // float32 scalars on the device: the step's number from 1 on, and 1 if nothing must change.
  torch::Tensor number;
  torch::Tensor skip;
  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  double epsilon = 0;
};

// True if LibTorch has a kernel for the step: on CUDA, and since 2.4 on the CPU, exact for float32 and float64 only.
// 1.13 has none for AdamW.
inline bool HasFusedAdam(const torch::Tensor& values, bool decoupled) {
  constexpr bool kDecoupled = TORCH_VERSION_MAJOR >= 2;
  constexpr bool kOnCpu = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4);
  const torch::ScalarType type = values.scalar_type();
  return values.is_contiguous() && (kDecoupled || !decoupled) &&
         (values.is_cuda() || (kOnCpu && values.is_cpu() && (type == torch::kFloat32 || type == torch::kFloat64)));
}

// HasFusedAdam() must be true for step.values and step.decoupled.
inline void FusedAdam(const FusedAdamStep& step) {
  const bool amsgrad = step.largest_square.defined();
  const at::TensorList largest = amsgrad ? at::TensorList(step.largest_square) : at::TensorList();
#if TORCH_VERSION_MAJOR >= 2
  if (step.decoupled) {
    at::_fused_adamw_(step.values, step.gradient, step.mean, step.square, largest, step.number, step.rate, step.beta1,
                      step.beta2, step.weight_decay, step.epsilon, amsgrad, /*maximize=*/false, /*grad_scale=*/{},
                      step.skip);
    return;
  }
#endif
  at::_fused_adam_(step.values, step.gradient, step.mean, step.square, largest, step.number, step.rate, step.beta1,
                   step.beta2, step.weight_decay, step.epsilon, amsgrad, /*maximize=*/false, /*grad_scale=*/{},
                   step.skip);
}

namespace internal {

template <class T>
struct CatchTorchResult {
  using Type = absl::StatusOr<T>;
};
template <class T>
struct CatchTorchResult<absl::StatusOr<T>> {
  using Type = absl::StatusOr<T>;
};
template <>
struct CatchTorchResult<absl::Status> {
  using Type = absl::Status;
};
template <>
struct CatchTorchResult<void> {
  using Type = absl::Status;
};

// The current exception as a status. Must be called in a catch block.
inline absl::Status CurrentExceptionStatus(absl::string_view doing) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(absl::StrCat(doing, ": ", error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(doing, ": LibTorch says: ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(doing, ": ", error.what()));
  }
}

}  // namespace internal

// Runs `function` and converts LibTorch's exceptions to a status that begins with `doing` ("computing a loss"):
// RESOURCE_EXHAUSTED if a device's memory has run out, otherwise INTERNAL. Other results become a StatusOr; a Status or
// StatusOr passes through.
template <class Function>
auto CatchTorch(absl::string_view doing, Function&& function) ->
    typename internal::CatchTorchResult<std::decay_t<decltype(function())>>::Type {
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      return absl::OkStatus();
    } else {
      return function();
    }
  } catch (...) {
    return internal::CurrentExceptionStatus(doing);
  }
}

}  // namespace waggle
