// The FlatBuffers view of a node's attributes (schema/primitive.fbs), generated in the vendor's build with the vendor's
// own flatc, because a generated header requires exactly the FlatBuffers version that generated it. Always include this
// wrapper: with default visibility g++ makes the name tables GNU_UNIQUE and two plugins would share them despite
// RTLD_LOCAL.
#pragma once

#include <flatbuffers/flatbuffers.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
#include "primitive_generated.h"
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
