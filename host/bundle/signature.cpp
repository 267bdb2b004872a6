#include "bundle/signature.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/file.hpp"
#include "base/file_writer.hpp"
#include "base/judged_file.hpp"
#include "base/printable.hpp"

namespace deputy::host::bundle {
namespace {

constexpr size_t kMostKeyBytes = 4096;
constexpr std::string_view kUntrusted = "untrusted comment: ", kTrusted = "trusted comment: ";
constexpr std::array<uint8_t, 2> kEd25519 = {'E', 'd'}, kPrehashed = {'E', 'D'}, kBlake2b = {'B', '2'};

// The binary contents of minisign's files; all members are bytes, so that there is no padding.
struct PublicKeyBytes {
  std::array<uint8_t, 2> algorithm;
  KeyId id;
  std::array<uint8_t, crypto_sign_PUBLICKEYBYTES> key;
};

struct SecretKeyBytes {
  std::array<uint8_t, 2> algorithm, derivation, checksum_algorithm;  // derivation {0, 0}: without a password
  std::array<uint8_t, 32> salt;
  std::array<uint8_t, 16> limits;
  KeyId id;
  std::array<uint8_t, crypto_sign_SECRETKEYBYTES> key;
  std::array<uint8_t, 32> checksum;
};

struct SignatureBytes {
  std::array<uint8_t, 2> algorithm;
  KeyId id;
  std::array<uint8_t, crypto_sign_BYTES> signature;
};

static_assert(sizeof(PublicKeyBytes) == 42 && sizeof(SecretKeyBytes) == 158 && sizeof(SignatureBytes) == 74);

struct SignatureFile {
  SignatureBytes bytes;
  std::array<uint8_t, crypto_sign_BYTES> comment_signature;
  std::string comment;
};

Status Refused(std::string message) { return Status(StatusCode::kAborted, std::move(message)); }

bool IsReady() { return sodium_init() >= 0; }

template <class T>
std::optional<T> FromBase64(std::string_view text) {
  static_assert(std::is_trivially_copyable_v<T>);
  T bytes;
  size_t size = 0;
  const bool good = sodium_base642bin(reinterpret_cast<unsigned char*>(&bytes), sizeof bytes, text.data(), text.size(),
                                      nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) == 0;
  if (!good || size != sizeof bytes) return std::nullopt;
  return bytes;
}

template <class T>
std::string ToBase64(const T& bytes) {
  std::string text(sodium_base64_ENCODED_LEN(sizeof bytes, sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(&bytes), sizeof bytes,
                    sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // its NUL
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool DropPrefix(std::string_view& line, std::string_view prefix) {
  if (line.substr(0, prefix.size()) != prefix) return false;
  line.remove_prefix(prefix.size());
  return true;
}

Result<SignatureFile> ParseSignature(std::string_view text) {
  std::string_view comment = TakeLine(text);
  const std::optional<SignatureBytes> bytes =
      FromBase64<SignatureBytes>(DropPrefix(comment, kUntrusted) ? TakeLine(text) : "");
  comment = TakeLine(text);
  if (!bytes || !DropPrefix(comment, kTrusted)) return Refused("the signature is not one of minisign's format");
  const auto of_comment = FromBase64<std::array<uint8_t, crypto_sign_BYTES>>(TakeLine(text));
  if (!of_comment || !text.empty() || (bytes->algorithm != kEd25519 && bytes->algorithm != kPrehashed))
    return Refused("the signature is not one of minisign's format");
  return SignatureFile{*bytes, *of_comment, std::string(comment)};
}

Result<std::optional<std::chrono::sys_days>> ExpiryIn(std::string_view comment) {
  std::optional<std::chrono::sys_days> expiry;
  while (!comment.empty()) {
    const size_t end = std::min(comment.find_first_of(" \t"), comment.size());
    std::string_view word = comment.substr(0, end);
    comment.remove_prefix(std::min(end + 1, comment.size()));
    if (!DropPrefix(word, kExpires)) continue;
    if (expiry) return Refused(fmt::format("the trusted comment has the word '{}' twice", kExpires));
    expiry = ParseDay(word);
    if (!expiry)
      return Refused(
          fmt::format("the trusted comment has '{}{}', which is not a day (YYYY-MM-DD)", kExpires, Printable(word)));
  }
  return expiry;
}

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::array<uint8_t, crypto_generichash_BYTES_MAX> HashOf(std::string_view text) {
  std::array<uint8_t, crypto_generichash_BYTES_MAX> hash;
  crypto_generichash(hash.data(), hash.size(), Bytes(text), text.size(), nullptr, 0);
  return hash;
}

// The text of the second signature: the first one and the comment.
std::string WithComment(const SignatureBytes& bytes, std::string_view comment) {
  return std::string(bytes.signature.begin(), bytes.signature.end()).append(comment);
}

std::array<uint8_t, 32> ChecksumOf(const SecretKeyBytes& secret) {
  std::string text(secret.algorithm.begin(), secret.algorithm.end());
  text.append(secret.id.begin(), secret.id.end()).append(secret.key.begin(), secret.key.end());
  std::array<uint8_t, 32> checksum;
  crypto_generichash(checksum.data(), checksum.size(), Bytes(text), text.size(), nullptr, 0);
  sodium_memzero(text.data(), text.size());
  return checksum;
}

// Wiped when it goes out of scope.
struct SecretKey {
  SecretKeyBytes bytes{};
  SecretKey() = default;
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey() { sodium_memzero(&bytes, sizeof bytes); }
};

Result<SecretKey> ReadSecretKey(const std::filesystem::path& path) {
  DEPUTY_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMostKeyBytes));
  std::string_view rest = text;
  std::string_view comment = TakeLine(rest);
  const std::optional<SecretKeyBytes> bytes =
      FromBase64<SecretKeyBytes>(DropPrefix(comment, kUntrusted) ? TakeLine(rest) : "");
  sodium_memzero(text.data(), text.size());
  if (!bytes || bytes->algorithm != kEd25519 || bytes->checksum_algorithm != kBlake2b)
    return Refused("is not a secret key of minisign's format").At(path.string());
  SecretKey secret;
  secret.bytes = *bytes;
  if (bytes->derivation != std::array<uint8_t, 2>{})
    return Refused("the secret key has a password")
        .At(path.string())
        .Advise("make one by 'deputy bundle keygen' or 'minisign -GW'");
  // minisign writes zeros where there is no password.
  if (bytes->checksum != std::array<uint8_t, 32>{} && bytes->checksum != ChecksumOf(secret.bytes))
    return Refused("the secret key is damaged").At(path.string());
  return secret;
}

// A new file for its owner only.
Status WritePrivately(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written = file.get() >= 0 &&
                       write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(file.get()) == 0;
  if (written) return {};
  const int error = errno;
  if (file.get() >= 0) unlink(path.c_str());
  return Error(error == EEXIST ? StatusCode::kInvalidArgument : StatusCode::kUnavailable, "cannot create: {}",
               std::strerror(error))
      .At(path.string());
}

}  // namespace

std::string IdText(const KeyId& id) {
  std::string text;
  for (size_t i = id.size(); i-- > 0;) text += fmt::format("{:02X}", id[i]);
  return text;
}

Result<PublicKey> ParsePublicKey(std::string_view text) {
  std::string_view first = TakeLine(text);
  if (DropPrefix(first, kUntrusted)) first = TakeLine(text);
  const std::optional<PublicKeyBytes> bytes = FromBase64<PublicKeyBytes>(first);
  if (!bytes || bytes->algorithm != kEd25519) return Refused("is not a public key of minisign's format");
  return PublicKey{bytes->id, bytes->key};
}

Result<PublicKey> ReadPublicKey(const std::string& key) {
  Result<PublicKey> line = ParsePublicKey(key);
  // No file has such a name: it is the text of a key that is damaged.
  if (line.ok() || key.find('\n') != std::string::npos) return line;
  DEPUTY_ASSIGN_OR_RETURN(const std::string text, ReadTrustedFile(key, kMostKeyBytes));
  Result<PublicKey> parsed = ParsePublicKey(text);
  if (!parsed.ok()) return std::move(parsed).status().WithCode(StatusCode::kInvalidArgument).At(key);
  return parsed;
}

Result<KeyId> SignerOf(std::string_view signature) {
  DEPUTY_ASSIGN_OR_RETURN(const SignatureFile file, ParseSignature(signature));
  return file.bytes.id;
}

std::chrono::sys_days Today() { return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()); }

std::optional<std::chrono::sys_days> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  unsigned year = 0, month = 0, day = 0;
  const auto read = [&](size_t from, size_t to, unsigned& number) {
    const char* end = text.data() + to;
    return std::from_chars(text.data() + from, end, number).ptr == end;
  };
  if (!read(0, 4, year) || !read(5, 7, month) || !read(8, 10, day)) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::string DayText(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

Result<std::optional<std::chrono::sys_days>> ExpiryOf(std::string_view signature) {
  DEPUTY_ASSIGN_OR_RETURN(const SignatureFile file, ParseSignature(signature));
  return ExpiryIn(file.comment);
}

Status CheckSignature(std::string_view text, std::string_view signature, const PublicKey& key,
                      std::chrono::sys_days today) {
  if (!IsReady()) return Status(StatusCode::kUnavailable, "libsodium cannot be used");
  DEPUTY_ASSIGN_OR_RETURN(const SignatureFile file, ParseSignature(signature));
  if (file.bytes.id != key.id)
    return Refused(fmt::format("is signed with the key {}, not with {}", IdText(file.bytes.id), IdText(key.id)));
  const auto verifies = [&](const std::array<uint8_t, crypto_sign_BYTES>& by, const unsigned char* data, size_t size) {
    return crypto_sign_verify_detached(by.data(), data, size, key.key.data()) == 0;
  };
  const auto hash = HashOf(text);
  const bool prehashed = file.bytes.algorithm == kPrehashed;
  if (!verifies(file.bytes.signature, prehashed ? hash.data() : Bytes(text), prehashed ? hash.size() : text.size()))
    return Refused(fmt::format("the signature with the key {} is wrong", IdText(key.id)));
  const std::string global = WithComment(file.bytes, file.comment);
  if (!verifies(file.comment_signature, Bytes(global), global.size()))
    return Refused("the signature of the trusted comment is wrong");
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<std::chrono::sys_days> expiry, ExpiryIn(file.comment));
  if (!expiry || today <= *expiry) return {};
  return Refused(fmt::format("the signature has expired: its last day was {}, and today is {} (UTC)", DayText(*expiry),
                             DayText(today)))
      .Advise("install what is signed again, with a later day; or correct the date of this device if it is wrong");
}

Result<std::string> Sign(std::string_view text, const std::filesystem::path& secret_key, std::string_view comment) {
  if (!IsReady()) return Status(StatusCode::kUnavailable, "libsodium cannot be used");
  DEPUTY_ASSIGN_OR_RETURN(const SecretKey secret, ReadSecretKey(secret_key));
  SignatureBytes bytes{kPrehashed, secret.bytes.id, {}};
  const auto hash = HashOf(text);
  crypto_sign_detached(bytes.signature.data(), nullptr, hash.data(), hash.size(), secret.bytes.key.data());
  std::array<uint8_t, crypto_sign_BYTES> of_comment;
  const std::string global = WithComment(bytes, comment);
  crypto_sign_detached(of_comment.data(), nullptr, Bytes(global), global.size(), secret.bytes.key.data());
  return fmt::format("{}signature with the key {}\n{}\n{}{}\n{}\n", kUntrusted, IdText(bytes.id), ToBase64(bytes),
                     kTrusted, comment, ToBase64(of_comment));
}

Status MakeKeys(const std::filesystem::path& secret_key, const std::filesystem::path& public_key) {
  if (!IsReady()) return Status(StatusCode::kUnavailable, "libsodium cannot be used");
  SecretKey secret;
  PublicKeyBytes open{kEd25519, {}, {}};
  secret.bytes.algorithm = kEd25519;
  secret.bytes.checksum_algorithm = kBlake2b;
  randombytes_buf(secret.bytes.id.data(), secret.bytes.id.size());
  open.id = secret.bytes.id;
  crypto_sign_keypair(open.key.data(), secret.bytes.key.data());
  secret.bytes.checksum = ChecksumOf(secret.bytes);
  const std::string public_text =
      fmt::format("{}minisign public key {}\n{}\n", kUntrusted, IdText(open.id), ToBase64(open));
  std::string secret_text = fmt::format("{}minisign secret key\n{}\n", kUntrusted, ToBase64(secret.bytes));
  std::error_code ignored;
  if (std::filesystem::exists(public_key, ignored))
    return Status(StatusCode::kInvalidArgument, "cannot create: it exists").At(public_key.string());
  Status status = WritePrivately(secret_key, secret_text);
  sodium_memzero(secret_text.data(), secret_text.size());
  if (!status.ok()) return status;
  const std::span<const uint8_t> piece(Bytes(public_text), public_text.size());
  return WriteFileAtomically(public_key, std::span(&piece, 1));
}

}  // namespace deputy::host::bundle
