#pragma once

#include <string>

namespace waggle {

// The values that a number may have, stated once, in its options struct's Visit. The reader of a file, the check of
// options that were made in code and tests that try every field go by it. A bound may be infinite. Whole numbers have
// ranges of the same kind, whose bounds are exact up to 2^53.
struct Range {
  double low = 0;
  double high = 0;
  bool above = false;  // `low` itself is outside.
  // The number may be set while its experiment runs. For algorithms' options that only updates, optimizers' steps and
  // exploration read: no table, network, initial priority or other part of a plan may follow from it.
  bool live = false;

  Range Live() const { return {low, high, above, true}; }
  // False for NaN.
  bool Holds(double value) const { return (above ? value > low : value >= low) && value <= high; }
  // The wanted values, for messages: "a number in (0, 1]", "an integer in [1, 64]".
  std::string NumberText() const;
  std::string IntegerText() const;
};

// [low, high].
inline Range In(double low, double high) {
  return {low, high};
}
// (low, high].
inline Range Above(double low, double high) {
  return {low, high, true};
}

}  // namespace waggle
