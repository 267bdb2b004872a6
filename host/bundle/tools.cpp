// The library's one symbol.
#include "bundle/tools.hpp"

#include "bundle/contents.hpp"
#include "bundle/installed.hpp"
#include "bundle/pack.hpp"
#include "bundle/signature.hpp"
#include "bundle/verify.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

class Tools final : public BundleTools {
 public:
  Result<BundleInfo> Pack(const BundleSources& sources, const fs::path& output) const override {
    return bundle::Pack(sources, output);
  }
  Result<BundleInfo> Inspect(const fs::path& bundle) const override {
    std::error_code ignored;
    DEPUTY_ASSIGN_OR_RETURN(ReadBundle read,
                            fs::is_directory(bundle, ignored) ? ReadBundleFolder(bundle) : ReadBundleFile(bundle));
    return std::move(read.info);
  }
  Result<BundleVerification> Verify(const fs::path& bundle, const std::string& key,
                                    const HostCheck& check) const override {
    return bundle::Verify(bundle, key, check);
  }
  Result<BundleVerification> Install(const fs::path& file, const std::string& key, const fs::path& root,
                                     const HostCheck& check, bool allow_downgrade) const override {
    return bundle::Install(file, key, root, check, allow_downgrade);
  }
  Result<InstalledBundle> RollBack(const fs::path& root, const std::string& name,
                                   const std::string& version) const override {
    return bundle::RollBack(root, name, version);
  }
  Status Remove(const fs::path& root, const std::string& name, const std::string& version) const override {
    return bundle::Remove(root, name, version);
  }
  Result<std::vector<InstalledBundle>> List(const fs::path& root) const override { return bundle::List(root); }
  Status MakeKeys(const fs::path& secret_key, const fs::path& public_key) const override {
    return bundle::MakeKeys(secret_key, public_key);
  }
  Status CheckSignature(std::string_view text, std::string_view signature,
                        std::span<const std::string> public_keys) const override {
    DEPUTY_ASSIGN_OR_RETURN(const KeyId signer, SignerOf(signature));
    Status status(StatusCode::kAborted, "no key is given");
    for (const std::string& text_of_key : public_keys) {
      DEPUTY_ASSIGN_OR_RETURN(const PublicKey key, ParsePublicKey(text_of_key));
      status = bundle::CheckSignature(text, signature, key);
      if (key.id == signer) break;  // the others would only say that they are not the signer's
    }
    return status;
  }
};

}  // namespace
}  // namespace deputy::host::bundle

extern "C" __attribute__((visibility("default"))) const deputy::host::BundleTools* deputy_bundle_v1(const char* build) {
  static constexpr deputy::host::bundle::Tools kTools;
  return std::string_view(build) == deputy::host::kBundleBuild ? &kTools : nullptr;
}
