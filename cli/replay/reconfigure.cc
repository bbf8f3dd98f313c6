#include "cli/replay/reconfigure.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/replay/table_changes.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/replay/table_config_convert.h"

namespace waggle {
namespace {

using Stub = v1::ReplayService::Stub;

// A change on one server.
struct Planned {
  size_t server = 0;
  v1::ReconfigureRequest request;
  v1::ReconfigureResponse response;
};

std::string At(const ReplayServers& servers, size_t server) {
  return absl::StrCat("the replay server at ", servers.address(server));
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Plans a change for each server that has the table. Writes to `text` which servers do not have it and, in a dry run,
// which do not answer.
absl::Status Plan(const TableChange& change, absl::Duration timeout, ReplayServers* servers, std::vector<Planned>* plan,
                  std::string* text, bool* all_asked) {
  std::set<std::string> known;
  const auto answers = servers->AskAll(&Stub::Describe, v1::DescribeRequest(), timeout);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (change.dry_run && IsAway(answers[i].status)) {
      absl::StrAppend(text, At(*servers, i), " does not answer: ", Printable(answers[i].status.message()), "\n");
      *all_asked = false;
      continue;
    }
    // A server that is away may have the table: the servers' settings would differ.
    WAGGLE_RETURN_IF_ERROR(Annotate(answers[i].status, absl::StrCat(At(*servers, i), ": nothing was changed")));
    const size_t planned_before = plan->size();
    v1::DescribeResponse described = answers[i].response;
    KeepTablesOf(servers->experiment_id(), &described);
    for (const v1::TableInfo& table : described.tables()) {
      known.insert(table.config().name());
      if (table.config().name() != change.table) {
        continue;
      }
      WAGGLE_ASSIGN_OR_RETURN(const TableConfig config, FromProto(table.config()));
      WAGGLE_ASSIGN_OR_RETURN(TableConfig changed, WithChanges(config, change.changes));
      changed.name = servers->TableName(changed.name);
      Planned planned;
      planned.server = i;
      *planned.request.mutable_config() = ToProto(changed);
      planned.request.set_config_generation(table.config_generation());
      planned.request.set_requester(change.requester);
      plan->push_back(std::move(planned));
    }
    if (plan->size() == planned_before) {
      absl::StrAppend(text, change.table, " at ", servers->address(i),
                      ": there is no such table, and nothing changes\n");
    }
  }
  if (plan->empty() && *all_asked) {
    const std::vector<std::string> names(known.begin(), known.end());
    return absl::NotFoundError(absl::StrCat("no table named \"", change.table, "\"", DidYouMean(change.table, names),
                                            "; there ", names.empty() ? "are no tables" : "are ",
                                            absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

// "max_items: 10 and 20" as "max_items: 10 -> 20".
std::string Arrow(const std::string& difference) {
  const size_t at = difference.rfind(" and ");
  return at == std::string::npos
             ? difference
             : absl::StrCat(difference.substr(0, at), " -> ", difference.substr(at + std::string(" and ").size()));
}

// How many operations the rate limiter lets through. Empty if it keeps no ratio, or if the server does not say.
std::string AllowedText(const v1::RateLimiterConfig& limiter, const v1::ReconfigureResponse& response) {
  const auto up_to = [](double count, absl::string_view what) {
    return std::isinf(count) ? absl::StrCat("any number of ", what) : absl::StrFormat("up to %.0f %s", count, what);
  };
  std::string text;
  if (limiter.samples_per_insert() > 0 && (response.samples_allowed() > 0 || response.inserts_allowed() > 0)) {
    absl::StrAppend(&text, "  right after it ", up_to(std::floor(response.samples_allowed()), "samples"),
                    " may be drawn before the next insert, and ", up_to(response.inserts_allowed(), "items"),
                    " inserted before the next sample\n");
  }
  for (const std::string& wait : response.waits()) {
    absl::StrAppend(&text, "  ", Printable(wait), "\n");
  }
  return text;
}

// When a server that restarts forgets a change; empty if never.
std::string LastsText(const v1::TableConfig& config, const std::string& address, bool of_run) {
  switch (config.durability()) {
    case v1::DURABILITY_CHECKPOINT:
      return absl::StrCat("  outlives ", address, " from its next checkpoint on\n");
    case v1::DURABILITY_LOG:
      return "";
    default:
      return absl::StrCat("  lasts until ", address, " is restarted: a table of durability none is made anew then",
                          of_run ? ", as the run's file has it\n" : "\n");
  }
}

std::string TableAt(const Planned& planned, const ReplayServers& servers) {
  return absl::StrCat(WithPlainNames(planned.request.config().name(), servers.experiment_id()), " at ",
                      servers.address(planned.server), ": ");
}

std::string Text(const Planned& planned, const ReplayServers& servers, bool dry_run) {
  const v1::ReconfigureResponse& response = planned.response;
  std::string text = TableAt(planned, servers);
  if (response.differences().empty()) {
    return absl::StrCat(text, "nothing changes\n");
  }
  absl::StrAppend(&text, dry_run ? "would change" : "changed", ", generation ", planned.request.config_generation(),
                  " -> ", planned.request.config_generation() + 1, "\n");
  for (const std::string& difference : response.differences()) {
    absl::StrAppend(&text, "  ", Printable(Arrow(difference)), "\n");
  }
  return absl::StrCat(text, "  ", dry_run ? "about " : "", response.items_removed(), " items leave\n",
                      AllowedText(planned.request.config().rate_limiter(), response),
                      LastsText(planned.request.config(), servers.address(planned.server), servers.of_run()));
}

// True if a server may have made the change although the call failed.
bool MayHaveChanged(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsUnknown(status) || absl::IsInternal(status);
}

absl::Status CheckComplete(const ReplayServers& servers) {
  if (servers.missing().empty()) {
    return absl::OkStatus();
  }
  std::string message = "nothing was changed";
  for (const MissingReplayServer& server : servers.missing()) {
    absl::StrAppend(&message, "; ", MissingText(server));
  }
  absl::StrAppend(
      &message, "; ", servers.missing().size() == 1 ? "it" : "each of them",
      " may have the table, and would come back unchanged. To change only the servers that are there, name them: "
      "--experiment ",
      servers.experiment_id());
  for (size_t i = 0; i < servers.size(); ++i) {
    absl::StrAppend(&message, " --replay-server ", servers.address(i));
  }
  return absl::UnavailableError(message);
}

absl::Status TryAll(absl::Duration timeout, ReplayServers* servers, std::vector<Planned>* plan) {
  for (Planned& planned : *plan) {
    planned.request.set_dry_run(true);
    WAGGLE_RETURN_IF_ERROR(
        Annotate(servers->Ask(planned.server, &Stub::Reconfigure, planned.request, timeout, &planned.response),
                 absl::StrCat(At(*servers, planned.server), ": nothing was changed")));
  }
  return absl::OkStatus();
}

// Changes the servers one after another, and writes the result for each.
absl::Status ChangeAll(absl::Duration timeout, ReplayServers* servers, std::vector<Planned>* plan, std::string* text) {
  std::vector<std::string> changed;
  absl::Status failed;
  for (Planned& planned : *plan) {
    if (!failed.ok()) {
      absl::StrAppend(text, TableAt(planned, *servers), "NOT changed: not asked, because a server before it failed\n");
      continue;
    }
    planned.request.set_dry_run(false);
    const absl::Status status =
        servers->Ask(planned.server, &Stub::Reconfigure, planned.request, timeout, &planned.response);
    if (status.ok()) {
      absl::StrAppend(text, Text(planned, *servers, /*dry_run=*/false));
      changed.push_back(servers->address(planned.server));
      continue;
    }
    absl::StrAppend(text, TableAt(planned, *servers),
                    MayHaveChanged(status) ? "it is not known whether it was changed: " : "NOT changed: ",
                    Printable(status.message()), "\n");
    failed =
        Annotate(status, absl::StrCat(At(*servers, planned.server), changed.empty() ? "" : ", after it was changed at ",
                                      absl::StrJoin(changed, " and ")));
  }
  return failed;
}

}  // namespace

ReconfigureOutcome Reconfigure(const TableChange& change, absl::Duration timeout, ReplayServers* servers) {
  ReconfigureOutcome outcome;
  // A dry run asks the servers that are there.
  outcome.status = change.dry_run ? absl::OkStatus() : CheckComplete(*servers);
  std::vector<Planned> plan;
  std::string text;
  for (const MissingReplayServer& server : servers->missing()) {
    absl::StrAppend(&text, MissingText(server), "\n");
  }
  bool all_asked = servers->missing().empty();
  if (outcome.status.ok()) {
    outcome.status = Plan(change, timeout, servers, &plan, &text, &all_asked);
  }
  if (outcome.status.ok()) {
    outcome.status = TryAll(timeout, servers, &plan);
  }
  if (!outcome.status.ok()) {
    return outcome;
  }
  outcome.text = text;
  if (plan.size() > 1) {
    absl::StrAppend(&outcome.text, "each of the ", plan.size(),
                    " servers that have the table gets these values for itself; an experiment's limits are for all "
                    "of them together\n");
  }
  if (!change.dry_run) {
    outcome.status = ChangeAll(timeout, servers, &plan, &outcome.text);
    return outcome;
  }
  for (const Planned& planned : plan) {
    absl::StrAppend(&outcome.text, Text(planned, *servers, /*dry_run=*/true));
  }
  if (!all_asked) {
    outcome.status =
        absl::UnavailableError("not every server could be asked: without --dry-run nothing would be changed");
  }
  return outcome;
}

}  // namespace waggle
