#include "cli/replay/inspect.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr int64_t kMaxPage = 1000;  // The server's limit.
constexpr uint64_t kFullBytes = uint64_t{32} << 20;
constexpr uint64_t kShownBytes = uint64_t{1} << 20;

v1::InspectRequest::Order OrderOf(const std::string& name) {
  return name == "key"       ? v1::InspectRequest::ORDER_KEY
         : name == "oldest"  ? v1::InspectRequest::ORDER_OLDEST
         : name == "highest" ? v1::InspectRequest::ORDER_HIGHEST_PRIORITY
         : name == "lowest"  ? v1::InspectRequest::ORDER_LOWEST_PRIORITY
                             : v1::InspectRequest::ORDER_NEWEST;
}

v1::InspectRequest RequestFor(const TableQuestion& question, const ReplayServers& servers) {
  v1::InspectRequest request;
  request.set_table(servers.TableName(question.table));
  if (question.item.has_value()) {
    request.add_keys(*question.item);
    request.set_columns(true);
    request.set_max_column_bytes(question.in_full ? kFullBytes : kShownBytes);
    return request;
  }
  for (const uint64_t key : question.keys) {
    request.add_keys(key);
  }
  request.set_order(OrderOf(question.order));
  request.set_page_token(question.page);
  request.set_statistics(question.page.empty() && question.keys.empty());
  return request;
}

// Asks for pages until there are `limit` items.
absl::Status AskPages(v1::InspectRequest request, int64_t limit, absl::Duration timeout, ReplayServers* servers,
                      size_t server, v1::InspectResponse* response) {
  do {
    const int64_t left = limit - response->items_size();
    request.set_page_size(static_cast<uint32_t>(std::min(left, kMaxPage)));
    v1::InspectResponse page;
    WAGGLE_RETURN_IF_ERROR(servers->Ask(server, &v1::ReplayService::Stub::Inspect, request, timeout, &page));
    request.set_page_token(page.next_page_token());
    request.set_statistics(false);
    response->clear_next_page_token();
    response->MergeFrom(page);
  } while (request.keys().empty() && !request.page_token().empty() && response->items_size() < limit);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inspections> AskInspect(const TableQuestion& question, absl::Duration timeout, ReplayServers* servers) {
  if (!question.page.empty() && servers->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a page is of one server: name one of the ", servers->size(), " with --replay-server"));
  }
  Inspections inspections;
  absl::Status error;
  for (size_t i = 0; i < servers->size(); ++i) {
    ReplayAnswer<v1::InspectResponse> answer;
    answer.address = servers->address(i);
    answer.status = AskPages(RequestFor(question, *servers), question.limit, timeout, servers, i, &answer.response);
    if (!answer.status.ok()) {
      error = MoreTelling(error, Annotate(answer.status, absl::StrCat("the replay server at ", answer.address)));
    }
    if (!absl::IsNotFound(answer.status)) {  // The table, or the item, need not be on every server.
      inspections.push_back(std::move(answer));
    }
  }
  const bool any = std::any_of(inspections.begin(), inspections.end(), [](const auto& one) { return one.status.ok(); });
  if (!any) {
    return error;
  }
  return inspections;
}

}  // namespace waggle
