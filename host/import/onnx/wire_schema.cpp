#include "import/onnx/wire_schema.hpp"

#include <algorithm>

namespace deputy::host::onnx_import {
namespace {

using enum Encoding;
constexpr bool kMany = true, kOne = false;

// The numbers are those of onnx.proto. The fields of kMessages' second lists (training, quantization annotations,
// documentation) are known, but not read.
constexpr Field kModelFields[] = {
    {1, kVarint},                                 // ir_version
    {2, kText},                                   // producer_name
    {3, kText},                                   // producer_version
    {7, kMessage, kOne, Message::kGraph},         // graph
    {8, kMessage, kMany, Message::kOperatorSet},  // opset_import
    {14, kMessage, kMany, Message::kProperty},    // metadata_props
    {25, kMessage, kMany, Message::kFunction},    // functions
};
constexpr Field kOperatorSetFields[] = {{1, kText}, {2, kVarint}};
constexpr Field kGraphFields[] = {
    {1, kMessage, kMany, Message::kNode},           // node
    {2, kText},                                     // name
    {5, kMessage, kMany, Message::kTensor},         // initializer
    {11, kMessage, kMany, Message::kValueInfo},     // input
    {12, kMessage, kMany, Message::kValueInfo},     // output
    {13, kMessage, kMany, Message::kValueInfo},     // value_info
    {15, kMessage, kMany, Message::kSparseTensor},  // sparse_initializer
};
constexpr Field kNodeFields[] = {
    {1, kText, kMany},                          // input
    {2, kText, kMany},                          // output
    {3, kText},                                 // name
    {4, kText},                                 // op_type
    {5, kMessage, kMany, Message::kAttribute},  // attribute
    {7, kText},                                 // domain
    {8, kText},                                 // overload, newer than the types of libonnx 1.12
};
constexpr Field kAttributeFields[] = {
    {1, kText},                                     // name
    {2, kFixed32},                                  // f
    {3, kVarint},                                   // i
    {4, kText},                                     // s
    {5, kMessage, kOne, Message::kTensor},          // t
    {6, kMessage, kOne, Message::kGraph},           // g
    {7, kFixed32, kMany},                           // floats
    {8, kVarint, kMany},                            // ints
    {9, kText, kMany},                              // strings
    {10, kMessage, kMany, Message::kTensor},        // tensors
    {11, kMessage, kMany, Message::kGraph},         // graphs
    {14, kMessage, kOne, Message::kType},           // tp
    {15, kMessage, kMany, Message::kType},          // type_protos
    {20, kVarint},                                  // type
    {21, kText},                                    // ref_attr_name
    {22, kMessage, kOne, Message::kSparseTensor},   // sparse_tensor
    {23, kMessage, kMany, Message::kSparseTensor},  // sparse_tensors
};
constexpr Field kTensorFields[] = {
    {1, kVarint, kMany},                        // dims
    {2, kVarint},                               // data_type
    {3, kMessage, kOne, Message::kSegment},     // segment
    {4, kFixed32, kMany},                       // float_data
    {5, kVarint, kMany},                        // int32_data
    {6, kText, kMany},                          // string_data
    {7, kVarint, kMany},                        // int64_data
    {8, kText},                                 // name
    {9, kWeights},                              // raw_data
    {10, kFixed64, kMany},                      // double_data
    {11, kVarint, kMany},                       // uint64_data
    {13, kMessage, kMany, Message::kProperty},  // external_data
    {14, kVarint},                              // data_location
};
constexpr Field kSegmentFields[] = {{1, kVarint}, {2, kVarint}};
constexpr Field kSparseTensorFields[] = {
    {1, kMessage, kOne, Message::kTensor}, {2, kMessage, kOne, Message::kTensor}, {3, kVarint, kMany}};
constexpr Field kValueInfoFields[] = {{1, kText}, {2, kMessage, kOne, Message::kType}};
constexpr Field kTypeFields[] = {
    {1, kMessage, kOne, Message::kTensorType},   // tensor_type
    {4, kMessage, kOne, Message::kElementType},  // sequence_type
    {5, kMessage, kOne, Message::kMapType},      // map_type
    {8, kMessage, kOne, Message::kTensorType},   // sparse_tensor_type
    {9, kMessage, kOne, Message::kElementType},  // optional_type
};
constexpr Field kTensorTypeFields[] = {{1, kVarint}, {2, kMessage, kOne, Message::kShape}};
constexpr Field kElementTypeFields[] = {{1, kMessage, kOne, Message::kType}};
constexpr Field kMapTypeFields[] = {{1, kVarint}, {2, kMessage, kOne, Message::kType}};
constexpr Field kShapeFields[] = {{1, kMessage, kMany, Message::kDimension}};
constexpr Field kDimensionFields[] = {{1, kVarint}, {2, kText}};
constexpr Field kFunctionFields[] = {
    {1, kText},                                   // name
    {4, kText, kMany},                            // input
    {5, kText, kMany},                            // output
    {6, kText, kMany},                            // attribute
    {7, kMessage, kMany, Message::kNode},         // node
    {9, kMessage, kMany, Message::kOperatorSet},  // opset_import
    {10, kText},                                  // domain
    {11, kMessage, kMany, Message::kAttribute},   // attribute_proto, newer than the types of libonnx 1.12
    {13, kText},                                  // overload, likewise
};
constexpr Field kPropertyFields[] = {{1, kText}, {2, kText}};

constexpr uint32_t kModelIgnored[] = {4, 5, 6, 20, 26};  // domain, model_version, doc_string, training_info,
                                                         // configuration
constexpr uint32_t kGraphIgnored[] = {10, 14, 16};       // doc_string, quantization_annotation, metadata_props
constexpr uint32_t kNodeIgnored[] = {6, 9, 10};          // doc_string, metadata_props, device_configurations
constexpr uint32_t kAttributeIgnored[] = {13};           // doc_string
constexpr uint32_t kTensorIgnored[] = {12, 16};          // doc_string, metadata_props
constexpr uint32_t kValueInfoIgnored[] = {3, 4};         // doc_string, metadata_props
constexpr uint32_t kTypeIgnored[] = {6, 7};              // denotation, opaque_type
constexpr uint32_t kDimensionIgnored[] = {3};            // denotation
constexpr uint32_t kFunctionIgnored[] = {8, 12, 14};     // doc_string, value_info, metadata_props

struct Entry {
  const char* name;
  std::span<const Field> fields;
  std::span<const uint32_t> ignored = {};
};

constexpr Entry kMessages[static_cast<size_t>(Message::kCount)] = {
    {"the model", kModelFields, kModelIgnored},
    {"an operator set", kOperatorSetFields},
    {"a graph", kGraphFields, kGraphIgnored},
    {"a node", kNodeFields, kNodeIgnored},
    {"an attribute", kAttributeFields, kAttributeIgnored},
    {"a tensor", kTensorFields, kTensorIgnored},
    {"a segment", kSegmentFields},
    {"a sparse tensor", kSparseTensorFields},
    {"a value", kValueInfoFields, kValueInfoIgnored},
    {"a type", kTypeFields, kTypeIgnored},
    {"a tensor type", kTensorTypeFields},
    {"an element type", kElementTypeFields},
    {"a map type", kMapTypeFields},
    {"a shape", kShapeFields},
    {"a dimension", kDimensionFields, kDimensionIgnored},
    {"a function", kFunctionFields, kFunctionIgnored},
    {"a property", kPropertyFields},
};

}  // namespace

std::span<const Field> FieldsOf(Message message) { return kMessages[static_cast<size_t>(message)].fields; }
bool IsIgnored(Message message, uint64_t number) {
  const std::span<const uint32_t> ignored = kMessages[static_cast<size_t>(message)].ignored;
  return std::find(ignored.begin(), ignored.end(), number) != ignored.end();
}
const char* NameOf(Message message) { return kMessages[static_cast<size_t>(message)].name; }

}  // namespace deputy::host::onnx_import
