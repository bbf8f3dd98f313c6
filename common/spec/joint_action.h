#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/spec/environment_spec.h"
#include "common/spec/space_leaf.h"

namespace waggle {

// All actions of an environment as one: what policies draw, networks take and algorithms learn from, however many
// leaves there are. Its elements are chosen independently of each other, given what the environment shows. Choices
// stand first, in the order of the leaves, and real numbers behind them; yes or no is a choice of two. As an array it
// has for a row
//
//   where it is one discrete action alone   int64 []
//   where all elements are choices          int64 [elements]
//   where all elements are real             a floating-point type, [elements]
//   where it has both                       the same; choices are whole numbers
struct JointAction {
  // What one leaf has of it.
  struct Part {
    size_t leaf = 0;       // The index into the environment's actions.
    int64_t first = 0;     // The first of its elements.
    int64_t elements = 0;  // How many they are; in the leaf they stand in row-major order.
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
  // Numbers that a row of logits becomes where elements stand side by side, each as wide as that with the most choices,
  // as a distribution over several computes with them; 0 where there is only one.
  int64_t SideBySide() const;
  // "discrete", "multi-discrete" (also where leaves are discrete or multi-binary), "box" or "mixed".
  std::string Name() const;
};

// More elements than that are not chosen one by one.
inline constexpr int64_t kMaxChoosing = int64_t{1} << 16;
// A float32 tells so many whole numbers apart.
inline constexpr int64_t kMaxChoicesBesideReals = int64_t{1} << 24;

// INVALID_ARGUMENT, naming a leaf, where there are more elements with choices than kMaxChoosing, or, beside real
// numbers, one with more choices than kMaxChoicesBesideReals. The environment is valid, here and below. No memory is
// taken.
absl::Status CheckJointAction(const EnvironmentSpec& environment);

// Takes memory for each element that is a choice: check first where the environment is somebody else's.
JointAction JointActionOf(const EnvironmentSpec& environment);

// An array as the joint action has it, as a leaf: the environment's own where there is only one that looks so, or else
// "action". INVALID_ARGUMENT where it has choices and real numbers.
absl::StatusOr<SpaceLeaf> AsOneLeaf(const EnvironmentSpec& environment);

}  // namespace waggle
