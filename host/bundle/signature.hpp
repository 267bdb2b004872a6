// Ed25519 signatures and keys in the formats of minisign (https://jedisct1.github.io/minisign/), so that either program
// checks what the other one has signed. The only user of libsodium. Errors of signatures and keys that do not fit are
// kAborted.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
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

// Prehashed (BLAKE2b-512) signatures, which minisign makes and this host too, and minisign's former ones of the text
// itself.
Status CheckSignature(std::string_view text, std::string_view signature, const PublicKey& key);

// The contents of a signature file. The same text, key and comment give the same signature. A secret key with a
// password is refused.
Result<std::string> Sign(std::string_view text, const std::filesystem::path& secret_key, std::string_view comment);

Status MakeKeys(const std::filesystem::path& secret_key, const std::filesystem::path& public_key);

}  // namespace deputy::host::bundle
