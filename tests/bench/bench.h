#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace waggle::bench {

// The result of a case. A limit is the best time for the same work, or the most it should take. It is measured in the
// same run if it depends on the machine.
struct Result {
  double value = 0;
  double median = 0;  // Over the rounds; `value` is the best of them.
  std::string unit;
  double limit = 0;
  std::string limit_name;
  bool less_is_better = false;  // True for a time or a size, false for a rate.
};

struct Case {
  std::string name;
  std::function<Result()> run;
};

// Runs the cases whose names contain the text after --filter=, by default all, and prints one JSON line for each:
// {"case", "value", "median", "unit", "limit", "limit_name", "ratio"}. The ratio is 1 if the value equals the limit,
// and larger if it is better. Returns the exit status.
int RunCases(int argc, char** argv, const std::vector<Case>& cases);

struct Timing {
  absl::Duration best;
  absl::Duration median;
};

// The time of one call, from many calls in several rounds. Other programs can only slow a round down, so the best round
// is the one to compare, and the median shows how noisy the machine was.
Timing TimePerCall(const std::function<void()>& call);
// The same for a call that needs an untimed preparation before each round of one call.
Timing TimePerCall(const std::function<void()>& prepare, const std::function<void()>& call);

// Times a call and its limit by turns, so that other programs disturb both alike.
struct TimingBesideLimit {
  Timing call;
  Timing limit;
};
TimingBesideLimit TimeBesideLimit(const std::function<void()>& call, const std::function<void()>& limit);

// The rate from a timing, with `count` units per call.
Result Rate(const Timing& timing, double count, const std::string& unit, double limit, const std::string& limit_name);
// The same for a measurement that times itself: `measure` returns a rate, and is called in several rounds.
Result BestRate(const std::function<double()>& measure, const std::string& unit, double limit,
                const std::string& limit_name);
// Milliseconds per call.
Result Milliseconds(const Timing& timing, double limit, const std::string& limit_name);

// Bytes per second that one thread copies between two arrays of this size, in order.
double MemcpyBytesPerSecond(size_t bytes);

}  // namespace waggle::bench
