// A delegate inside the application: the same class as in a plugin, given to the host as an object.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy/sdk/plugin_tables.hpp"

namespace deputy::sdk {

// A plugin around one object of the application's. `plugin` lives as long as `keep`.
struct InProcessPlugin {
  std::shared_ptr<void> keep;
  const deputy_plugin* plugin = nullptr;
  std::string delegate_id;
};

// Every instance that is opened on it shares the object; Init runs at the first open, with the options of that open.
// Found by argument-dependent lookup: MakeInProcessPlugin(std::make_shared<MyDelegate>()).
template <class D, class = std::enable_if_t<std::is_base_of_v<DelegateBase, D>>>
InProcessPlugin MakeInProcessPlugin(std::shared_ptr<D> delegate, std::string id = "in_process") {
  auto holder = std::make_shared<detail::Holder>();
  holder->delegate = std::move(delegate);
  std::vector<std::unique_ptr<detail::Record>> records;
  records.push_back(detail::MakeRecord<D>(id, "in the application", [holder] { return holder; }));
  const auto plugin = std::make_shared<detail::Plugin>(id, "", "", std::move(records));
  return {plugin, plugin->table(), std::move(id)};
}

}  // namespace deputy::sdk
