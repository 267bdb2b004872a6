// A scan of plugin folders whose files earlier scans have probed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "plugin/discovery/registry.hpp"
#include "runtime/plugin_locks.hpp"
#include "runtime/plugin_records.hpp"

namespace deputy::host::benchmarks {
namespace {

namespace fs = std::filesystem;

// Copies of a plugin, each with an id of its own, and their lock.
void MakeCopies(const fs::path& folder, int64_t count) {
  std::ifstream file(BENCHMARK_PLUGIN, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string id = "first_element";
  fs::create_directories(folder);
  std::ofstream lock(folder / "SHA256SUMS");
  for (int64_t copy = 0; copy < count; ++copy) {
    char own[16];
    std::snprintf(own, sizeof own, "plugin_%06d", static_cast<int>(copy));
    std::string changed = bytes;
    for (size_t at = 0; (at = changed.find(id, at)) != std::string::npos;) changed.replace(at, id.size(), own);
    std::ofstream(folder / (std::string(own) + ".so"), std::ios::binary) << changed;
    Sha256 sha256;
    sha256.Add({reinterpret_cast<const uint8_t*>(changed.data()), changed.size()});
    lock << HexText(sha256.Finish()) << "  " << own << ".so\n";
  }
}

// All of them are wanted; what was found out about them is kept. `locked`: their bytes are compared with the lock.
void Scan(benchmark::State& state, bool locked) {
  const fs::path folder = fs::temp_directory_path() / ("scan_benchmark_" + std::to_string(getpid()));
  MakeCopies(folder / "plugins", state.range(0));
  ScanOptions options;
  options.paths = {folder / "plugins"};
  options.worker = BENCHMARK_WORKER;
  options.probe = options.refuse_untrusted = true;
  const auto store = std::make_shared<Store>(StoreOptions{folder / "store", uint64_t{1} << 30});
  const auto scan = [&] {
    if (locked)
      options.look_up_lock = [locks = std::make_shared<PluginLocks>(std::vector<std::string>())](
                                 const auto& place, const auto& name, const ByteSource& bytes) {
        return locks->LookUp(place, name, bytes);
      };
    options.require_listed = locked;
    options.records = std::make_shared<PluginRecords>(store, true, std::vector<std::string>(), true);
    PluginRegistry registry;
    registry.Scan(options);
    return registry.delegate_ids().size();
  };
  size_t found = scan();
  for (auto _ : state) found += scan();
  fs::remove_all(folder);
  if (found != (static_cast<size_t>(state.iterations()) + 1) * static_cast<size_t>(state.range(0)))
    state.SkipWithError("not all plugins are accepted");
}
void ScanWarm(benchmark::State& state) { Scan(state, false); }
void ScanWarmLocked(benchmark::State& state) { Scan(state, true); }
BENCHMARK(ScanWarm)->Arg(100)->Arg(200)->Unit(benchmark::kMillisecond);
BENCHMARK(ScanWarmLocked)->Arg(100)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace deputy::host::benchmarks
