#include "runtime/identity.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/file.hpp"
#include "deputy/version.hpp"

namespace deputy::host {
namespace {

// A file that changed within this time may change again without a change of its times: their clock ticks every few
// milliseconds, and some file systems keep whole seconds.
constexpr time_t kRecent = 2;

void AddCpuFeatures(Digester& digester) {
#if defined(__x86_64__)
  for (const unsigned leaf : {1U, 7U}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    (void)__get_cpuid_count(leaf, 0, &a, &b, &c, &d);
    digester.AddNumber(c).AddNumber(d).AddNumber(leaf == 1 ? 0 : b);  // the first has the number of the core in b
  }
#endif
  digester.AddNumber(getauxval(AT_HWCAP)).AddNumber(getauxval(AT_HWCAP2));
}

uint64_t NumberOf(const std::optional<double>& number) {
  uint64_t bits = UINT64_MAX;  // a NaN
  if (number) std::memcpy(&bits, &*number, sizeof bits);
  return bits;
}

// False: the file cannot be inspected, or has changed so recently that its times identify nothing.
bool AddFileState(const std::string& path, time_t now, Digester& digester) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return false;
  for (const auto number :
       {static_cast<uint64_t>(about.st_dev), static_cast<uint64_t>(about.st_ino), static_cast<uint64_t>(about.st_size),
        static_cast<uint64_t>(about.st_mtim.tv_sec), static_cast<uint64_t>(about.st_mtim.tv_nsec),
        static_cast<uint64_t>(about.st_ctim.tv_sec), static_cast<uint64_t>(about.st_ctim.tv_nsec)})
    digester.AddNumber(number);
  return std::max(about.st_mtim.tv_sec, about.st_ctim.tv_sec) + kRecent < now;
}

}  // namespace

std::optional<Digest> IdentityDigest(Delegate& delegate) {
  const DelegateIdentity identity = delegate.identity();
  if (identity.build.empty()) return std::nullopt;
  Digester digester;
  digester.AddText("deputy delegate").AddText(DEPUTY_VERSION).AddText(identity.driver);
  for (const std::string* text :
       {&identity.plugin, &identity.version, &identity.build, &identity.delegate, &identity.device})
    digester.AddText(*text);
  digester.AddNumber(identity.options.size());
  for (const auto& [name, value] : identity.options) digester.AddText(name).AddText(value);
  if (BlobFormat* const blobs = delegate.blobs()) {
    const Result<BlobMaker> maker = blobs->blob_maker();
    digester.AddText(maker.ok() ? maker->compatibility : maker.status().message());
  }
  AddCpuFeatures(digester);
  return digester.Finish();
}

Digest CpuIdentity() {
  Digester digester;
  digester.AddText("deputy cpu").AddText(DEPUTY_VERSION);
  AddCpuFeatures(digester);
  return digester.Finish();
}

Digest VerdictScope(const Digest& identity, const ToleranceSettings& tolerance) {
  Digester digester;
  digester.AddText("deputy verdicts").Add(identity);
  for (const std::optional<double>* one :
       {&tolerance.rtol, &tolerance.atol, &tolerance.atol_scale, &tolerance.outliers})
    digester.AddNumber(NumberOf(*one));
  digester.AddNumber(static_cast<uint64_t>(tolerance.computes_in));
  return digester.Finish();
}

Digest ModelDigest(std::span<const std::string> paths, std::span<const MappedBytes> contents, Store* store) {
  Digester states;
  states.AddText("deputy model files");
  const time_t now = time(nullptr);
  bool identified = store != nullptr;
  for (const std::string& path : paths) identified = identified && !path.empty() && AddFileState(path, now, states);
  const Digest key = states.Finish();
  Digest content{};
  if (identified)
    if (const std::optional<StoredEntry> known = store->Find(EntryKind::kModel, key);
        known && known->bytes.size() == content.size()) {
      std::copy(known->bytes.begin(), known->bytes.end(), content.begin());
      return content;
    }
  Digester digester;
  for (const MappedBytes& file : contents) {
    digester.AddNumber(file.bytes.size()).Add(file.bytes);
    if (file.descriptor >= 0) DropPages(file.bytes);
  }
  content = digester.Finish();
  if (identified)
    store->Save(EntryKind::kModel, key, std::filesystem::path(paths.front()).filename().string(), content);
  return content;
}

}  // namespace deputy::host
