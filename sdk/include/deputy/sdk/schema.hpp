// The FlatBuffers view of a node's attributes (schema/primitive.fbs), generated at the vendor's with the vendor's own
// flatc, because generated headers demand exactly the FlatBuffers version that made them. Always include this wrapper:
// with default visibility g++ makes the name tables GNU_UNIQUE and two plugins would share them despite RTLD_LOCAL.
#pragma once

#include <flatbuffers/flatbuffers.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
#include "primitive_generated.h"
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
