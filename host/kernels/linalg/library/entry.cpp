// The entry of the library of one instruction set, which has its module (DEPUTY_LINALG_MODULE) and nothing else.
#include "kernels/linalg/module.hpp"

extern "C" [[gnu::visibility("default")]] const deputy::host::linalg::Module* deputy_linalg_module(size_t bytes) {
  return bytes == sizeof(deputy::host::linalg::Module) ? &deputy::host::linalg::DEPUTY_LINALG_MODULE : nullptr;
}
