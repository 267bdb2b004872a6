#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/operator.hpp"
#include "graph/passes/constants.hpp"
#include "graph/passes/editor.hpp"
#include "graph/passes/passes.hpp"

namespace deputy::host {
namespace {

constexpr size_t kSmallConstant = 64;  // bytes; comparing larger ones would read the weights

void Mix(size_t& hash, size_t value) { hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2); }

std::string_view BytesOf(const Tensor& tensor) { return {static_cast<const char*>(tensor.data()), tensor.byte_size()}; }

std::string_view BytesOf(const Primitive& primitive) {
  return {reinterpret_cast<const char*>(primitive.bytes().data()), primitive.bytes().size()};
}

class Merger {
 public:
  explicit Merger(Graph& graph) : editor_(graph), same_as_(graph.values.size()), constants_(0, {this}, {this}) {
    for (ValueId id = 0; id < same_as_.size(); ++id) {
      same_as_[id] = id;
      const Value& value = graph.values[id];
      // Text is compared by its bytes only if they hold it.
      if (value.is_constant() && value.constant.byte_size() <= kSmallConstant && value.type.dtype != DType::kString)
        same_as_[id] = *constants_.insert(id).first;
    }
  }

  void Run() {
    const size_t count = editor_.graph().nodes.size();
    // An open-addressing table of the first node of each kind: a set would allocate each of its entries.
    std::vector<NodeId> table(std::bit_ceil(2 * count + 1), kNone);
    std::vector<size_t> hashes(count);
    for (NodeId id = 0; id < count; ++id) {
      editor_.ResolveReads(editor_.node(id));
      if (!IsPure(editor_.node(id))) continue;
      hashes[id] = HashOf(id);
      size_t slot = hashes[id] & (table.size() - 1);
      while (table[slot] != kNone && (hashes[table[slot]] != hashes[id] || !AreEqual(table[slot], id)))
        slot = (slot + 1) & (table.size() - 1);
      if (table[slot] == kNone) {
        table[slot] = id;
      } else {
        editor_.MergeInto(id, table[slot]);
      }
    }
    editor_.Finish();
  }

 private:
  struct ConstantHash {
    const Merger* merger;
    size_t operator()(ValueId id) const {
      return std::hash<std::string_view>()(BytesOf(merger->editor_.value(id).constant));
    }
  };
  struct ConstantEqual {
    const Merger* merger;
    bool operator()(ValueId a, ValueId b) const {
      const Value &x = merger->editor_.value(a), &y = merger->editor_.value(b);
      return x.type.dtype == y.type.dtype && x.type.dims == y.type.dims && BytesOf(x.constant) == BytesOf(y.constant);
    }
  };
  size_t HashOf(NodeId id) const {
    const Node& node = editor_.graph().nodes[id];
    size_t hash = std::hash<std::string_view>()(BytesOf(node.primitive));
    for (const ValueId input : node.inputs) Mix(hash, Same(input));
    return hash;
  }
  bool AreEqual(NodeId a, NodeId b) const {
    const Node &x = editor_.graph().nodes[a], &y = editor_.graph().nodes[b];
    return BytesOf(x.primitive) == BytesOf(y.primitive) && x.outputs.size() == y.outputs.size() &&
           std::equal(x.inputs.begin(), x.inputs.end(), y.inputs.begin(), y.inputs.end(),
                      [this](ValueId i, ValueId j) { return Same(i) == Same(j); });
  }

  ValueId Same(ValueId id) const { return id == kNone ? kNone : same_as_[id]; }

  // An unknown operator may be random too, and so is a Dropout that trains.
  static bool IsPure(const Node& node) {
    return node.kind() != OpKind::kOther && node.kind() != OpKind::kDropout && !DrawsNumbers(node.kind()) &&
           node.regions.empty();
  }

  GraphEditor editor_;
  std::vector<ValueId> same_as_;
  std::unordered_set<ValueId, ConstantHash, ConstantEqual> constants_;
};

}  // namespace

void MergeDuplicates(Graph& graph) { Merger(graph).Run(); }

}  // namespace deputy::host
