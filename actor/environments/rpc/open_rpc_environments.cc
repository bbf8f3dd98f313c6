#include "actor/environments/rpc/open_rpc_environments.h"

#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "actor/environments/rpc/rpc_environments.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"

namespace waggle {
namespace {

constexpr char kSection[] = "environment.dm_env_rpc";
constexpr size_t kMaxCertificatesBytes = size_t{16} << 20;

// gRPC servers refuse clients that ping more often than every five minutes by default. Silent servers are found by the
// timeout of answers.
constexpr Keepalive kForeignKeepalive = {absl::Minutes(10), absl::Seconds(20)};

// gRPC aborts the process on metadata of another form.
bool IsMetadataKey(const std::string& key) {
  return !key.empty() && key.size() <= 128 && !absl::StartsWith(key, "grpc-") && !absl::EndsWith(key, "-bin") &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsMetadataValue(const std::string& value) {
  return value.size() <= 4096 &&
         std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= 0x20 && c <= 0x7E; });
}

absl::StatusOr<CallMetadata> MetadataFromJson(const std::string& json) {
  const auto object = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  CallMetadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!IsMetadataKey(key) || !value.is_string() || !IsMetadataValue(value.get<std::string>())) {
      return absl::InvalidArgumentError(
          absl::StrCat(kSection, ".metadata.", key,
                       ": wanted a key of a-z 0-9 - _ . that neither begins with grpc- nor "
                       "ends with -bin, and printable text of ASCII, in quotes if it is a number"));
    }
    metadata.emplace_back(key, value.get<std::string>());
  }
  return metadata;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(const DmEnvRpcOptions& options) {
  if (options.credentials == "plain") {
    return std::shared_ptr<grpc::ChannelCredentials>();
  }
  if (options.credentials == "local") {
    return grpc::experimental::LocalCredentials(LOCAL_TCP);
  }
  grpc::SslCredentialsOptions tls;
  if (!options.ca_file.empty()) {
    absl::StatusOr<std::string> certificates = ReadSmallFile(options.ca_file, kMaxCertificatesBytes);
    if (certificates.ok() && certificates->empty()) {  // gRPC would take those of the machine instead.
      certificates = absl::NotFoundError(absl::StrCat(options.ca_file, ": is empty"));
    }
    WAGGLE_RETURN_IF_ERROR(Annotate(certificates.status(), absl::StrCat(kSection, ".ca_file")));
    tls.pem_root_certs = *std::move(certificates);
  }
  return grpc::SslCredentials(tls);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenRpcEnvironments(const DmEnvRpcOptions& options, int64_t lanes,
                                                                       bool in_order, Rng rng, const StopToken& stop) {
  RpcEnvironmentsOptions open;
  open.session.creates_world = options.create_world;
  open.session.world_name = options.world_name;
  WAGGLE_ASSIGN_OR_RETURN(open.session.world, SettingsFromJson(options.world, absl::StrCat(kSection, ".world")));
  WAGGLE_ASSIGN_OR_RETURN(open.session.join, SettingsFromJson(options.join, absl::StrCat(kSection, ".join")));
  WAGGLE_ASSIGN_OR_RETURN(open.session.metadata, MetadataFromJson(options.metadata));
  WAGGLE_ASSIGN_OR_RETURN(const auto credentials, CredentialsOf(options));
  open.session.spec.environment_name = kDmEnvRpc;
  open.session.spec.observations = options.observations;
  for (const std::string& address : options.address) {
    open.servers.push_back({address, NewChannel(address, "environment", kForeignKeepalive, credentials)});
  }
  open.lanes = lanes;
  open.batch = options.batch;
  open.seeds_world = options.seed == "world";
  open.seeds_join = options.seed == "join";
  open.in_order = in_order;
  open.seed = rng.Next();
  open.answer_timeout = absl::Seconds(options.timeout_seconds);
  open.open_timeout = std::max(open.open_timeout, open.answer_timeout);
  return RpcEnvironments::Create(std::move(open), stop);
}

}  // namespace waggle
