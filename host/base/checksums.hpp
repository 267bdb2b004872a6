// A list of files with their SHA-256, as sha256sum writes and checks it: the lock of a plugin folder and of a bundle.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/status.hpp"

namespace deputy::host {

// The list's name in its folder, and its signature's.
inline constexpr char kChecksumsName[] = "SHA256SUMS";
inline constexpr char kChecksumsSignatureName[] = "SHA256SUMS.minisig";
inline constexpr char kSignatureEnding[] = ".minisig";
static_assert(std::string_view(kChecksumsSignatureName).starts_with(kChecksumsName) &&
              std::string_view(kChecksumsSignatureName).substr(sizeof kChecksumsName - 1) == kSignatureEnding);
// A folder of lists beside it or in its place, which packages add to: the names of the lists end in ".sha256".
inline constexpr char kChecksumsFolderName[] = "SHA256SUMS.d";
inline constexpr char kChecksumsEnding[] = ".sha256";

inline constexpr size_t kMostChecksumBytes = 256 * 1024;

// By path, relative to the list's folder.
using Checksums = std::map<std::string, Digest, std::less<>>;

// kFailedPrecondition with the reason for a path that must not be used below a folder: absolute, "..", not printable
// ASCII, too long. "a/b.so" is good; "./a" is not. [any-thread]
Status CheckRelativePath(std::string_view path);

// kInvalidArgument for text that is not such a list, kFailedPrecondition for a path as above. A leading "./" of a path
// is dropped. [any-thread]
Result<Checksums> ParseChecksums(std::string_view text);

// In the order of the paths. [any-thread]
std::string ChecksumsText(const Checksums& checksums);

}  // namespace deputy::host
