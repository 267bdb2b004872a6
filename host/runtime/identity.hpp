// Names for what decisions about a model depend on: the delegate with the machine, and the model's files.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "delegate/delegate.hpp"
#include "deputy/compare.hpp"
#include "store/store.hpp"

namespace deputy::host {

// Of the delegate's build, device, driver and options, this version of Deputy and the features of the CPU. None for a
// delegate whose build is not known, such as an object of the application.
std::optional<Digest> IdentityDigest(const Delegate& delegate, std::string_view driver);

// Of the CPU kernels: this version of Deputy and the features of the CPU.
Digest CpuIdentity();

// Of what a verdict depends on but the partition.
Digest VerdictScope(const Digest& identity, const ToleranceSettings& tolerance);

// Of the content of a model's files: its own, mapped at `bytes`, and those with external data. While sizes and times of
// the files are as when they were last read, the digest comes from the store. None where a file cannot be read.
std::optional<Digest> ModelDigest(const std::filesystem::path& path, std::span<const uint8_t> bytes,
                                  std::span<const std::string> external_files, Store* store);

}  // namespace deputy::host
