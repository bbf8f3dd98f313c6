#include "cli/replay_files.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/replay_servers.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_client.h"
#include "common/replay_file/replay_transfer.h"

namespace waggle {
namespace {

constexpr absl::Duration kFindTimeout = absl::Seconds(3);

absl::StatusOr<std::vector<std::string>> Addresses(const ReplayTarget& target) {
  WAGGLE_ASSIGN_OR_RETURN(const ReplayServers servers, ReplayServers::Find(target, kFindTimeout));
  std::vector<std::string> addresses;
  for (size_t i = 0; i < servers.size(); ++i) {
    addresses.push_back(servers.address(i));
  }
  return addresses;
}

}  // namespace

absl::StatusOr<std::string> ExportToFile(const ExportFlags& flags, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, Addresses(flags.target));
  if (addresses.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", addresses.size(), " replay servers (", absl::StrJoin(addresses, ", "),
                     "): name one with --replay-server, and export each to its own file"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const TransferProgress done, ExportTable(addresses[0], flags.table, flags.file, stop));
  return absl::StrCat("wrote ", done.items, " items of table \"", flags.table, "\" to ", flags.file, ": ",
                      ShortBytes(static_cast<double>(done.bytes)), "\n");
}

absl::StatusOr<std::string> ImportFromFile(const ImportFlags& flags, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, Addresses(flags.target));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayConnection> connection, NewGrpcReplayConnection(addresses));
  WAGGLE_ASSIGN_OR_RETURN(const TransferProgress done, ImportTable(flags.file, flags.table, connection.get(), stop));
  return absl::StrCat("inserted ", done.items, " items from ", flags.file, "\n");
}

}  // namespace waggle
