// Attributes and inputs of an operator that the CPU does not compute are refused by name when the kernel is made; they
// are never ignored.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cpu/kernel.hpp"

namespace deputy::host {

// Fails unless the attribute is omitted or has the value without an effect.
Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, int64_t neutral);
Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, std::string_view neutral);
Status RefuseInput(const KernelSpec& spec, size_t input, std::string_view name);
Status RefuseOutput(const KernelSpec& spec, size_t output, std::string_view name);
// Fails when one of these inputs, which may follow optional ones, is omitted.
Status RequireInputs(const KernelSpec& spec, std::initializer_list<size_t> inputs);

}  // namespace deputy::host
