#include "partition/support.hpp"

#include "base/log.hpp"

namespace deputy::host {

const SupportMatrix::Row& SupportMatrix::Of(Delegate& delegate, const GraphView& view) {
  const auto [found, is_new] = rows_.try_emplace({view.graph, &delegate});
  Row& row = found->second;
  if (!is_new) return row;
  row.verdicts.resize(view.graph->nodes.size());
  const Status status = delegate.QuerySupport(view, row.verdicts);
  if (status.ok()) return row;
  Log(LogLevel::kWarning, "{}: {}", delegate.name(), status.ToString());
  row.answered = false;
  for (NodeId node = 0; node < row.verdicts.size(); ++node)
    if (view.offered[node]) row.verdicts[node] = {Reason::kOther, status.message()};
  return row;
}

}  // namespace deputy::host
