#include "report.hpp"

#include <chrono>
#include <concepts>
#include <string_view>

#include "deputy/installation.hpp"
#include "deputy/printable.hpp"

namespace ort_ep {
namespace {

using deputy::DelegateReport;
using deputy::NodeReport;
using deputy::PartitionReport;
using deputy::PlacementReport;
using deputy::Result;

// Values of JSON, written in the order of the calls.
class Json {
 public:
  Json& Begin(char bracket) {
    Separate();
    text_ += bracket;
    is_first_ = true;
    return *this;
  }
  Json& End(char bracket) {
    text_ += bracket;
    is_first_ = false;
    return *this;
  }
  Json& Key(std::string_view name) {
    Put(name);
    text_ += ": ";
    is_first_ = true;
    return *this;
  }
  Json& Put(std::string_view value) {
    Separate();
    text_ += '"';
    for (const char c : deputy::Printable(value)) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  Json& Put(const char* value) { return Put(std::string_view(value)); }
  Json& Put(const std::string& value) { return Put(std::string_view(value)); }
  Json& Put(std::same_as<bool> auto value) { return Raw(value ? "true" : "false"); }
  Json& Put(std::integral auto value) requires(!std::same_as<decltype(value), bool>) {
    return Raw(std::to_string(value));
  }
  Json& PutNull() { return Raw("null"); }
  Json& Put(const std::vector<std::string>& values) {
    Begin('[');
    for (const std::string& value : values) Put(value);
    return End(']');
  }
  Json& Field(std::string_view name, const auto& value) { return Key(name).Put(value); }

  std::string text_;

 private:
  Json& Raw(const std::string& value) {
    Separate();
    text_ += value;
    return *this;
  }
  void Separate() {
    if (!is_first_) text_ += ",\n";
    is_first_ = false;
  }
  bool is_first_ = true;
};

void Put(Json& json, const DelegateReport& delegate) {
  json.Begin('{').Field("name", delegate.name).Field("id", delegate.id).Field("plugin", delegate.plugin);
  json.Field("nodes", delegate.nodes).Field("partitions", delegate.partitions);
  json.Field("multiply_adds", delegate.multiply_adds).Key("options").Begin('{');
  for (const auto& [name, value] : delegate.options) json.Field(name, value);
  json.End('}').Key("device");
  if (delegate.has_device) {
    const deputy::DeviceReport& device = delegate.device;
    json.Begin('{').Field("device", device.device).Field("frequency_granted_hz", device.frequency_granted_hz);
    json.Field("busy_ns", device.busy_ns).Field("runs", device.runs).End('}');
  } else {
    json.PutNull();
  }
  json.End('}');
}

void Put(Json& json, const PartitionReport& partition) {
  json.Begin('{').Field("name", partition.name).Field("delegate", partition.delegate);
  json.Field("region", partition.region).Field("replaces", partition.replaces).Field("nodes", partition.nodes);
  json.Field("inputs", partition.inputs).Field("outputs", partition.outputs);
  json.Field("executable", partition.executable).Field("multiply_adds", partition.multiply_adds).End('}');
}

void Put(Json& json, const NodeReport& node) {
  json.Begin('{').Field("name", node.name).Field("op_type", node.op_type).Field("domain", node.domain);
  json.Field("since_version", node.since_version).Field("delegate", node.delegate);
  json.Field("partition", node.partition).Field("region", node.region).Key("refusals").Begin('[');
  for (const deputy::RefusalReport& refusal : node.refusals)
    json.Begin('{')
        .Field("delegate", refusal.delegate)
        .Field("reason", refusal.reason)
        .Field("detail", refusal.detail)
        .End('}');
  json.End(']').End('}');
}

void Put(Json& json, const Result<PlacementReport>& placed) {
  if (!placed.ok()) {
    json.Begin('{').Field("problem", placed.status().ToString()).End('}');
    return;
  }
  json.Begin('{').Field("summary", placed->summary).Field("multiply_adds", placed->multiply_adds);
  json.Key("delegates").Begin('[');
  for (const DelegateReport& delegate : placed->delegates) Put(json, delegate);
  json.End(']').Key("partitions").Begin('[');
  for (const PartitionReport& partition : placed->partitions) Put(json, partition);
  json.End(']').Key("nodes").Begin('[');
  for (const NodeReport& node : placed->nodes) Put(json, node);
  json.End(']').End('}');
}

void Put(Json& json, const deputy::HealthReport& health) {
  json.Begin('{').Field("degraded", health.degraded).Key("delegates").Begin('[');
  for (const deputy::DelegateHealthReport& delegate : health.delegates) {
    json.Begin('{').Field("name", delegate.name).Field("failures", delegate.failures);
    json.Field("demoted_partitions", delegate.demoted_partitions).Field("available", delegate.available);
    json.Field("failing", delegate.failing).End('}');
  }
  json.End(']').Key("incidents").Begin('[');
  for (const deputy::Incident& incident : health.incidents) {
    json.Begin('{').Field("time_unix_s", std::chrono::system_clock::to_time_t(incident.time));
    json.Field("delegate", incident.delegate).Field("partition", incident.partition).Field("nodes", incident.nodes);
    json.Field("failure", incident.failure).Field("taken_over", incident.taken_over).End('}');
  }
  json.End(']').End('}');
}

}  // namespace

std::string ReportText(const Report& report, const deputy::Context& context) {
  Json json;
  json.Begin('{').Field("deputy", deputy::DescribeInstallation().version);
  json.Field("onnxruntime", report.host_version).Field("config", report.settings.config);
  json.Field("delegates", report.settings.delegates).Key("absent").Begin('[');
  for (const auto& [name, reason] : report.absent) json.Begin('{').Field("name", name).Field("reason", reason).End('}');
  json.End(']').Key("graphs").Begin('[');
  for (const std::shared_ptr<FusedModel>& model : report.models) {
    json.Begin('{').Field("name", model->name()).Field("nodes", model->nodes()).Field("runs", model->runs());
    json.Field("failed_runs", model->failed_runs()).Key("placement");
    Put(json, model->Placement());
    json.End('}');
  }
  json.End(']').Key("left_to_onnxruntime").Begin('[');
  for (const LeftNode& node : report.left)
    json.Begin('{').Field("name", node.name).Field("op_type", node.op_type).Field("reason", node.reason).End('}');
  json.End(']').Key("health");
  Put(json, context.Health());
  json.End('}');
  return json.text_ + "\n";
}

}  // namespace ort_ep
