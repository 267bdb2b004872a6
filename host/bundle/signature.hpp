// Ed25519 signatures and keys in the formats of minisign (https://jedisct1.github.io/minisign/), so that either program
// checks what the other one has signed. The only user of libsodium. Errors of signatures and keys that do not fit are
// kAborted.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host::bundle {

using KeyId = std::array<uint8_t, 8>;

struct PublicKey {
  KeyId id{};
  std::array<uint8_t, 32> key{};
};

// "B1E5A04D2C6D8F17", as minisign writes it.
std::string IdText(const KeyId& id);

// The text of a key's file, or its base64 line alone ("RW...").
Result<PublicKey> ParsePublicKey(std::string_view text);
// A base64 line, or the file that has one.
Result<PublicKey> ReadPublicKey(const std::string& key);

// The id of the key that made the signature, by the signature; nothing is checked.
Result<KeyId> SignerOf(std::string_view signature);

// Days are those of UTC.
std::chrono::sys_days Today();
// "2027-01-31"; nothing for another text and for a day that does not exist.
std::optional<std::chrono::sys_days> ParseDay(std::string_view text);
std::string DayText(std::chrono::sys_days day);

// The word of a trusted comment by which the signature expires: "expires:2027-01-31".
inline constexpr std::string_view kExpires = "expires:";

// The last day on which the signature is valid, by its trusted comment; nothing: it does not expire. The signature is
// not checked.
Result<std::optional<std::chrono::sys_days>> ExpiryOf(std::string_view signature);

// Prehashed (BLAKE2b-512) signatures, which minisign makes and this host too, and minisign's former ones of the text
// itself. Refused after its last day.
Status CheckSignature(std::string_view text, std::string_view signature, const PublicKey& key,
                      std::chrono::sys_days today = Today());

// The contents of a signature file. The same text, key and comment give the same signature. A secret key with a
// password is refused.
Result<std::string> Sign(std::string_view text, const std::filesystem::path& secret_key, std::string_view comment);

Status MakeKeys(const std::filesystem::path& secret_key, const std::filesystem::path& public_key);

}  // namespace deputy::host::bundle
