#include "bundle/verify.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

// In $TMPDIR or /tmp, for its owner only.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> Create() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    std::string name = (parent / "deputy-bundle-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      return Error(StatusCode::kUnavailable, "a temporary folder cannot be made{}: {}",
                   error ? "" : " in " + parent.string(), error ? error.message() : std::strerror(errno))
          .Advise("the variable TMPDIR names the folder in which it is made");
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(name)));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  const fs::path path_;
};

std::string RuleOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument: return "damaged";
    case StatusCode::kFailedPrecondition: return "unsafe-path";
    case StatusCode::kResourceExhausted: return "too-large";
    case StatusCode::kIncompatible: return "incompatible";
    case StatusCode::kAborted: return "signature";
    default: return {};
  }
}

}  // namespace

std::optional<BundleProblem> AsProblem(const Status& status) {
  std::string rule = RuleOf(status.code());
  if (rule.empty()) return std::nullopt;
  return BundleProblem{std::move(rule), status.ToString()};
}

Result<std::optional<PublicKey>> KeyToCheck(const std::string& key) {
  if (key.empty()) return std::optional<PublicKey>();
  DEPUTY_ASSIGN_OR_RETURN(const PublicKey parsed, ReadPublicKey(key));
  return std::optional(parsed);
}

void VerifyUnpacked(const ReadBundle& read, const fs::path& folder, const std::optional<PublicKey>& key,
                    const HostCheck& check, BundleVerification& verification) {
  std::vector<BundleProblem>& problems = verification.problems;
  if (key) {
    const Status status = read.signature.empty()
                              ? Status(StatusCode::kAborted, "is not signed")
                              : CheckSignature(read.checksums_text, read.signature, *key).At(kChecksumsSignatureName);
    verification.signature_checked = status.ok();
    if (!status.ok()) problems.push_back({"signature", status.ToString()});
  }
  // No plugin of a bundle with a problem is run.
  if (problems.empty() && check) check(folder, problems);
}

Result<BundleVerification> Verify(const fs::path& bundle, const std::string& key, const HostCheck& check) {
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<PublicKey> parsed, KeyToCheck(key));
  BundleVerification verification;
  std::unique_ptr<ScratchFolder> scratch;
  std::error_code ignored;
  const bool unpacked = fs::is_directory(bundle, ignored);
  if (!unpacked) {
    DEPUTY_ASSIGN_OR_RETURN(scratch, ScratchFolder::Create());
  }
  const fs::path folder = unpacked ? bundle : scratch->path();
  Result<ReadBundle> read = unpacked ? ReadBundleFolder(folder) : Unpack(bundle, folder, /*durable=*/false);
  if (!read.ok()) {
    std::optional<BundleProblem> problem = AsProblem(read.status());
    if (!problem) return std::move(read).status();
    verification.problems.push_back(*std::move(problem));
    return verification;
  }
  if (unpacked) CheckFiles(folder, read->checksums, verification.problems);
  VerifyUnpacked(*read, folder, parsed, check, verification);
  verification.info = std::move(read->info);
  return verification;
}

}  // namespace deputy::host::bundle
