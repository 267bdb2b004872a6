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
std::optional<Digest> IdentityDigest(Delegate& delegate);

// Of the CPU kernels: this version of Deputy and the features of the CPU.
Digest CpuIdentity();

// Of what a verdict depends on but the partition.
Digest VerdictScope(const Digest& identity, const ToleranceSettings& tolerance);

// Of the contents of a model's files: its own, and those with external data. With a store, the digest comes from there
// while sizes and times of the files are as when they were last read. `paths` are those of the same files; an empty one
// stands for a model from memory.
Digest ModelDigest(std::span<const std::string> paths, std::span<const MappedBytes> contents, Store* store);

}  // namespace deputy::host
