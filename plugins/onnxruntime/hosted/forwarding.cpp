#include "forwarding.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>

namespace ort {
namespace {

thread_local Question* current_question = nullptr;

// The library of an EP that was opened.
struct Library {
  std::string path;
  CreateEpFactories create = nullptr;
  ReleaseEpFactory release = nullptr;
  std::vector<EpFactory*> factories;
  std::vector<std::string> names;
};

// Copies of ONNX Runtime's tables that the EPs get, with functions of this file in some slots, and what these replace.
struct Forwarded {
  const Runtime* runtime = nullptr;
  ApiBase base{};
  std::vector<Function> api, ep_api;
  Status* (*add_nodes)(EpGraphSupportInfo*, const Node* const*, size_t, const NodeFusionOptions*) = nullptr;
  Status* (*add_node)(EpGraphSupportInfo*, const Node*) = nullptr;
  std::mutex mutex;
  std::map<std::string, Library> libraries;  // by registered name
  std::map<const EpFactory*, decltype(EpFactory::CreateEp)> create_ep;
};

// For the process, like the environment: the functions in the tables have no other way to their data.
Forwarded& TheForwarded() {
  static auto* forwarded = new Forwarded;
  return *forwarded;
}

// A table has more slots than are known here, of later versions: as many as its memory holds, up to a bound.
std::vector<Function> CopyOf(const void* table, size_t known) {
  struct Search {
    uintptr_t at, end;
  } search{reinterpret_cast<uintptr_t>(table), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* found = static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD && found->at >= begin && found->at < begin + header.p_memsz)
            found->end = begin + header.p_memsz;
        }
        return 0;
      },
      &search);
  constexpr size_t kMost = 1024;
  const size_t room = search.end == 0 ? known : (search.end - search.at) / sizeof(Function);
  const auto* functions = static_cast<const Function*>(table);
  return std::vector<Function>(functions, functions + std::max(known, std::min(room, kMost)));
}

Status* Failure(const char* message) { return TheForwarded().runtime->functions().CreateStatus(kFail, message); }

// Functions of the tables.

Status* AddNodesToFuse(EpGraphSupportInfo* info, const Node* const* nodes, size_t count,
                       const NodeFusionOptions* options) {
  Question* question = current_question;
  if (question == nullptr || !question->is_listening()) return TheForwarded().add_nodes(info, nodes, count, options);
  try {
    question->Add(nodes, count);
    return nullptr;
  } catch (const std::exception& error) {
    return Failure(error.what());
  }
}

Status* AddSingleNode(EpGraphSupportInfo* info, const Node* node) {
  Question* question = current_question;
  if (question == nullptr || !question->is_listening()) return TheForwarded().add_node(info, node);
  try {
    question->Add(&node, 1);
    return nullptr;
  } catch (const std::exception& error) {
    return Failure(error.what());
  }
}

const EpApi* ForwardedEpApi() { return reinterpret_cast<const EpApi*>(TheForwarded().ep_api.data()); }

// All versions are one table, that of the newest.
const Api* ForwardedApi(uint32_t version) {
  if (version == 0 || TheForwarded().base.GetApi == nullptr) return nullptr;
  return TheForwarded().base.GetApi(version) == nullptr ? nullptr
                                                        : reinterpret_cast<const Api*>(TheForwarded().api.data());
}
const char* ForwardedVersion() { return TheForwarded().base.GetVersionString(); }

Status* Capability(Ep* ep, const Graph* graph, EpGraphSupportInfo* info) {
  // Only EPs that were made while a question was asked have this function, which is called while their session is made.
  if (current_question == nullptr) return Failure("the EP belongs to a session that was only asked");
  try {
    return current_question->Capability(ep, graph, info);
  } catch (const std::exception& error) {
    return Failure(error.what());
  }
}

Status* CreateEp(EpFactory* factory, const HardwareDevice* const* devices, const KeyValuePairs* const* metadata,
                 size_t count, const SessionOptions* options, const Logger* logger, Ep** ep) {
  Forwarded& forwarded = TheForwarded();
  decltype(EpFactory::CreateEp) original = nullptr;
  {
    const std::lock_guard<std::mutex> lock(forwarded.mutex);
    const auto found = forwarded.create_ep.find(factory);
    if (found != forwarded.create_ep.end()) original = found->second;
  }
  if (original == nullptr) return Failure("the factory is not known");
  Status* status = original(factory, devices, metadata, count, options, logger, ep);
  if (status == nullptr && current_question != nullptr && ep != nullptr && *ep != nullptr) current_question->Watch(*ep);
  return status;
}

Status* CreateFactories(const char* name, const ApiBase*, const Logger* logger, EpFactory** factories, size_t most,
                        size_t* count) {
  static const ApiBase kBase{&ForwardedApi, &ForwardedVersion};
  Forwarded& forwarded = TheForwarded();
  try {
    const std::lock_guard<std::mutex> lock(forwarded.mutex);
    const auto found = forwarded.libraries.find(name);
    if (found == forwarded.libraries.end()) return Failure("the library is not known");
    Library& library = found->second;
    if (Status* status = library.create(name, &kBase, logger, factories, most, count)) return status;
    for (size_t i = 0; i < *count; ++i) {
      EpFactory* factory = factories[i];
      if (factory == nullptr || factory->GetName == nullptr || factory->CreateEp == nullptr)
        return Failure("the library made a factory without the functions that all have");
      library.factories.push_back(factory);
      library.names.emplace_back(factory->GetName(factory));
      forwarded.create_ep[factory] = factory->CreateEp;
      factory->CreateEp = &CreateEp;
    }
    return nullptr;
  } catch (const std::exception& error) {
    return Failure(error.what());
  }
}

Status* ReleaseFactory(EpFactory* factory) {
  Forwarded& forwarded = TheForwarded();
  ReleaseEpFactory release = nullptr;
  {
    const std::lock_guard<std::mutex> lock(forwarded.mutex);
    forwarded.create_ep.erase(factory);
    for (auto& [name, library] : forwarded.libraries)
      if (std::find(library.factories.begin(), library.factories.end(), factory) != library.factories.end())
        release = library.release;
  }
  return release == nullptr ? nullptr : release(factory);
}

}  // namespace

namespace forwarding {

std::vector<std::string> ProvidersOf(const std::string& library) {
  Forwarded& forwarded = TheForwarded();
  const std::lock_guard<std::mutex> lock(forwarded.mutex);
  for (const auto& [name, opened] : forwarded.libraries)
    if (opened.path == library) return opened.names;
  return {};
}

sdk::Result<std::string> Prepare(const Runtime& runtime, const std::string& library, const std::string& name) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return CannotOpenProvider(library, dlerror());
  Library opened;
  opened.path = library;
  opened.create = reinterpret_cast<CreateEpFactories>(dlsym(handle, "CreateEpFactories"));
  opened.release = reinterpret_cast<ReleaseEpFactory>(dlsym(handle, "ReleaseEpFactory"));
  if (opened.create == nullptr || opened.release == nullptr)
    return sdk::Status(sdk::Code::kIncompatible,
                       "'" + library +
                           "' does not export CreateEpFactories and ReleaseEpFactory: it is no library of "
                           "a plugin execution provider");
  Forwarded& forwarded = TheForwarded();
  {
    const std::lock_guard<std::mutex> lock(forwarded.mutex);
    const auto found = forwarded.libraries.find(name);
    if (found != forwarded.libraries.end() && found->second.path != library)
      return sdk::Status(sdk::Code::kFailedPrecondition,
                         "'" + found->second.path + "' is open, and '" + library + "' has the same name");
  }
  if (forwarded.runtime == nullptr) {
    forwarded.runtime = &runtime;
    forwarded.base = runtime.base();
    forwarded.api = CopyOf(runtime.table(), static_cast<size_t>(Slot::kCount));
    const EpApi* ep_api = runtime.functions().GetEpApi();
    forwarded.ep_api = CopyOf(ep_api, static_cast<size_t>(EpSlot::EpGraphSupportInfo_LookUpKernel) + 1);
    const auto slot = [&](EpSlot which) -> Function& { return forwarded.ep_api[static_cast<size_t>(which)]; };
    forwarded.add_nodes =
        reinterpret_cast<decltype(forwarded.add_nodes)>(slot(EpSlot::EpGraphSupportInfo_AddNodesToFuse));
    forwarded.add_node = reinterpret_cast<decltype(forwarded.add_node)>(slot(EpSlot::EpGraphSupportInfo_AddSingleNode));
    slot(EpSlot::EpGraphSupportInfo_AddNodesToFuse) = reinterpret_cast<Function>(&AddNodesToFuse);
    slot(EpSlot::EpGraphSupportInfo_AddSingleNode) = reinterpret_cast<Function>(&AddSingleNode);
    forwarded.api[static_cast<size_t>(Slot::GetEpApi)] = reinterpret_cast<Function>(&ForwardedEpApi);
  }
  // The forwarder lies beside this plugin.
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&Prepare), &self) == 0 || self.dli_fname == nullptr)
    return sdk::Status(sdk::Code::kInternal, "the plugin cannot find its own file");
  const std::string own = self.dli_fname;
  const std::string path = own.substr(0, own.rfind('/') + 1) + "libdeputy_ort_forwarder.so.1";
  void* forwarder = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (forwarder == nullptr)
    return sdk::Status(sdk::Code::kNotFound,
                       "cannot open a file that belongs to this plugin: " + std::string(dlerror()));
  using Forward = void (*)(CreateEpFactories, ReleaseEpFactory);
  const auto forward = reinterpret_cast<Forward>(dlsym(forwarder, "deputy_ort_forward"));
  if (forward == nullptr) return sdk::Status(sdk::Code::kIncompatible, "'" + path + "' is of another version");
  forward(&CreateFactories, &ReleaseFactory);
  const std::lock_guard<std::mutex> lock(forwarded.mutex);
  forwarded.libraries[name] = std::move(opened);
  return path;
}

}  // namespace forwarding

Question::Question(const Runtime& runtime, const std::vector<std::string>& nodes, Aim aim, LogScope& log)
    : runtime_(runtime), aim_(aim), log_(log), outer_(current_question), answers_(nodes.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) index_of_[nodes[i]] = i;
  current_question = this;
}

Question::~Question() { current_question = outer_; }

void Question::Watch(Ep* ep) {
  if (ep->GetCapability == nullptr) return;
  capability_ = ep->GetCapability;
  ep->GetCapability = &ort::Capability;
}

void Question::Add(const Node* const* nodes, size_t count) { taken_.insert(taken_.end(), nodes, nodes + count); }

Status* Question::Capability(Ep* ep, const Graph* graph, EpGraphSupportInfo* info) {
  // Called again for a graph in which nodes were fused.
  if (takes_whole_) return capability_(ep, graph, info);
  const Functions& functions = runtime_.functions();
  size_t count = 0;
  if (Status* status = functions.Graph_GetNumNodes(graph, &count)) return status;
  std::vector<const Node*> nodes(count);
  if (Status* status = functions.Graph_GetNodes(graph, nodes.data(), count)) return status;
  was_asked_ = true;
  taken_.clear();
  is_listening_ = true;
  Status* failed = capability_(ep, graph, info);
  is_listening_ = false;
  if (failed != nullptr) functions.ReleaseStatus(failed);
  const std::set<const Node*> distinct(taken_.begin(), taken_.end());
  if (aim_ == Aim::kWhole) {
    if (failed != nullptr || distinct.size() < count) return functions.CreateStatus(kFail, "not all nodes are taken");
    takes_whole_ = true;
    log_.SetQuiet(false);  // what follows is the compilation
    return capability_(ep, graph, info);
  }
  return AskEach(ep, graph, info, nodes);
}

Status* Question::AskEach(Ep* ep, const Graph* graph, EpGraphSupportInfo* info, const std::vector<const Node*>& nodes) {
  const Functions& functions = runtime_.functions();
  const std::set<const Node*> together(taken_.begin(), taken_.end());
  for (const Node* node : nodes) {
    const char* name = nullptr;
    if (Status* status = functions.Node_GetName(node, &name)) return status;
    const auto found = index_of_.find(name == nullptr ? "" : name);
    if (found == index_of_.end()) continue;
    Answer& answer = answers_[found->second];
    answer.is_taken = together.count(node) != 0;
    if (answer.is_taken) continue;
    Graph* view = nullptr;
    const Node* alone = node;
    if (Status* status = functions.Graph_GetGraphView(graph, &alone, 1, &view)) return status;
    const auto owned = runtime_.Own(view, functions.ReleaseGraph);
    taken_.clear();
    log_.Clear();
    is_listening_ = true;
    Status* failed = capability_(ep, view, info);
    is_listening_ = false;
    answer.is_taken = failed == nullptr && !taken_.empty();
    if (failed != nullptr) {
      answer.reason = functions.GetErrorMessage(failed);
      functions.ReleaseStatus(failed);
    } else if (!answer.is_taken) {
      answer.reason = log_.last();
    }
  }
  return functions.CreateStatus(kFail, "all answers are known");
}

}  // namespace ort
