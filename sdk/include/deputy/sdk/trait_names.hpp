// Members that a delegate's class cannot have, because it means others: a trait of a wrong name would compile and do
// nothing. C++ cannot list the members of a class, so that these are the names that were used or are likely.
#pragma once

#include <cstdint>
#include <type_traits>

#include "deputy/abi/delegate.h"
#include "deputy/sdk/delegate_base.hpp"

namespace deputy::sdk::detail {

// clang-format off
#define DEPUTY_SDK_WRONG_TRAITS(X)                                                                                  \
  X(kAbilities, "kExtensions") X(kExtension, "kExtensions")                              \
  X(kExtensionFlags, "kExtensions") X(kExtensionMask, "kExtensions") X(kExts, "kExtensions")                        \
  X(kFeatures, "kExtensions") X(kFeatureFlags, "kExtensions") X(kCapabilityFlags, "kExtensions")                    \
  X(kSupportedExtensions, "kExtensions") X(kOptionalExtensions, "kExtensions")                                      \
  X(kCapabilities, "kExtensions, or the function Capabilities()") X(kFlag, "kFlags") X(kDelegateFlags, "kFlags")     \
  X(kAbiFlags, "kFlags") X(kReadPrecision, "kReadsPrecision") X(kReadsPrecisions, "kReadsPrecision")                \
  X(kHonorsPrecision, "kReadsPrecision") X(kUsesPrecision, "kReadsPrecision")                                       \
  X(kSupportsPrecision, "kReadsPrecision") X(kOptions, "the function Options()")                                    \
  X(kOptionSchema, "the function Options()") X(kDevices, "the function Devices(const Host&)")                       \
  X(kOwnOperators, "the function Operators()")
// clang-format on

#define DEPUTY_SDK_HAS(name, instead)     \
  template <class D, class = void>        \
  struct Has_##name : std::false_type {}; \
  template <class D>                      \
  struct Has_##name<D, std::void_t<decltype(D::name)>> : std::true_type {};
DEPUTY_SDK_WRONG_TRAITS(DEPUTY_SDK_HAS)
#undef DEPUTY_SDK_HAS

// In a class named like a function of the base, that name is the class.
#define DEPUTY_SDK_FUNCTIONS(X) \
  X(Capabilities) X(Choose) X(Devices) X(Estimate) X(Groups) X(Operators) X(Options) X(Probe) X(concurrency)
#define DEPUTY_SDK_IS_TYPE(name)             \
  template <class D, class = void>           \
  struct IsType_##name : std::false_type {}; \
  template <class D>                         \
  struct IsType_##name<D, std::void_t<typename D::name>> : std::true_type {};
DEPUTY_SDK_FUNCTIONS(DEPUTY_SDK_IS_TYPE)
#undef DEPUTY_SDK_IS_TYPE

template <class D>
constexpr bool CheckTraits() {
#define DEPUTY_SDK_REFUSE_CLASS(name)     \
  static_assert(!IsType_##name<D>::value, \
                "the class of a delegate must not be named " #name ", as a function of its base");
  DEPUTY_SDK_FUNCTIONS(DEPUTY_SDK_REFUSE_CLASS)
#undef DEPUTY_SDK_REFUSE_CLASS
#define DEPUTY_SDK_REFUSE(name, instead) \
  static_assert(!Has_##name<D>::value, "there is no trait " #name ": it is called " instead);
  DEPUTY_SDK_WRONG_TRAITS(DEPUTY_SDK_REFUSE)
#undef DEPUTY_SDK_REFUSE
  static_assert(std::is_integral_v<decltype(D::kFlags)>, "kFlags is a number of DEPUTY_DELEGATE_... bits");
  static_assert(std::is_integral_v<decltype(D::kExtensions)> || std::is_enum_v<std::decay_t<decltype(D::kExtensions)>>,
                "kExtensions is a number of bits such as kBlobs | kResizes");
  static_assert(std::is_same_v<std::decay_t<decltype(D::kReadsPrecision)>, bool>, "kReadsPrecision is a bool");
  constexpr uint32_t flags = D::kFlags, extensions = D::kExtensions;
  static_assert((flags & ~uint32_t{DEPUTY_DELEGATE_SERIAL | DEPUTY_DELEGATE_DYNAMIC_SHAPES | DEPUTY_DELEGATE_SIMULATED |
                                   DEPUTY_DELEGATE_LOADS_WHILE_RUNNING | DEPUTY_DELEGATE_STREAMS_CONSTANTS}) == 0,
                "kFlags has bits that no DEPUTY_DELEGATE_... names");
  static_assert((extensions & ~uint32_t{kBlobs | kCompileOnly | kResizes | kProfiles | kDeviceClock | kMemory | kAsync |
                                        kQueues | kImports}) == 0,
                "kExtensions has bits that no extension names");
  static_assert((extensions & kCompileOnly) == 0 || (extensions & kBlobs) != 0,
                "kExtensions has kCompileOnly without kBlobs");
  static_assert((extensions & kDeviceClock) == 0 || (extensions & kProfiles) != 0,
                "kExtensions has kDeviceClock without kProfiles");
  static_assert((extensions & kImports) == 0 || (extensions & kMemory) != 0,
                "kExtensions has kImports without kMemory");
  static_assert((extensions & kQueues) == 0 || (extensions & kAsync) != 0, "kExtensions has kQueues without kAsync");
  return true;
}

#undef DEPUTY_SDK_FUNCTIONS
#undef DEPUTY_SDK_WRONG_TRAITS

}  // namespace deputy::sdk::detail
