#include "cli/graph/graph_page.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/graph/delegate_colour.hpp"
#include "cli/graph/page_template.hpp"
#include "cli/report/attribute_text.hpp"
#include "cli/report/json_report.hpp"
#include "deputy/printable.hpp"
#include "deputy/version.hpp"

namespace deputy::cli {
namespace {

// A list of different entries; each is written once and referred to by its index.
template <class Key>
class Entries {
 public:
  // `make` returns the entry of a new key.
  template <class Make>
  size_t IndexOf(const Key& key, const Make& make) {
    const auto [found, is_new] = index_.emplace(key, list_.size());
    if (is_new) list_.push_back(make());
    return found->second;
  }
  Json& list() { return list_; }

 private:
  std::map<Key, size_t> index_;
  Json list_ = Json::array();
};

// The data of the page. host/cli/page/graph.js reads it and documents its keys.
class PageData {
 public:
  PageData(const PlacedGraph& graph, const MeasuredRun* measured)
      : graph_(graph), report_(graph.placement), measured_(measured) {
    for (const DelegateReport& delegate : report_.delegates) delegates_.emplace(delegate.name, delegates_.size());
    for (const PlacedRegion& region : graph.regions) regions_.emplace(region.path, regions_.size());
  }

  Json Make(const std::string& model) {
    Json nodes = Json::array(), regions = Json::array();
    Json partitions = Partitions();  // before the nodes, which name them
    for (const PlacedRegion& region : graph_.regions)
      regions.push_back({{"path", Printable(region.path)},
                         {"inputs", Values(region.path, region.inputs)},
                         {"outputs", Values(region.path, region.outputs)},
                         {"captured", Values(region.path, region.captured)}});
    for (size_t i = 0; i < report_.nodes.size(); ++i) nodes.push_back(Node(report_.nodes[i], graph_.nodes[i]));
    return {{"model", Printable(model)},
            {"version", DEPUTY_VERSION},
            {"summary", Printable(report_.summary)},
            {"multiply_adds", report_.multiply_adds},
            {"delegates", Delegates()},
            {"partitions", std::move(partitions)},
            {"regions", std::move(regions)},
            {"nodes", std::move(nodes)},
            {"values", std::move(values_.list())},
            {"refusals", std::move(refusals_.list())},
            {"checks", std::move(checks_)},
            {"measured", Measured()}};
  }

 private:
  Json Delegates() const {
    Json list = Json::array();
    for (size_t i = 0; i < report_.delegates.size(); ++i) {
      const DelegateReport& delegate = report_.delegates[i];
      Json options = Json::array();
      for (const auto& [name, value] : delegate.options) options.push_back({Printable(name), Printable(value)});
      list.push_back({{"name", Printable(delegate.name)},
                      {"plugin", Printable(std::filesystem::path(delegate.plugin).filename().string())},
                      {"colour", DelegateColour(i, report_.delegates.size())},
                      {"nodes", delegate.nodes},
                      {"partitions", delegate.partitions},
                      {"multiply_adds", delegate.multiply_adds},
                      {"options", std::move(options)},
                      {"device", Printable(delegate.device.device)}});
    }
    return list;
  }

  Json Partitions() {
    Json list = Json::array();
    for (const PartitionReport& partition : report_.partitions) {
      partitions_.emplace(std::pair(partition.region, partition.name), list.size());
      Json made = {{"name", Printable(partition.name)},  {"delegate", delegates_.at(partition.delegate)},
                   {"nodes", partition.nodes.size()},    {"multiply_adds", partition.multiply_adds},
                   {"executable", partition.executable}, {"replaces", Printable(partition.replaces)},
                   {"inputs", partition.inputs.size()},  {"outputs", partition.outputs.size()}};
      if (partition.estimate.latency_ns >= 0) made["estimated_ns"] = partition.estimate.latency_ns;
      if (partition.estimate.memory_bytes >= 0) made["estimated_bytes"] = partition.estimate.memory_bytes;
      if (measured_ != nullptr && partition.region.empty())
        if (const auto time = measured_->partition_ns.find(partition.name); time != measured_->partition_ns.end())
          made["time_ns"] = time->second;
      list.push_back(std::move(made));
    }
    return list;
  }

  Json Values(const std::string& region, const std::vector<PlacedValue>& values) {
    Json list = Json::array();
    for (const PlacedValue& value : values)
      list.push_back(value.name.empty() ? Json(-1) : Json(values_.IndexOf({region, value.name}, [&] {
        Json made = {{"name", Printable(value.name)}, {"type", Printable(value.type)}};
        if (!value.constant.empty()) made["constant"] = Printable(ConstantText(value.constant));
        return made;
      })));
    return list;
  }

  Json Node(const NodeReport& report, const PlacedNode& node) {
    Json attributes = Json::array();
    for (const auto& [name, value] : node.attributes)
      attributes.push_back({Printable(name), Printable(AttributeText(value))});
    Json made = {{"name", Printable(report.name)},
                 {"op", Printable(report.op_type)},
                 {"domain", Printable(report.domain)},
                 {"version", report.since_version},
                 {"delegate", delegates_.at(report.delegate)},
                 {"partition", partitions_.at({report.region, report.partition})},
                 {"region", regions_.at(report.region)},
                 {"order", node.order},
                 {"multiply_adds", report.multiply_adds},
                 {"inputs", Values(report.region, node.inputs)},
                 {"outputs", Values(report.region, node.outputs)},
                 {"captured", Values(report.region, node.captured)},
                 {"attributes", std::move(attributes)},
                 {"refusals", Refusals(report)}};
    if (measured_ == nullptr || !report.region.empty()) return made;
    if (const auto time = measured_->node_ns.find(report.name); time != measured_->node_ns.end())
      made["time_ns"] = time->second;
    if (const Json check = CheckOf(report); !check.is_null()) made["check"] = check;
    return made;
  }

  size_t Refusals(const NodeReport& node) {
    std::vector<std::string> key;
    for (const RefusalReport& refusal : node.refusals)
      key.insert(key.end(), {refusal.delegate, refusal.reason, refusal.detail});
    return refusals_.IndexOf(key, [&] {
      Json list = Json::array();
      for (const RefusalReport& refusal : node.refusals)  // also of delegates that the report does not list
        if (const auto delegate = delegates_.find(refusal.delegate); delegate != delegates_.end())
          list.push_back({delegate->second, Printable(refusal.reason), Printable(refusal.detail)});
      return list;
    });
  }

  // The index of the comparison in which the node ran on its delegate; null: none.
  Json CheckOf(const NodeReport& node) {
    if (check_of_.empty()) {
      for (const PartitionVerification& verified : measured_->verifications) {
        std::vector<std::string> wrong;
        for (const std::vector<std::string>& group : verified.wrong_nodes)
          for (const std::string& name : group) wrong.push_back(Printable(name));
        for (const std::string& name : verified.nodes) check_of_[{verified.delegate, name}] = checks_.size();
        checks_.push_back({{"result", VerificationText(verified.result)},
                           {"max_difference", verified.max_difference},
                           {"detail", Printable(verified.detail)},
                           {"wrong_nodes", std::move(wrong)}});
      }
    }
    const auto found = check_of_.find({node.delegate, node.name});
    return found == check_of_.end() ? Json() : Json(found->second);
  }

  Json Measured() const {
    if (measured_ == nullptr) return nullptr;
    return {{"runs", measured_->runs}, {"total_ns", measured_->total_ns}};
  }

  using NameInRegion = std::pair<std::string, std::string>;
  const PlacedGraph& graph_;
  const PlacementReport& report_;
  const MeasuredRun* measured_;
  std::unordered_map<std::string, size_t> delegates_, regions_;
  std::map<NameInRegion, size_t> partitions_;
  std::map<std::pair<std::string, std::string>, size_t> check_of_;  // by delegate and node
  Json checks_ = Json::array();
  Entries<NameInRegion> values_;
  Entries<std::vector<std::string>> refusals_;
};

// As JSON that is also safe inside a script element: without "<", no markup can end the element or begin another.
std::string TextForScript(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string GraphPage(const std::string& model, const PlacedGraph& graph, const MeasuredRun* measured) {
  const std::string_view page = PageTemplate();
  const size_t data = page.find(kPageData);
  std::string text(page.substr(0, data));
  text += TextForScript(PageData(graph, measured).Make(model));
  text += page.substr(data + kPageData.size());
  return text;
}

}  // namespace deputy::cli
