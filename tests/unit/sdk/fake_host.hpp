// A host as small as the layer's tests need it: a graph written down by hand, statuses that can be looked at, and the
// calls that a real host makes, in its order.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "support/plain_calls.hpp"

namespace fake {

// How many statuses there are that nobody has freed.
class Counted {
 public:
  static inline std::atomic<int> alive{0};
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  ~Counted() { --alive; }
};

}  // namespace fake

struct deputy_status {
  deputy_code code;
  deputy_node_id node;
  std::string message;
  fake::Counted counted{};
};

namespace fake {

struct StatusDeleter {
  void operator()(deputy_status* status) const { delete status; }
};
using StatusPtr = std::unique_ptr<deputy_status, StatusDeleter>;

// The bytes of a primitive; attributes are added in any order.
class PrimitiveBytes {
 public:
  explicit PrimitiveBytes(std::string op_type, int32_t since = 1, std::string domain = {})
      : op_type_(std::move(op_type)), domain_(std::move(domain)), since_(since) {}

  PrimitiveBytes& Int(const std::string& name, int64_t value);
  PrimitiveBytes& Float(const std::string& name, float value);
  PrimitiveBytes& String(const std::string& name, const std::string& value);
  PrimitiveBytes& Ints(const std::string& name, const std::vector<int64_t>& values);
  PrimitiveBytes& Strings(const std::string& name, const std::vector<std::string>& values);
  PrimitiveBytes& Tensor(const std::string& name, int32_t dtype, const std::vector<int64_t>& dims,
                         const std::vector<uint8_t>& bytes);

  const std::vector<uint64_t>& Finish();  // words, so that the bytes are aligned
  const deputy::schema::Primitive* table() { return flatbuffers::GetRoot<deputy::schema::Primitive>(Finish().data()); }

 private:
  using Offset = flatbuffers::Offset<deputy::schema::Attribute>;
  std::string op_type_, domain_;
  int32_t since_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<Offset> attributes_;
  std::vector<uint64_t> finished_;
};

struct Value {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> constant;
  bool is_constant = false;
  deputy_dtype dtype = DEPUTY_DTYPE_FLOAT32;
};

struct Node {
  std::string op_type;
  std::vector<deputy_value_id> inputs, outputs;
  bool offered = true;
  uint32_t since = 1;
  std::function<void(PrimitiveBytes&)> attributes{};
  std::string domain{};
};

struct Claim {
  std::vector<deputy_node_id> nodes;
  std::vector<deputy_value_id> inputs, outputs;
  void* handle;
};

// Also what stands behind deputy_graph: the one graph that this host has.
class Host {
 public:
  Host();

  // Values are float32 of extents {2} unless said otherwise.
  deputy_value_id AddValue(const std::string& name, std::vector<int64_t> dims = {2});
  deputy_value_id AddConstant(const std::string& name, std::vector<float> elements, std::vector<int64_t> dims = {});
  deputy_node_id AddNode(Node node);
  // A chain of one-input nodes: value 0 -> ops[0] -> value 1 -> ...; the last value is the graph's output.
  void AddChain(const std::vector<std::string>& op_types);

  const deputy_host* table() const { return &table_; }
  const deputy_graph* graph() const { return reinterpret_cast<const deputy_graph*>(this); }

  std::deque<Value> values;
  std::deque<Node> nodes;
  std::vector<deputy_value_id> inputs, outputs;
  std::vector<std::string> log;
  bool refuse_claims = false;
  bool fail_value_info = false;
  uint64_t clock_ns = 0;
  std::map<std::string, const void*> extensions;

  struct Answer {
    deputy_reason reason;
    std::string detail;
  };
  std::map<deputy_node_id, Answer> answers;
  std::vector<Claim> claims;
  deputy_support_sink support_sink();
  deputy_claim_sink claim_sink();

 private:
  std::deque<PrimitiveBytes> primitives_;
  std::mutex mutex_;
  deputy_host table_{};
};

// A delegate of a plugin's table, opened: calls as a host makes them.
class Opened {
 public:
  Opened(Host& host, const deputy_delegate* delegate,
         const std::vector<std::pair<std::string, std::string>>& options = {}, const std::string& device = {},
         uint32_t flags = 0);
  ~Opened();

  bool ok() const { return instance_ != nullptr; }
  const deputy_status* failure() const { return failure_.get(); }
  deputy_instance* instance() { return instance_; }
  const deputy_delegate* delegate() const { return delegate_; }

  StatusPtr QuerySupport();
  StatusPtr Propose();
  StatusPtr Release(const Claim& claim);
  // A claim's partition, or nodes with their border.
  StatusPtr Compile(const Claim& partition, deputy_executable** out);

 private:
  Host& host_;
  const deputy_delegate* delegate_;
  deputy_instance* instance_ = nullptr;
  StatusPtr failure_;
};

// Runs a context on vectors of floats; the tensors have one extent each.
StatusPtr Execute(const deputy_delegate* delegate, deputy_context* context,
                  const std::vector<std::vector<float>>& inputs, std::vector<std::vector<float>>& outputs,
                  uint64_t deadline_ns = 0);

}  // namespace fake
