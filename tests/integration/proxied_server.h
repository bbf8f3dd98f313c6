#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "replay_server/service/replay_server.h"
#include "tests/integration/replay_crew.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/temporary_folder.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle::testing {

// A server in this process with a folder, behind a proxy.
class ProxiedServer {
 public:
  explicit ProxiedServer(ReplayServiceOptions service = {}, const Keepalive& keepalive = kServerKeepalive) {
    ReplayServerOptions options;
    options.listen = "127.0.0.1:0";
    options.data_dir = folder_.File("data");
    options.service = std::move(service);
    options.keepalive = keepalive;
    server_ = ValueOf(ReplayServer::Start(std::move(options), &metrics_));
    proxy_ = std::make_unique<TcpProxy>(server_->address());
    direct_ = ValueOf(NewGrpcReplayConnection({server_->address()}));
    stub_ = v1::ReplayService::NewStub(NewChannel(server_->address(), "observer"));
  }

  // The server's program calls this regularly.
  void Tend() { server_->UpdateGauges(); }
  const std::string& address() const { return server_->address(); }
  TcpProxy* proxy() { return proxy_.get(); }
  ReplayConnection* direct() { return direct_.get(); }
  const Metrics& metrics() const { return metrics_; }

  v1::TableInfo Info(const std::string& table) {
    const auto response =
        ValueOf(CallUnary(stub_.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Seconds(30)));
    for (const v1::TableInfo& info : response.tables()) {
      if (info.config().name() == table) {
        return info;
      }
    }
    FAIL("there is no table " << table);
    return {};
  }

  v1::TableExplanation Explain(const std::string& table) {
    v1::ExplainRequest request;
    request.set_table(table);
    return ValueOf(CallUnary(stub_.get(), &v1::ReplayService::Stub::Explain, request, absl::Seconds(30))).tables(0);
  }

  // True if a sampler of the table is connected.
  bool IsSampled(const std::string& table) {
    const v1::TableExplanation explanation = Explain(table);
    const auto& parties = explanation.parties();
    return std::any_of(parties.begin(), parties.end(), [](const v1::Party& party) {
      return party.kind() == v1::Party::KIND_SAMPLER && party.connected();
    });
  }

  // Takes all items out of a table that samples each once. No other client may use it.
  std::vector<int64_t> Drain(const TableConfig& table) {
    const auto items = static_cast<int64_t>(Info(table.name).items());
    Consumer consumer(direct_.get(), table, 1, 16);
    Eventually("all that is left of " + table.name, [&] { return consumer.count() >= items; });
    consumer.Finish();
    REQUIRE_OK(consumer.status());
    return consumer.delivered();
  }

 private:
  const TemporaryFolder folder_;
  Metrics metrics_;
  std::unique_ptr<ReplayServer> server_;
  std::unique_ptr<TcpProxy> proxy_;
  std::unique_ptr<ReplayConnection> direct_;
  std::unique_ptr<v1::ReplayService::Stub> stub_;
};

}  // namespace waggle::testing
