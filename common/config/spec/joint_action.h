#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/spec/environment_spec.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {

// All actions of an environment as one: policies draw it, networks take it and algorithms learn from it, however many
// leaves there are. Its elements are chosen independently of each other, given the observation. Choices come first, in
// the order of the leaves, and then real numbers; yes or no is a choice of two. As an array it has for a row
//
//   one discrete action alone   int64 []
//   only choices                int64 [elements]
//   only real numbers           a floating-point type, [elements]
//   both                        the same; choices are whole numbers
struct JointAction {
  // A leaf's part of it.
  struct Part {
    size_t leaf = 0;       // The index into the environment's actions.
    int64_t first = 0;     // The first of its elements.
    int64_t elements = 0;  // Their number; in the leaf they are in row-major order.
    int64_t choices = 0;   // All choices of these elements; 0: they are real.
    int64_t mask = -1;     // The index into the environment's observations of the leaf's mask; -1: none.
  };
  std::vector<Part> parts;          // In the order of their elements.
  std::vector<int64_t> num_values;  // The choices of each element that is one.
  int64_t num_reals = 0;
  bool is_scalar = false;  // One discrete action alone.

  int64_t num_choosing() const { return static_cast<int64_t>(num_values.size()); }
  // The sum of num_values.
  int64_t TotalChoices() const;
  // Numbers of a row of logits if elements are side by side, each as wide as that with the most choices; a distribution
  // over several computes in this form. 0 if there is only one.
  int64_t SideBySide() const;
  // "discrete", "multi-discrete" (also if leaves are discrete or multi-binary), "box" or "mixed".
  std::string Name() const;
};

// The most elements with choices.
inline constexpr int64_t kMaxChoosing = int64_t{1} << 16;
// A float32 can tell this many whole numbers apart.
inline constexpr int64_t kMaxChoicesBesideReals = int64_t{1} << 24;

// INVALID_ARGUMENT, naming a leaf, if there are more elements with choices than kMaxChoosing, or, beside real numbers,
// one with more choices than kMaxChoicesBesideReals. The environment is valid, here and below. Takes no memory.
absl::Status CheckJointAction(const EnvironmentSpec& environment);

// Takes memory for each element that is a choice: check first if the environment comes from outside.
JointAction JointActionOf(const EnvironmentSpec& environment);

// The joint action's array as a leaf: the environment's own if a single leaf has that form, otherwise "action".
// INVALID_ARGUMENT if it has choices and real numbers.
absl::StatusOr<SpaceLeaf> AsOneLeaf(const EnvironmentSpec& environment);

}  // namespace waggle
