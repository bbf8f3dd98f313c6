// Answers of servers, real or forged, to the command line, which shows them as text and JSON.
#include "absl/time/time.h"
#include "cli/replay/inspect_report.h"
#include "cli/replay/why_report.h"
#include "cli/status/replay_status.h"
#include "cli/status/status_report.h"
#include "tests/fuzz/fuzz_input.h"

namespace waggle {
namespace {

template <class Proto>
Proto Decode(const grpc::ByteBuffer& bytes) {
  Proto proto;
  ByteSlices ignored;
  DecodeMessage(bytes, kMaxHeaderBytes, &proto, &ignored).IgnoreError();
  return proto;
}

template <class Response>
std::vector<ReplayAnswer<Response>> Answers(fuzz::Input* input) {
  std::vector<ReplayAnswer<Response>> answers;
  while (!input->empty()) {
    answers.push_back({"server:1", absl::OkStatus(), Decode<Response>(input->NextMessage())});
  }
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  switch (input.Byte() % 3) {
    case 0: {
      const Explanations explanations = Answers<v1::ExplainResponse>(&input);
      WhyText(explanations, {}, true);
      WhyText(explanations, {}, false);
      WhyJson(explanations, {});
      WhyExitStatus(explanations, {});
      break;
    }
    case 1: {
      const Inspections inspections = Answers<v1::InspectResponse>(&input);
      InspectText("table", inspections);
      InspectJson("table", inspections);
      if (!inspections.empty()) {
        ItemText("table", inspections.front());
      }
      break;
    }
    default: {
      ClusterSnapshot snapshot;
      snapshot.overview = Decode<v1::OverviewResponse>(input.NextMessage());
      while (!input.empty()) {
        snapshot.replay_servers.push_back(
            {"server:1", absl::OkStatus(), Decode<v1::DescribeResponse>(input.NextMessage()), {}});
        ReplayServerState& server = snapshot.replay_servers.back();
        server.rates = RatesBetween(snapshot.replay_servers.front(), server);
      }
      ReplayStatusText(snapshot.replay_servers);
      ReplayStatusJson(snapshot.replay_servers);
      StatusText(snapshot, absl::UnixEpoch());
      StatusJson(snapshot);
    }
  }
  return 0;
}

}  // namespace waggle
