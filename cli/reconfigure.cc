#include "cli/reconfigure.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/table_changes.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/clients/table_config_convert.h"

namespace waggle {
namespace {

using Stub = v1::ReplayService::Stub;

// A change for one server.
struct Planned {
  size_t server = 0;
  v1::ReconfigureRequest request;
  v1::ReconfigureResponse response;
};

std::string At(const ReplayServers& servers, size_t server) {
  return absl::StrCat("the replay server at ", servers.address(server));
}

absl::StatusOr<std::vector<Planned>> Plan(const TableChange& change, absl::Duration timeout, ReplayServers* servers) {
  std::vector<Planned> plan;
  std::set<std::string> known;
  const auto answers = servers->AskAll(&Stub::Describe, v1::DescribeRequest(), timeout);
  for (size_t i = 0; i < answers.size(); ++i) {
    // One that is away may have the table: the servers would differ.
    WAGGLE_RETURN_IF_ERROR(Annotate(answers[i].status, absl::StrCat(At(*servers, i), ": nothing was changed")));
    for (const v1::TableInfo& table : answers[i].response.tables()) {
      known.insert(table.config().name());
      if (table.config().name() != change.table) {
        continue;
      }
      WAGGLE_ASSIGN_OR_RETURN(const TableConfig config, FromProto(table.config()));
      WAGGLE_ASSIGN_OR_RETURN(const TableConfig changed, WithChanges(config, change.changes));
      Planned planned;
      planned.server = i;
      *planned.request.mutable_config() = ToProto(changed);
      planned.request.set_config_generation(table.config_generation());
      planned.request.set_requester(change.requester);
      plan.push_back(std::move(planned));
    }
  }
  if (plan.empty()) {
    const std::vector<std::string> names(known.begin(), known.end());
    return absl::NotFoundError(absl::StrCat("no table named \"", change.table, "\"", DidYouMean(change.table, names),
                                            "; there ", names.empty() ? "is none" : "are ",
                                            absl::StrJoin(names, ", ")));
  }
  return plan;
}

// "max_items: 10 and 20" as "max_items: 10 -> 20".
std::string Arrow(const std::string& difference) {
  const size_t at = difference.rfind(" and ");
  return at == std::string::npos
             ? difference
             : absl::StrCat(difference.substr(0, at), " -> ", difference.substr(at + std::string(" and ").size()));
}

std::string Text(const Planned& planned, const ReplayServers& servers, bool dry_run) {
  const v1::ReconfigureResponse& response = planned.response;
  std::string text = absl::StrCat(planned.request.config().name(), " at ", servers.address(planned.server), ": ");
  if (response.differences().empty()) {
    return absl::StrCat(text, "nothing changes\n");
  }
  absl::StrAppend(&text, dry_run ? "would change" : "changed", ", generation ", planned.request.config_generation(),
                  " -> ", planned.request.config_generation() + 1, "\n");
  for (const std::string& difference : response.differences()) {
    absl::StrAppend(&text, "  ", Printable(Arrow(difference)), "\n");
  }
  return absl::StrCat(text, "  ", dry_run ? "at least " : "", response.items_removed(), " items leave\n");
}

}  // namespace

absl::StatusOr<std::string> Reconfigure(const TableChange& change, absl::Duration timeout, ReplayServers* servers) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<Planned> plan, Plan(change, timeout, servers));
  for (Planned& planned : plan) {
    planned.request.set_dry_run(true);
    WAGGLE_RETURN_IF_ERROR(
        Annotate(servers->Ask(planned.server, &Stub::Reconfigure, planned.request, timeout, &planned.response),
                 absl::StrCat(At(*servers, planned.server), ": nothing was changed")));
  }
  std::string text;
  if (plan.size() > 1) {
    text = absl::StrCat("each of the ", plan.size(),
                        " servers that have the table gets these values for itself; an experiment's limits are of all "
                        "of them together\n");
  }
  std::vector<std::string> changed;
  for (Planned& planned : plan) {
    if (!change.dry_run) {
      planned.request.set_dry_run(false);
      const absl::Status status =
          servers->Ask(planned.server, &Stub::Reconfigure, planned.request, timeout, &planned.response);
      WAGGLE_RETURN_IF_ERROR(Annotate(
          status, absl::StrCat(At(*servers, planned.server), changed.empty() ? "" : ", after it was changed at ",
                               absl::StrJoin(changed, " and "))));
      changed.push_back(servers->address(planned.server));
    }
    absl::StrAppend(&text, Text(planned, *servers, change.dry_run));
  }
  return text;
}

}  // namespace waggle
