#include "cli/replay/replay_files.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "actor/importing/dataset.h"
#include "actor/importing/episode_source.h"
#include "actor/recording/file_recording.h"
#include "cli/human_text.h"
#include "cli/replay/replay_servers.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/replay/file/replay_transfer.h"
#include "common/replay/replay_client.h"

namespace waggle {
namespace {

constexpr absl::Duration kFindTimeout = absl::Seconds(3);
constexpr absl::Duration kTellEvery = absl::Seconds(5);

std::vector<std::string> Addresses(const ReplayServers& servers) {
  std::vector<std::string> addresses;
  for (size_t i = 0; i < servers.size(); ++i) {
    addresses.push_back(servers.address(i));
  }
  return addresses;
}

// The reasons why an import waits, server by server.
std::string WhyBlocked(const std::string& plain, ReplayServers* servers) {
  const std::string table = servers->TableName(plain);
  std::vector<std::string> reasons;
  for (const auto& answer : servers->AskAll(&v1::ReplayService::Stub::Describe, v1::DescribeRequest(), kFindTimeout)) {
    if (!answer.status.ok()) {
      reasons.push_back(absl::StrCat(answer.address, " does not answer: ", answer.status.message()));
    }
    for (const v1::TableInfo& info : answer.response.tables()) {
      if (info.config().name() == table && !info.blocked_because().empty()) {
        reasons.push_back(absl::StrCat("table \"", plain, "\" at ", answer.address, ": ",
                                       WithPlainNames(info.blocked_because(), servers->experiment_id())));
      }
    }
  }
  return Printable(absl::StrJoin(reasons, "; "));
}

// Reports an import's progress every few seconds, or why there is none.
class ImportTeller {
 public:
  ImportTeller(std::function<std::string()> why, std::ostream* out) : why_(std::move(why)), out_(out) {}

  void Tell(const TransferProgress& progress) {
    if (const absl::Time now = SteadyNow(); now - told_at_ >= kTellEvery) {
      told_at_ = now;
      *out_ << "waggle replay import: " << progress.items << " of about " << progress.of_items
            << " items are acknowledged";
      if (progress.idle >= kTellEvery) {
        const std::string why = why_();
        *out_ << "; none for " << ShortDuration(progress.idle) << (why.empty() ? "" : ": ") << why;
      }
      *out_ << std::endl;
    }
  }

 private:
  const std::function<std::string()> why_;
  std::ostream* const out_;
  absl::Time told_at_ = SteadyNow();
};

}  // namespace

absl::StatusOr<std::string> ExportToFile(const ExportFlags& flags, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const ReplayServers servers, ReplayServers::Find(flags.target, kFindTimeout));
  if (servers.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", servers.size(), " replay servers (", absl::StrJoin(Addresses(servers), ", "),
                     "): name one with --replay-server, and export each to its own file"));
  }
  absl::StatusOr<TransferProgress> exported =
      ExportTable(servers.address(0), servers.TableName(flags.table), flags.file, stop, nullptr, flags.table);
  WAGGLE_RETURN_IF_ERROR(WithPlainNames(exported.status(), servers.experiment_id()));
  const TransferProgress& done = *exported;
  return absl::StrCat("wrote ", done.items, " items of table \"", flags.table, "\" to ", flags.file, ": ",
                      ShortBytes(static_cast<double>(done.bytes)), "\n");
}

absl::StatusOr<std::string> ImportFromFile(const ImportFlags& flags, const StopToken& stop, std::ostream* out) {
  std::string table = flags.table;
  {
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayFileReader> file, ReplayFileReader::Open(flags.file));
    table = table.empty() ? file->config().name : table;
  }
  WAGGLE_ASSIGN_OR_RETURN(ReplayServers servers, ReplayServers::Find(flags.target, kFindTimeout));
  WAGGLE_RETURN_IF_ERROR(servers.complete());
  // A server that does not answer would stall the import.
  for (const auto& answer : servers.AskAll(&v1::ReplayService::Stub::Describe, v1::DescribeRequest(), kFindTimeout)) {
    WAGGLE_RETURN_IF_ERROR(
        Annotate(answer.status, absl::StrCat("the replay server at ", answer.address, " does not answer")));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayConnection> connection,
                          NewGrpcReplayConnection(Addresses(servers)));
  const auto why = [&servers, &table] { return WhyBlocked(table, &servers); };
  ImportTeller teller(why, out);
  ImportOptions options;
  options.idle_timeout = absl::Seconds(flags.idle_seconds);
  options.why_idle = why;
  options.on_progress = [&teller](const TransferProgress& progress) { teller.Tell(progress); };
  const absl::StatusOr<TransferProgress> done =
      ImportTable(flags.file, servers.TableName(table), connection.get(), stop, options);
  WAGGLE_RETURN_IF_ERROR(WithPlainNames(done.status(), servers.experiment_id()));
  return absl::StrCat("inserted ", done->items, " items from ", flags.file, "\n");
}

absl::StatusOr<std::string> ImportDatasets(const DatasetFlags& flags, const StopToken& stop) {
  std::vector<std::unique_ptr<EpisodeSource>> sources;
  for (const std::string& source : flags.sources) {
    DatasetOptions options;
    options.path = source;
    options.python = flags.python;
    options.drop_last = flags.drop_last;
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<EpisodeSource> opened, OpenEpisodes(options, stop));
    sources.push_back(std::move(opened));
  }
  WAGGLE_ASSIGN_OR_RETURN(const RecordedCounts counts, CopyToFile(sources, flags.output, stop));
  return absl::StrCat("wrote ", counts.episodes, " episodes with ", counts.steps, " steps of ",
                      sources[0]->environment()->name, " to ", flags.output, "\n");
}

int ExportExitStatus(const absl::Status& status) {
  return status.ok()                          ? 0
         : absl::IsCancelled(status)          ? 130
         : absl::IsNotFound(status)           ? 2
         : absl::IsInvalidArgument(status)    ? 2
         : absl::IsFailedPrecondition(status) ? 2
         : absl::IsAlreadyExists(status)      ? 2
                                              : 1;
}

int ImportExitStatus(const absl::Status& status) {
  return absl::IsDataLoss(status) ? 2 : ExportExitStatus(status);
}

}  // namespace waggle
