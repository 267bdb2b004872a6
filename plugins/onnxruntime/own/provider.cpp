#include "../provider.hpp"
namespace ort {
sdk::Result<std::shared_ptr<Provider>> OpenOwn(const sdk::Host&, const ProviderSettings&) {
  return sdk::Status(sdk::Code::kNotSupported, "own tables are not built");
}
}  // namespace ort
