#include "properties.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace openvino {
namespace {

constexpr const char* kPrecision = "INFERENCE_PRECISION_HINT";
// Rewrites quantized networks to compute in int8, which changes results by more than a step.
constexpr const char* kLowPrecision = "LP_TRANSFORMS_MODE";
constexpr const char* kThreads = "INFERENCE_NUM_THREADS";

// Properties that are no options, and why.
struct LeftOut {
  std::string_view property, why;
};
constexpr LeftOut kLeftOut[] = {
    {kPrecision, "the option `precision`"},
    {kThreads, "the option `threads`"},
    {"PERF_COUNT", "on where a run is profiled"},
    {"DEVICE_ID", "`device` of the entry"},
    {"EXECUTION_MODE_HINT", "without effect beside a precision"},
    {"CACHE_DIR", "the host keeps compiled partitions"},
    {"CACHE_MODE", "the host keeps compiled partitions"},
    {"ENABLE_HYPER_THREADING", "read back as off on processors without it"},
    {"SCHEDULING_CORE_TYPE", "ignored by processors with cores of one kind"},
    {"CPU_DENORMALS_OPTIMIZATION", "changes the floating point environment of the host's threads"},
    {"ENABLE_CPU_RESERVATION", "leaves no processors to models that are compiled later"},
    {"LOG_LEVEL", "writes to the standard output of the process"},
    {"ENABLE_WEIGHTLESS", "weights come from the host"},
    {"WEIGHTS_PATH", "weights come from the host"},
    {"ENABLE_TENSOR_PARALLEL", "of several sockets, and experimental"},
    {"MODEL_DISTRIBUTION_POLICY", "of several sockets, and experimental"},
    {"KV_CACHE_PRECISION", "of operators that no ONNX model has"},
    {"KEY_CACHE_PRECISION", "of operators that no ONNX model has"},
    {"VALUE_CACHE_PRECISION", "of operators that no ONNX model has"},
    {"KEY_CACHE_GROUP_SIZE", "of operators that no ONNX model has"},
    {"VALUE_CACHE_GROUP_SIZE", "of operators that no ONNX model has"},
    {"TBB_PARTITIONER", "its default has no name"},
};

struct Known {
  std::string_view property, fallback, help;  // without fallback: OpenVINO's
};
constexpr Known kKnown[] = {
    {"PERFORMANCE_HINT", "LATENCY", "what OpenVINO chooses streams and threads for"},
    {"PERFORMANCE_HINT_NUM_REQUESTS", "", "requests at once for which THROUGHPUT chooses streams, 0: not known"},
    {"NUM_STREAMS", "0", "runs at the same time, each with its share of the threads; 0: by performance_hint"},
    {"ENABLE_CPU_PINNING", "false", "binds threads to processors, also the host's threads while they run a partition"},
    {"CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", "", "share of zeros from which int8 weights are kept packed"},
    {"DYNAMIC_QUANTIZATION_GROUP_SIZE", "0",
     "rounds activations to int8 before products with compressed weights, in groups of so many; 0: never"}};

std::string OptionOf(std::string_view property) {
  std::string name(property);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

const Known* FindKnown(std::string_view property) {
  for (const Known& known : kKnown)
    if (known.property == property) return &known;
  return nullptr;
}

enum class Kind { kBool, kInt, kFloat, kEnum };

struct Property {
  std::string name, option, fallback, standard;  // standard: OpenVINO's own default, as the option writes it
  Kind kind = Kind::kBool;
  int64_t least = 0, most = std::numeric_limits<int32_t>::max();
  std::vector<std::string> choices;
  std::string help;
};

template <class... Integers>
bool IsInteger(const ov::Any& value) {
  return (value.is<Integers>() || ...);
}

// As the option writes it; nothing for a type that no option has.
std::optional<std::string> TextOf(const ov::Any& value) {
  if (value.is<bool>()) return std::string(value.as<bool>() ? "true" : "false");
  if (value.is<ov::streams::Num>()) return std::to_string(std::max(0, value.as<ov::streams::Num>().num));
  if (value.is<std::string>()) return std::nullopt;
  return value.as<std::string>();
}

std::optional<Property> Read(const std::string& name) {
  Property property;
  property.name = name;
  property.option = OptionOf(name);
  const ov::Any value = SharedCore()->get_property("CPU", name);
  const std::optional<std::string> standard = TextOf(value);
  if (!standard) return std::nullopt;
  property.standard = *standard;
  if (value.is<bool>()) {
    property.kind = Kind::kBool;
  } else if (value.is<ov::streams::Num>()) {
    property.kind = Kind::kInt;
    property.most = std::get<1>(SharedCore()->get_property("CPU", ov::range_for_streams));
  } else if (IsInteger<int32_t, uint32_t, int64_t, uint64_t>(value)) {
    property.kind = Kind::kInt;
  } else if (value.is<float>() || value.is<double>()) {
    property.kind = Kind::kFloat;
  } else if (value.is<ov::hint::PerformanceMode>()) {
    property.kind = Kind::kEnum;
    property.choices = {"LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT"};
  } else {
    return std::nullopt;
  }
  const Known* known = FindKnown(name);
  property.fallback = known == nullptr || known->fallback.empty() ? property.standard : std::string(known->fallback);
  property.help = known == nullptr ? "OpenVINO's property " + name : std::string(known->help);
  return property;
}

std::vector<Property> ReadAll() {
  std::vector<Property> properties;
  for (const ov::PropertyName& name : SharedCore()->get_property("CPU", ov::supported_properties)) {
    if (!name.is_mutable()) continue;
    if (std::any_of(std::begin(kLeftOut), std::end(kLeftOut), [&](const LeftOut& one) { return one.property == name; }))
      continue;
    try {
      if (std::optional<Property> property = Read(name)) properties.push_back(std::move(*property));
    } catch (const ov::Exception&) {
      // Can be written and not be read: nothing here could tell whether it is in force.
    }
  }
  return properties;
}

// Those of the CPU; empty where OpenVINO cannot load it, which Devices() reports.
const std::vector<Property>& AllProperties() {
  static const std::vector<Property> properties = [] {
    try {
      return ReadAll();
    } catch (const std::exception&) {
      return std::vector<Property>();
    }
  }();
  return properties;
}

// Those that a device here has; f32 is always one.
std::vector<std::string> Precisions() {
  std::vector<std::string> precisions = {"f32"};
  try {
    for (const Device& device : FindDevices())
      for (const std::string& able : SharedCore()->get_property(device.name, ov::device::capabilities))
        for (const auto& [capability, precision] : {std::pair("BF16", "bf16"), std::pair("FP16", "f16")})
          if (able == capability && std::find(precisions.begin(), precisions.end(), precision) == precisions.end())
            precisions.emplace_back(precision);
  } catch (const std::exception&) {
    // Devices() reports it.
  }
  return precisions;
}

bool Has(const std::string& device, const std::string& property) {
  const auto names = SharedCore()->get_property(device, ov::supported_properties);
  return std::any_of(names.begin(), names.end(),
                     [&](const ov::PropertyName& name) { return name == property && name.is_mutable(); });
}

}  // namespace

std::string HintOf(sdk::DType dtype) {
  switch (dtype) {
    case sdk::DType::kFloat32: return "f32";
    case sdk::DType::kFloat16: return "f16";
    case sdk::DType::kBFloat16: return "bf16";
    default: return "";
  }
}

sdk::OptionSchema MakeOptions() {
  std::shared_ptr<ov::Core> kept;
  try {
    kept = SharedCore();
  } catch (const std::exception&) {
    // As above.
  }
  sdk::OptionSchema schema;
  std::move(schema)
      .Int("threads", 0, 0, 1024, "most threads of OpenVINO's own pool, 0 for as many as the host's")
      .Enum("precision", "f32", Precisions(),
            "element type in which floats are computed; a device without it is refused")
      .Bool("query", false, "asks the device about each node before compiling; devices other than the CPU always")
      .Bool("low_precision", false,
            "computes quantized networks in int8 on the CPU: faster, and further from the model's results");
  for (const Property& property : AllProperties()) {
    const auto number = [&] { return std::stod(property.fallback); };
    switch (property.kind) {
      case Kind::kBool: std::move(schema).Bool(property.option, property.fallback == "true", property.help); break;
      case Kind::kInt:
        std::move(schema).Int(property.option, std::stoll(property.fallback), property.least, property.most,
                              property.help);
        break;
      case Kind::kFloat: std::move(schema).Float(property.option, number(), 0, 1, property.help); break;
      case Kind::kEnum:
        std::move(schema).Enum(property.option, property.fallback, property.choices, property.help);
        break;
    }
  }
  return schema;
}

sdk::Result<ov::AnyMap> PropertiesOf(const sdk::OptionValues& options, const std::string& device, uint32_t threads) {
  ov::AnyMap chosen;
  chosen[kPrecision] = options.Enum("precision");
  if (device == "CPU") chosen[kLowPrecision] = options.Bool("low_precision");
  if (Has(device, kThreads)) {
    const int64_t most = std::max<int64_t>(1, std::thread::hardware_concurrency());
    const int64_t asked = options.Int("threads") > 0 ? options.Int("threads") : int64_t{threads};
    chosen[kThreads] = static_cast<int32_t>(std::min(asked, most));
  }
  for (const Property& property : AllProperties()) {
    const std::string value = options.Text(property.option);
    if (value == property.standard) continue;
    if (!Has(device, property.name)) {
      if (value == property.fallback) continue;
      return sdk::Status(sdk::Code::kInvalidArgument, "option '" + property.option + "': the device " + device +
                                                          " of OpenVINO has no property " + property.name);
    }
    if (property.name == ov::num_streams.name() && value == "0") continue;
    if (property.kind == Kind::kBool)
      chosen[property.name] = value == "true";
    else
      chosen[property.name] = value;
  }
  return chosen;
}

std::map<std::string, std::string> ReadBack(const ov::CompiledModel& model, const sdk::OptionValues& options) {
  std::map<std::string, std::string> values;
  const auto read = [&](const std::string& option, const std::string& property) {
    try {
      if (const std::optional<std::string> text = TextOf(model.get_property(property))) values[option] = *text;
    } catch (const std::exception&) {
      values[option] = options.Text(option);  // not a property of compiled models
    }
  };
  read("precision", kPrecision);
  for (const Property& property : AllProperties())
    if (property.name != ov::num_streams.name() || options.Int(property.option) != 0)  // 0: OpenVINO's choice
      read(property.option, property.name);
  return values;
}

}  // namespace openvino
