// The protobuf types of ONNX, the only part of libonnx that is used: not its checker, converter or shape inference
// (docs/adr/0021-onnx-protobuf-types-only.md).
#pragma once

#include <onnx/onnx.pb.h>

namespace deputy::host::onnx_import {
namespace pb = ::onnx;
}  // namespace deputy::host::onnx_import
