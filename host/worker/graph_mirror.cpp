#include "worker/graph_mirror.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace deputy::host {
namespace {

constexpr uint64_t kMostRead = 8u << 20;
// In place of a size: the key is the host's number of a file.
constexpr uint64_t kIsFile = UINT64_MAX;

deputy_status* Invalid(std::string_view text) { return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, text); }

// As much of `full` as the caller's struct has.
template <class T>
deputy_status* Fill(const T& full, T* out) {
  if (out == nullptr) return Invalid("the output struct must not be NULL");
  const size_t room = std::min<size_t>(out->struct_size, sizeof(T));
  if (room < sizeof(uint32_t)) return Invalid("the struct_size is too small");
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t), reinterpret_cast<const char*>(&full) + sizeof(uint32_t),
              room - sizeof(uint32_t));
  return nullptr;
}

// The mirrors of the calls in progress.
struct Live {
  std::mutex mutex;
  std::set<const GraphMirror*> mirrors;
};
Live& LiveMirrors() {
  static auto* const live = new Live;  // a plugin's thread may outlive every destructor
  return *live;
}

}  // namespace

GraphMirror::GraphMirror(HostChannel& channel, ByteStore& store)
    : channel_(channel), store_(store), keep_(std::make_shared<Keep>()) {
  const std::lock_guard lock(LiveMirrors().mutex);
  LiveMirrors().mirrors.insert(this);
}

GraphMirror::~GraphMirror() {
  const std::lock_guard lock(LiveMirrors().mutex);
  LiveMirrors().mirrors.erase(this);
}

GraphMirror* GraphMirror::Of(const deputy_graph* graph) {
  auto* mirror = const_cast<GraphMirror*>(reinterpret_cast<const GraphMirror*>(graph));
  const std::lock_guard lock(LiveMirrors().mutex);
  return LiveMirrors().mirrors.count(mirror) != 0 ? mirror : nullptr;
}

const std::vector<uint32_t>& GraphMirror::List(Function which, Ordered& list) {
  const std::lock_guard lock(mutex_);
  if (!list) {
    const auto reply = channel_.Ask<Ids>(which, WireNumber());
    const Ids& ids = (*reply)->payload;
    list.emplace(ids.ids, ids.ids + (ids.ids == nullptr ? 0 : ids.count));
  }
  return *list;
}

const std::vector<deputy_node_id>& GraphMirror::Order() { return List(Function::kGraphOrder, order_); }

const std::vector<deputy_value_id>& GraphMirror::GraphEnds(Function which) {
  return List(which, which == Function::kGraphInputs ? inputs_ : outputs_);
}

deputy_status* GraphMirror::NodeInfo(deputy_node_id node, deputy_node_info* out) {
  const std::lock_guard lock(mutex_);
  auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    auto reply = channel_.Ask<NodeForm>(Function::kNodeInfo, WireNumber{node});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    NodeForm& form = (*reply)->payload;
    const ByteStore::Key key{form.key, form.primitive.size};
    std::shared_ptr<const KeptBytes> primitive = store_.Find(key);
    if (primitive == nullptr) primitive = store_.AddCopy(key, form.primitive);
    form.info.primitive = form.key == 0 ? nullptr : primitive->data;
    form.info.primitive_size = form.primitive.size;
    keep_->Hold(std::move(primitive));
    found = nodes_.emplace(node, std::move(reply)).first;
  }
  return Fill((*found->second)->payload.info, out);
}

deputy_status* GraphMirror::Constant(ValueForm& value) {
  if (value.key == 0) return nullptr;
  const ByteStore::Key key{value.key, value.info.byte_size};
  std::shared_ptr<const KeptBytes> bytes = store_.Find(key);
  if (bytes == nullptr && value.small.data != nullptr) bytes = store_.AddCopy(key, value.small);
  if (bytes == nullptr) {
    auto reply = channel_.Ask<TwoNumbers>(Function::kConstantBytes, WireNumber{value.info.id});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    if (reply->descriptors().size() != 1) EndWorker();
    std::shared_ptr<const Mapping> mapping =
        Mapping::Of(reply->descriptors().front().get(), (*reply)->payload.second, value.info.byte_size, false);
    if (mapping == nullptr) return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "a constant cannot be mapped");
    const uint8_t* data = mapping->data();
    bytes = store_.Add(key, {data, std::move(mapping), -1});
  }
  value.info.constant = bytes->data;
  keep_->Hold(std::move(bytes));
  return nullptr;
}

deputy_status* GraphMirror::ValueInfo(deputy_value_id value, deputy_value_info* out) {
  const std::lock_guard lock(mutex_);
  auto found = values_.find(value);
  if (found == values_.end()) {
    auto reply = channel_.Ask<ValueForm>(Function::kValueInfo, WireNumber{value});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    if (deputy_status* failure = Constant((*reply)->payload)) return failure;
    found = values_.emplace(value, std::move(reply)).first;
  }
  return Fill((*found->second)->payload.info, out);
}

deputy_status* GraphMirror::Attribute(deputy_node_id node, const char* name, deputy_attribute* out) {
  if (name == nullptr) return NewStatus(DEPUTY_INVALID_ARGUMENT, node, "the attribute name must not be NULL");
  const std::lock_guard lock(mutex_);
  const std::string text(name);
  auto found = attributes_.find({node, text});
  if (found == attributes_.end()) {
    std::shared_ptr<Received<Reply<deputy_attribute>>> reply =
        channel_.Ask<deputy_attribute>(Function::kNodeAttribute, AttributeName{node, {text.c_str(), text.size()}});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    keep_->Hold(reply);
    found = attributes_.emplace(std::pair{node, text}, std::move(reply)).first;
  }
  return Fill((*found->second)->payload, out);
}

deputy_status* GraphMirror::ConstantRead(deputy_value_id value, uint64_t offset, uint64_t size, void* to) {
  if (size != 0 && to == nullptr) return Invalid("'to' must not be NULL");
  if (offset + size < offset) return Invalid("the bytes are outside of the constant");
  uint64_t done = 0;
  do {  // also when there is nothing to read: the host checks the value
    const uint64_t piece = std::min(size - done, kMostRead);
    const auto reply = channel_.Ask<WireBytes>(Function::kConstantRead, ConstantRange{value, offset + done, piece});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    if ((*reply)->payload.size != piece) EndWorker();
    if (piece != 0) std::memcpy(static_cast<uint8_t*>(to) + done, (*reply)->payload.data, piece);
    done += piece;
  } while (done < size);
  return nullptr;
}

deputy_status* GraphMirror::ConstantFile(deputy_value_id value, int32_t* descriptor, uint64_t* offset) {
  if (descriptor == nullptr || offset == nullptr) return Invalid("descriptor and offset must not be NULL");
  const std::lock_guard lock(mutex_);
  auto found = files_.find(value);
  if (found == files_.end()) {
    auto reply = channel_.Ask<TwoNumbers>(Function::kConstantFile, WireNumber{value});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    if (reply->descriptors().size() != 1) EndWorker();
    const ByteStore::Key key{(*reply)->payload.first, kIsFile};
    std::shared_ptr<const KeptBytes> file = store_.Find(key);
    if (file == nullptr) {
      const auto owner = std::make_shared<const Descriptor>(std::move(reply->descriptors().front()));
      const int number = owner->get();
      file = store_.Add(key, {nullptr, std::move(owner), number});
    }
    found = files_.emplace(value, std::pair{file->descriptor, (*reply)->payload.second}).first;
    keep_->Hold(std::move(file));
  }
  *descriptor = found->second.first;
  *offset = found->second.second;
  return nullptr;
}

deputy_status* GraphMirror::NamedData(deputy_str key, const void** data, uint64_t* size) {
  const auto reply = channel_.Ask<NamedBytes>(Function::kNamedData, WireText{key});
  if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
  const NamedBytes& named = (*reply)->payload;
  *data = nullptr;
  *size = named.bytes.size;
  if (named.key == 0) return nullptr;
  std::shared_ptr<const KeptBytes> bytes = store_.Find({named.key, named.bytes.size});
  if (bytes == nullptr) bytes = store_.AddCopy({named.key, named.bytes.size}, named.bytes);
  *data = bytes->data;
  keep_->Hold(std::move(bytes));
  return nullptr;
}

}  // namespace deputy::host
