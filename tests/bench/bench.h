#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace waggle::bench {

// What a case found. A limit is what the same work would take at best or should take at most, measured in the same run
// where it depends on the machine.
struct Result {
  double value = 0;
  double median = 0;  // Of the rounds, where `value` is the best of them.
  std::string unit;
  double limit = 0;
  std::string limit_name;
  bool less_is_better = false;  // A time or a size rather than a rate.
};

struct Case {
  std::string name;
  std::function<Result()> run;
};

// Runs the cases whose names contain what follows --filter=, all without it, and prints one JSON line each:
// {"case", "value", "median", "unit", "limit", "limit_name", "ratio"}. The ratio is 1 where the value reaches the
// limit, more where it is better. Returns the exit status.
int RunCases(int argc, char** argv, const std::vector<Case>& cases);

struct Timing {
  absl::Duration best;
  absl::Duration median;
};

// How long one call takes: calls it often enough, in several rounds. Other programs only ever make a round slower, so
// the best one is what to compare, and the median says how noisy the machine was.
Timing TimePerCall(const std::function<void()>& call);
// The same for a call that needs something prepared, untimed, before each round of one call.
Timing TimePerCall(const std::function<void()>& prepare, const std::function<void()>& call);

// Times a call and what limits it by turns, so that other programs disturb both alike.
struct TimingBesideLimit {
  Timing call;
  Timing limit;
};
TimingBesideLimit TimeBesideLimit(const std::function<void()>& call, const std::function<void()>& limit);

// A rate out of a timing: `count` things a call.
Result Rate(const Timing& timing, double count, const std::string& unit, double limit, const std::string& limit_name);
// The same of a measurement that times itself: `measure` returns a rate, and is called in several rounds.
Result BestRate(const std::function<double()>& measure, const std::string& unit, double limit,
                const std::string& limit_name);
// Milliseconds a call.
Result Milliseconds(const Timing& timing, double limit, const std::string& limit_name);

// Bytes a second that one thread copies between two arrays of this size, in order.
double MemcpyBytesPerSecond(size_t bytes);

}  // namespace waggle::bench
