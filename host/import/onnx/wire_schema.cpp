#include "import/onnx/wire_schema.hpp"

namespace deputy::host::onnx_import {
namespace {

using enum Encoding;
constexpr bool kMany = true, kOne = false;

// The numbers are those of onnx.proto. Fields not listed (training, quantization annotations, documentation) are
// skipped.
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
};
constexpr Field kPropertyFields[] = {{1, kText}, {2, kText}};

struct Entry {
  const char* name;
  std::span<const Field> fields;
};

constexpr Entry kMessages[static_cast<size_t>(Message::kCount)] = {
    {"the model", kModelFields},
    {"an operator set", kOperatorSetFields},
    {"a graph", kGraphFields},
    {"a node", kNodeFields},
    {"an attribute", kAttributeFields},
    {"a tensor", kTensorFields},
    {"a segment", kSegmentFields},
    {"a sparse tensor", kSparseTensorFields},
    {"a value", kValueInfoFields},
    {"a type", kTypeFields},
    {"a tensor type", kTensorTypeFields},
    {"an element type", kElementTypeFields},
    {"a map type", kMapTypeFields},
    {"a shape", kShapeFields},
    {"a dimension", kDimensionFields},
    {"a function", kFunctionFields},
    {"a property", kPropertyFields},
};

}  // namespace

std::span<const Field> FieldsOf(Message message) { return kMessages[static_cast<size_t>(message)].fields; }
const char* NameOf(Message message) { return kMessages[static_cast<size_t>(message)].name; }

}  // namespace deputy::host::onnx_import
