#include "reference/node.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace deputy::conformance::reference {
namespace {

const std::map<std::string, Kernel>& AllKernels() {
  static const auto* const kernels = [] {
    auto* all = new std::map<std::string, Kernel>;
#define DEPUTY_ADD(family) \
  for (const KernelRow& row : family##Kernels()) all->emplace(row.name, row.kernel);
    DEPUTY_KERNEL_FAMILIES(DEPUTY_ADD)
#undef DEPUTY_ADD
    return all;
  }();
  return *kernels;
}

const Attribute* Find(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

}  // namespace

Attribute Attribute::Int(int64_t value) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_INT;
  made.i = value;
  return made;
}
Attribute Attribute::Float(float value) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_FLOAT;
  made.f = value;
  return made;
}
Attribute Attribute::String(std::string value) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_STRING;
  made.s = std::move(value);
  return made;
}
Attribute Attribute::Ints(std::vector<int64_t> values) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_INTS;
  made.ints = std::move(values);
  return made;
}
Attribute Attribute::Floats(std::vector<float> values) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_FLOATS;
  made.floats = std::move(values);
  return made;
}
Attribute Attribute::Strings(std::vector<std::string> values) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_STRINGS;
  made.strings = std::move(values);
  return made;
}
Attribute Attribute::OfTensor(Tensor value) {
  Attribute made;
  made.type = DEPUTY_ATTRIBUTE_TENSOR;
  made.tensor = std::move(value);
  return made;
}

std::string Node::name() const {
  if (domain.empty()) return op_type;
  std::string vendor = domain.substr(domain.rfind('.') + 1);
  vendor[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(vendor[0])));
  return vendor + "_" + op_type;
}

int64_t Node::Int(const std::string& name, int64_t otherwise) const {
  const Attribute* found = Find(*this, name);
  return found == nullptr ? otherwise : found->i;
}
double Node::Float(const std::string& name, float otherwise) const {
  const Attribute* found = Find(*this, name);
  return static_cast<double>(found == nullptr ? otherwise : found->f);
}
std::string Node::String(const std::string& name, std::string otherwise) const {
  const Attribute* found = Find(*this, name);
  return found == nullptr ? std::move(otherwise) : found->s;
}
std::vector<int64_t> Node::Ints(const std::string& name, std::vector<int64_t> otherwise) const {
  const Attribute* found = Find(*this, name);
  return found == nullptr ? std::move(otherwise) : found->ints;
}

std::vector<float> Node::Floats(const std::string& name, std::vector<float> otherwise) const {
  const Attribute* found = Find(*this, name);
  return found == nullptr ? std::move(otherwise) : found->floats;
}
std::vector<std::string> Node::Strings(const std::string& name, std::vector<std::string> otherwise) const {
  const Attribute* found = Find(*this, name);
  return found == nullptr ? std::move(otherwise) : found->strings;
}

std::vector<int64_t> ListOf(const Tensor& tensor) {
  if (!IsReal(tensor.dtype)) return tensor.whole;
  std::vector<int64_t> list;
  for (int64_t i = 0; i < tensor.count(); ++i) list.push_back(static_cast<int64_t>(tensor.Get(i)));
  return list;
}

Window Window::Of(const Node& node, const Dims& input, const Dims& kernel, Overhang overhang) {
  const size_t rank = kernel.size();
  Window window;
  window.kernel = kernel;
  window.strides = node.Ints("strides", Dims(rank, 1));
  window.dilations = node.Ints("dilations", Dims(rank, 1));
  const Dims pads = node.Ints("pads", Dims(2 * rank, 0));
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  const bool ceil = node.Int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = input[i + 2], stride = window.strides[i];
    const int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    int64_t before = auto_pad == "NOTSET" ? pads[i] : 0, after = auto_pad == "NOTSET" ? pads[i + rank] : 0;
    int64_t out = 0;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      out = (in + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
      before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else {
      const int64_t room = in + before + after - reach;
      // Rounded towards zero, which is up for a window that is too large.
      out = room < 0 && overhang == Overhang::kNone ? 0 : std::max<int64_t>(0, room / stride + 1);
      if (ceil && room >= 0) {
        out = (room + stride - 1) / stride + 1;
        // A window must not begin behind the input and the padding in front of it.
        if ((out - 1) * stride >= in + before) --out;
      }
    }
    window.before.push_back(before);
    window.after.push_back(after);
    window.out.push_back(out);
  }
  return window;
}

std::vector<Tensor> Compute(const Node& node, const Inputs& inputs) {
  const auto found = AllKernels().find(node.name());
  if (found == AllKernels().end()) return {};
  return found->second(node, inputs);
}

const std::vector<Absence>& Absences() {
  const char* const draws = "it draws numbers: no result is the right one";
  const char* const classical = "classical machine learning: the host's kernels are compared with ONNX Runtime instead";
  const char* const no_tensor = "it takes or makes sequences or optionals, which are never shown to a plugin";
  static const auto* const absences = new std::vector<Absence>{
      {"Bernoulli", draws},
      {"ConcatFromSequence", no_tensor},
      {"Ml_ArrayFeatureExtractor", classical},
      {"Ml_Binarizer", classical},
      {"Ml_CategoryMapper", classical},
      {"Ml_FeatureVectorizer", classical},
      {"Ml_Imputer", classical},
      {"Ml_LabelEncoder", classical},
      {"Ml_LinearClassifier", classical},
      {"Ml_LinearRegressor", classical},
      {"Ml_Normalizer", classical},
      {"Ml_OneHotEncoder", classical},
      {"Ml_SVMClassifier", classical},
      {"Ml_SVMRegressor", classical},
      {"Ml_Scaler", classical},
      {"Ml_TreeEnsemble", classical},
      {"Ml_TreeEnsembleClassifier", classical},
      {"Ml_TreeEnsembleRegressor", classical},
      {"Multinomial", draws},
      {"RandomNormal", draws},
      {"RandomNormalLike", draws},
      {"RandomUniform", draws},
      {"RandomUniformLike", draws},
      {"If", "control flow: its attributes are graphs, which a node shown to a plugin does not have"},
      {"Loop", "control flow: its attribute is a graph, which a node shown to a plugin does not have"},
      {"Optional", no_tensor},
      {"OptionalGetElement", no_tensor},
      {"OptionalHasElement", no_tensor},
      {"Scan", "control flow: its attribute is a graph, which a node shown to a plugin does not have"},
      {"SequenceAt", no_tensor},
      {"SequenceConstruct", no_tensor},
      {"SequenceEmpty", no_tensor},
      {"SequenceErase", no_tensor},
      {"SequenceInsert", no_tensor},
      {"SequenceLength", no_tensor},
      {"SequenceMap", no_tensor},
      {"SplitToSequence", no_tensor}};
  return *absences;
}

bool Knows(const std::string& name) { return AllKernels().count(name) != 0; }

}  // namespace deputy::conformance::reference
