// The protobuf types of ONNX: the only part of libonnx that is used. Its checker, converter and shape inference are not
// (docs/adr/0021-onnx-protobuf-types-only.md).
#pragma once

#include <onnx/onnx_pb.h>

namespace deputy::host::onnx_import {
namespace pb = ::onnx;
}  // namespace deputy::host::onnx_import
