#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function if `expression`, an absl::Status, is not OK.
#define WAGGLE_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (absl::Status waggle_status = (expression); !waggle_status.ok()) { \
      return waggle_status;                                               \
    }                                                                     \
  } while (false)

#define WAGGLE_STATUS_CONCAT_INNER(a, b) a##b
#define WAGGLE_STATUS_CONCAT(a, b) WAGGLE_STATUS_CONCAT_INNER(a, b)

// Assigns the value of `expression`, an absl::StatusOr, to `target`, or returns its status.
#define WAGGLE_ASSIGN_OR_RETURN(target, expression) \
  WAGGLE_ASSIGN_OR_RETURN_INNER(WAGGLE_STATUS_CONCAT(waggle_status_or_, __LINE__), target, expression)

#define WAGGLE_ASSIGN_OR_RETURN_INNER(holder, target, expression) \
  auto holder = (expression);                                     \
  if (!holder.ok()) {                                             \
    return std::move(holder).status();                            \
  }                                                               \
  target = std::move(holder).value()
