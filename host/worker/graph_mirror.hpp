// The model as a plugin in a worker process sees it, for the time of one call: asks the host on the channel of the
// call, and remembers the answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/graph.h"
#include "worker/host_channel.hpp"
#include "worker/kept_bytes.hpp"

namespace deputy::host {

// [any-thread]
class GraphMirror {
 public:
  GraphMirror(HostChannel& channel, ByteStore& store);
  ~GraphMirror();
  GraphMirror(const GraphMirror&) = delete;
  GraphMirror& operator=(const GraphMirror&) = delete;

  const deputy_graph* handle() const { return reinterpret_cast<const deputy_graph*>(this); }
  // Null for NULL and for a handle that a plugin has kept for longer than its call.
  static GraphMirror* Of(const deputy_graph* graph);
  HostChannel& channel() { return channel_; }
  // For what the call makes.
  const std::shared_ptr<Keep>& keep() const { return keep_; }

  const std::vector<deputy_node_id>& Order();
  const std::vector<deputy_value_id>& GraphEnds(Function which);  // kGraphInputs or kGraphOutputs
  deputy_status* NodeInfo(deputy_node_id node, deputy_node_info* out);
  deputy_status* ValueInfo(deputy_value_id value, deputy_value_info* out);
  deputy_status* Attribute(deputy_node_id node, const char* name, deputy_attribute* out);
  deputy_status* ConstantRead(deputy_value_id value, uint64_t offset, uint64_t size, void* to);
  deputy_status* ConstantFile(deputy_value_id value, int32_t* descriptor, uint64_t* offset);
  deputy_status* NamedData(deputy_str key, const void** data, uint64_t* size);

 private:
  deputy_status* Constant(ValueForm& value);

  using Ordered = std::optional<std::vector<uint32_t>>;
  const std::vector<uint32_t>& List(Function which, Ordered& list);

  HostChannel& channel_;
  ByteStore& store_;
  const std::shared_ptr<Keep> keep_;
  std::mutex mutex_;
  Ordered order_, inputs_, outputs_;
  std::map<deputy_node_id, std::unique_ptr<Received<Reply<NodeForm>>>> nodes_;
  std::map<deputy_value_id, std::unique_ptr<Received<Reply<ValueForm>>>> values_;
  std::map<std::pair<deputy_node_id, std::string>, std::shared_ptr<Received<Reply<deputy_attribute>>>> attributes_;
  std::map<deputy_value_id, std::pair<int32_t, uint64_t>> files_;
};

}  // namespace deputy::host
