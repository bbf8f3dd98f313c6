// The hub's web page with 500 experiments and 200 workers, and a long run's curves: how long the hub's API takes for an
// answer, without the network. The limits are a tenth of the page's period, which leaves the hub its time.
//
// web_bench --serve HOST:PORT serves the same hub to a browser until the standard input ends: tests/web/page_bench.py.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "param_server/web/web_api.h"
#include "param_server/web/web_server.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"
#include "tests/param_server/web/fake_source.h"

namespace waggle::bench {
namespace {

constexpr int kExperiments = 500;
constexpr int kWorkers = 200;
constexpr int kSeconds = 20'000;  // The time of the run whose curves are read: five hours and a half.
constexpr double kLimitMs = 150;

// Figures of a run, as the hub records them once a second.
void WriteFigures(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream csv(folder + "/metrics.csv");
  csv << "step,seconds,name,value\n";
  const std::vector<std::string> names = {"actor/return_mean",       "actor/env_steps_per_s", "learner/steps_per_s",
                                          "learner/policy_lag_mean", "algorithm/loss",        "actor/waiting_fraction",
                                          "learner/waiting_fraction"};
  for (int second = 0; second < kSeconds; ++second) {
    for (size_t i = 0; i < names.size(); ++i) {
      csv << second * 1000 << "," << second << "," << names[i] << "," << (second * 31 + i * 17) % 997 / 7.0 << "\n";
    }
    for (int other = 0; other < 50; ++other) {
      csv << second * 1000 << "," << second << ",other/figure_" << other << "," << second << "\n";
    }
  }
}

v1::OverviewResponse Running() {
  v1::OverviewResponse overview;
  overview.set_run_state(v1::RUN_STATE_RUNNING);
  for (int i = 0; i < 80; ++i) {
    (*overview.mutable_figures())[absl::StrCat("other/figure_", i)] = i;
  }
  return overview;
}

struct Hub {
  Hub() { WriteFigures(folder + "/pole-0"); }
  ~Hub() { std::filesystem::remove_all(folder); }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  const std::string folder = absl::StrCat(std::filesystem::temp_directory_path().string(), "/web_bench-", getpid());
  testing::FakeSource source{kExperiments, kWorkers, kWorkers, folder, Running()};
};

HttpRequest Get(const std::string& path, std::map<std::string, std::string> parameters = {}) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.parameters = std::move(parameters);
  return request;
}

Case Times(const std::string& name, WebApi* api, const HttpRequest& request) {
  return {name, [=] {
            const Timing timing =
                TimePerCall([&] { WAGGLE_CHECK(api->Answer(request).status == 200, "the API refuses"); });
            std::cerr << name << ": " << api->Answer(request).body.size() / 1024 << " KiB\n";
            return Milliseconds(timing, kLimitMs, "a tenth of the page's period");
          }};
}

int Serve(const std::string& address) {
  Hub hub;
  const std::unique_ptr<WebServer> server = Must(WebServer::Start(address, &hub.source));
  std::cout << server->address() << std::endl;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  return 0;
}

int Run(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--serve") {
    return Serve(argv[2]);
  }
  Hub hub;
  WebApi api(&hub.source);
  const HttpRequest curves =
      Get("/api/experiments/pole-0/curves", {{"names",
                                              "actor/return_mean,actor/env_steps_per_s,learner/steps_per_s,"
                                              "learner/policy_lag_mean,algorithm/loss,actor/waiting_fraction,"
                                              "learner/waiting_fraction"}});
  return RunCases(argc, argv,
                  {Times("web_experiments_100_of_500", &api, Get("/api/experiments")),
                   Times("web_experiments_all_500", &api, Get("/api/experiments", {{"limit", "500"}})),
                   Times("web_experiments_found_by_text", &api, Get("/api/experiments", {{"text", "pole-49"}})),
                   Times("web_pool_of_200", &api, Get("/api/pool", {{"limit", "200"}})),
                   Times("web_experiment_with_200_workers", &api, Get("/api/experiments/pole-0")),
                   {"web_curves_first_read_of_5_hours",
                    [&] {
                      const Timing timing = TimePerCall([&] {
                        WebApi fresh(&hub.source);
                        while (fresh.Answer(curves).body.find("\"complete\":true") == std::string::npos) {
                        }
                      });
                      return Milliseconds(timing, 5'000, "a few calls of a page that has just been opened");
                    }},
                   Times("web_curves_of_5_hours", &api, curves)});
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::Run(argc, argv);
}
