#include "cli/results/result_client.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/experiments/experiment_client.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/net/channel.h"
#include "common/net/status_convert.h"
#include "common/net/unary_call.h"

namespace waggle {
namespace {

constexpr char kPurpose[] = "results";
constexpr absl::Duration kListTimeout = absl::Seconds(10);
// One call brings at most this much, in at most this time: 1 MiB a second.
constexpr uint64_t kPartBytes = uint64_t{64} << 20;
constexpr absl::Duration kPartTimeout = absl::Seconds(64);
constexpr absl::Duration kRetryPause = absl::Milliseconds(500);
constexpr size_t kMostBytesInPiece = size_t{1} << 20;
constexpr size_t kMostParts = 3;
constexpr size_t kLongestPart = 200;

absl::Status Explain(const absl::Status& status, const std::string& param_server) {
  if (absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(param_server, " sends no results: it is an older parameter server, or a server of another kind"));
  }
  return HubIsAway(status)
             ? Annotate(status, absl::StrCat("the parameter server at ", param_server, " does not answer"))
             : status;
}

// Appends a piece, if it is whole and the next one.
absl::Status Take(const v1::FetchResultResponse& piece, uint64_t end, uint64_t* have, File* file) {
  const std::string& data = piece.data();
  if (piece.offset() != *have || data.empty() || data.size() > kMostBytesInPiece || data.size() > end - *have) {
    return absl::DataLossError(absl::StrCat("the next piece: got ", data.size(), " bytes at ", piece.offset(),
                                            "; wanted some at ", *have, ", up to ", end));
  }
  if (Checksum(data.data(), data.size()) != piece.checksum()) {
    return absl::DataLossError("a piece was damaged in transit");
  }
  WAGGLE_RETURN_IF_ERROR(file->Append(data));
  *have += data.size();
  return absl::OkStatus();
}

// Fetches bytes from `*have` on, which it advances.
absl::Status FetchPart(v1::ResultService::Stub* stub, const std::string& id, const v1::ResultFile& wanted, File* file,
                       uint64_t* have, const StopToken& stop) {
  v1::FetchResultRequest request;
  request.set_experiment_id(id);
  request.set_name(wanted.name());
  request.set_identity(wanted.identity());
  request.set_begin(*have);
  request.set_end(std::min<uint64_t>(wanted.size(), *have + kPartBytes));
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(kPartTimeout, context.get());
  const StopToken::Callback cancel(stop, [context] { context->TryCancel(); });
  const auto stream = stub->Fetch(context.get(), request);
  v1::FetchResultResponse piece;
  absl::Status taken;
  while (taken.ok() && stream->Read(&piece)) {
    taken = Take(piece, request.end(), have, file);
  }
  if (!taken.ok()) {
    context->TryCancel();
  }
  const absl::Status ended = FromGrpcStatus(stream->Finish());
  if (stop.StopRequested()) {
    return absl::CancelledError("interrupted");
  }
  if (!taken.ok() || !ended.ok()) {
    return taken.ok() ? ended : taken;
  }
  return *have == request.end()
             ? ended
             : absl::DataLossError(absl::StrCat("the transfer ended at byte ", *have, " of ", request.end()));
}

}  // namespace

ResultClient::ResultClient(const std::string& param_server)
    : param_server_(param_server), stub_(v1::ResultService::NewStub(NewChannel(param_server, kPurpose))) {}

absl::StatusOr<v1::ListResultsResponse> ResultClient::List(const std::string& id, const StopToken& stop) const {
  v1::ListResultsRequest request;
  request.set_experiment_id(id);
  const auto listing = CallUnary(stub_.get(), &v1::ResultService::Stub::List, request, kListTimeout, stop);
  if (!listing.ok()) {
    return Explain(listing.status(), param_server_);
  }
  for (const v1::ResultFile& file : listing->files()) {
    if (!IsResultName(file.name())) {
      return absl::InvalidArgumentError(absl::StrCat("the parameter server at ", param_server_, " lists a file \"",
                                                     absl::CHexEscape(file.name()), "\", which is no result's name"));
    }
  }
  return listing;
}

absl::Status ResultClient::Fetch(const std::string& id, const v1::ResultFile& wanted, const std::string& path,
                                 absl::Duration patience, const StopToken& stop) const {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::Create(path));
  HubPatience hub_patience(patience);
  hub_patience.Answered();
  uint64_t have = 0;
  while (have < wanted.size()) {
    const uint64_t before = have;
    const absl::Status fetched = FetchPart(stub_.get(), id, wanted, &file, &have, stop);
    if (fetched.ok() || have > before) {
      hub_patience.Answered();
    }
    if (!fetched.ok() && !hub_patience.Bears(fetched)) {
      return Annotate(Explain(fetched, param_server_), wanted.name());
    }
    if (!fetched.ok() && stop.WaitFor(kRetryPause)) {
      return absl::CancelledError("interrupted");
    }
  }
  return absl::OkStatus();
}

bool IsResultName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  return parts.size() <= kMostParts && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return !part.empty() && part.size() <= kLongestPart && absl::ascii_isalnum(part[0]) &&
                  std::all_of(part.begin(), part.end(), [](unsigned char c) {
                    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
                  });
         });
}

}  // namespace waggle
