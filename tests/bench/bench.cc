#include "tests/bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace waggle::bench {
namespace {

constexpr absl::string_view kFilter = "--filter=";

constexpr int kRounds = 7;
constexpr absl::Duration kRoundTime = absl::Milliseconds(100);

Timing Summarise(std::vector<absl::Duration> rounds) {
  std::sort(rounds.begin(), rounds.end());
  return {rounds.front(), rounds[rounds.size() / 2]};
}

absl::Duration TimeOnce(const std::function<void()>& call) {
  const absl::Time begin = absl::Now();
  call();
  return absl::Now() - begin;
}

// The time of each of `calls` calls.
absl::Duration TimeRound(int calls, const std::function<void()>& call) {
  return TimeOnce([&] {
           for (int i = 0; i < calls; ++i) {
             call();
           }
         }) /
         calls;
}

int CallsPerRound(const std::function<void()>& call) {
  call();  // Fills caches and allocates memory.
  int calls = 1;
  while (true) {
    const absl::Duration taken = TimeRound(calls, call) * calls;
    if (taken >= kRoundTime / 4) {
      return std::max(1, static_cast<int>(calls * absl::FDivDuration(kRoundTime, taken)));
    }
    calls *= 2;
  }
}

void Print(const std::string& name, const Result& result) {
  const double ratio = result.limit == 0       ? 0
                       : result.less_is_better ? result.limit / result.value
                                               : result.value / result.limit;
  std::printf(
      "{\"case\": \"%s\", \"value\": %.6g, \"median\": %.6g, \"unit\": \"%s\", \"limit\": %.6g, \"limit_name\": "
      "\"%s\", \"ratio\": %.3f}\n",
      name.c_str(), result.value, result.median, result.unit.c_str(), result.limit, result.limit_name.c_str(), ratio);
  std::fflush(stdout);
}

}  // namespace

int RunCases(int argc, char** argv, const std::vector<Case>& cases) {
  if (argc > 2 || (argc == 2 && !absl::StartsWith(argv[1], kFilter))) {
    std::fprintf(stderr, "usage: %s [--filter=PART_OF_A_CASE_NAME]\n", argv[0]);
    return 2;
  }
  const absl::string_view filter = argc == 2 ? absl::string_view(argv[1]).substr(kFilter.size()) : "";
  for (const Case& one : cases) {
    if (absl::StrContains(one.name, filter)) {
      Print(one.name, one.run());
    }
  }
  return 0;
}

TimingBesideLimit TimeBesideLimit(const std::function<void()>& call, const std::function<void()>& limit) {
  const int calls = CallsPerRound(call);
  const int limits = CallsPerRound(limit);
  std::vector<absl::Duration> call_rounds;
  std::vector<absl::Duration> limit_rounds;
  for (int round = 0; round < kRounds; ++round) {
    call_rounds.push_back(TimeRound(calls, call));
    limit_rounds.push_back(TimeRound(limits, limit));
  }
  return {Summarise(std::move(call_rounds)), Summarise(std::move(limit_rounds))};
}

Timing TimePerCall(const std::function<void()>& call) {
  const int calls = CallsPerRound(call);
  std::vector<absl::Duration> rounds;
  for (int round = 0; round < kRounds; ++round) {
    rounds.push_back(TimeRound(calls, call));
  }
  return Summarise(std::move(rounds));
}

Timing TimePerCall(const std::function<void()>& prepare, const std::function<void()>& call) {
  std::vector<absl::Duration> rounds;
  for (int round = 0; round < kRounds; ++round) {
    prepare();
    rounds.push_back(TimeOnce(call));
  }
  return Summarise(std::move(rounds));
}

Result Rate(const Timing& timing, double count, const std::string& unit, double limit, const std::string& limit_name) {
  return {count / absl::ToDoubleSeconds(timing.best), count / absl::ToDoubleSeconds(timing.median), unit, limit,
          limit_name};
}

Result BestRate(const std::function<double()>& measure, const std::string& unit, double limit,
                const std::string& limit_name) {
  measure();  // Fills caches and allocates memory.
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    rates.push_back(measure());
  }
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2], unit, limit, limit_name};
}

Result Milliseconds(const Timing& timing, double limit, const std::string& limit_name) {
  return {absl::ToDoubleMilliseconds(timing.best),
          absl::ToDoubleMilliseconds(timing.median),
          "ms",
          limit,
          limit_name,
          /*less_is_better=*/true};
}

double MemcpyBytesPerSecond(size_t bytes) {
  std::vector<char> source(bytes, 1);
  std::vector<char> destination(bytes, 2);
  const Timing timing = TimePerCall([&] {
    std::memcpy(destination.data(), source.data(), bytes);
    // Keeps the compiler from removing the copy.
    __asm__ volatile("" : : "r"(destination.data()) : "memory");
  });
  return static_cast<double>(bytes) / absl::ToDoubleSeconds(timing.best);
}

}  // namespace waggle::bench
