// Opens and selects the module, and calls its functions.
#include "kernels/linalg/linalg.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>

#include <atomic>
#include <filesystem>

#include "base/cancellation.hpp"
#include "base/judged_file.hpp"
#include "base/log.hpp"
#include "kernels/linalg/module.hpp"

namespace deputy::host::linalg {
namespace {

// The modules of other levels are libraries: a machine needs one of them. They are in the private folder of the
// installation, "deputy" beside libdeputy; programs that the host is linked to statically are in a folder beside lib/.
std::filesystem::path FileOf(Level level) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&FileOf), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(info.dli_fname, error).parent_path();
  const std::string name = std::string("libdeputy_linalg_") + NameOf(level) + ".so";
  const std::filesystem::path file = folder / "deputy" / name;
  return std::filesystem::exists(file, error) ? file : folder.parent_path() / "lib" / "deputy" / name;
}

const Module* Open(Level level) {
  const std::filesystem::path file = FileOf(level);
  Status status = CheckInstalledFile(file);
  if (status.ok()) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    using Entry = const Module* (*)(size_t);
    const auto entry = library == nullptr ? nullptr : reinterpret_cast<Entry>(dlsym(library, "deputy_linalg_module"));
    if (library == nullptr) {
      status = Error(StatusCode::kUnavailable, "{}", dlerror());  // which names the file
    } else if (const Module* const module = entry == nullptr ? nullptr : entry(sizeof(Module)); module != nullptr) {
      return module;
    } else {
      status = Error(StatusCode::kIncompatible, "belongs to another build of Deputy").At(file.string());
    }
  }
  Log(LogLevel::kWarning, "the CPU's instructions of level {} are not used, so that products take longer: {}",
      NameOf(level), std::move(status).Advise("repair the installation").ToString());
  return nullptr;
}

bool HasInstructions(Level level);

// Null: the machine has not its instructions, or the installation not its library.
const Module* ModuleOf(Level level) {
  if (level == Level::kBaseline) return &kModuleBaseline;
  if (!HasInstructions(level)) return nullptr;
  if (level == Level::kV3) {
    static const Module* const v3 = Open(level);
    return v3;
  }
  static const Module* const v4 = Open(level);  // which does not open that of v3
  return v4;
}

const Module* BestModule() {
  for (const Level level : {Level::kV4, Level::kV3})
    if (const Module* const module = ModuleOf(level); module != nullptr) return module;
  return &kModuleBaseline;
}

std::atomic<const Module*>& Active() {
  static std::atomic<const Module*> module{BestModule()};
  return module;
}

#if defined(__x86_64__)
// clang 14 does not know the feature's name.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// Calls `gemm`, which can be ended early if it takes long and the thread's scope ends.
template <class T>
void GemmInScope(void (*gemm)(const GemmArgs<T>&, void*), const GemmArgs<T>& args, void* workspace) {
  constexpr double kLongWork = 1e8;  // multiplications
  CancellationScope* scope = nullptr;
  if (static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k) > kLongWork)
    scope = CancellationScope::Current();
  if (scope == nullptr) return gemm(args, workspace);
  GemmArgs<T> own = args;
  own.ends = [](void* self) { return static_cast<CancellationScope*>(self)->Ends(); };
  own.ends_self = scope;
  gemm(own, workspace);
}

}  // namespace

namespace {

bool HasInstructions(Level level) {
  switch (level) {
    case Level::kBaseline: return true;
#if defined(__x86_64__)
    case Level::kV3: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
    case Level::kV4:
      return HasInstructions(Level::kV3) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
#else
    case Level::kV3:
    case Level::kV4: return false;
#endif
  }
  return false;
}

}  // namespace

bool Available(Level level) { return ModuleOf(level) != nullptr; }

const Module& ActiveModule() { return *Active().load(std::memory_order_relaxed); }
Level ActiveLevel() { return ActiveModule().level; }

bool Select(Level level) {
  const Module* const module = ModuleOf(level);
  if (module == nullptr) return false;
  Active().store(module, std::memory_order_relaxed);
  return true;
}

size_t GemmWorkspace(const GemmArgs<float>& args) { return ActiveModule().f32.gemm_workspace(args); }
size_t GemmWorkspace(const GemmArgs<double>& args) { return ActiveModule().f64.gemm_workspace(args); }
void Gemm(const GemmArgs<float>& args, void* workspace) { GemmInScope(ActiveModule().f32.gemm, args, workspace); }
void Gemm(const GemmArgs<double>& args, void* workspace) { GemmInScope(ActiveModule().f64.gemm, args, workspace); }
size_t GemmWorkspace(const GemmArgs<Int16Pair>& args) { return ActiveModule().pairs.gemm_workspace(args); }
void Gemm(const GemmArgs<Int16Pair>& args, void* workspace) { GemmInScope(ActiveModule().pairs.gemm, args, workspace); }
size_t GemmWorkspace(const GemmArgs<Int8Quad>& args) { return ActiveModule().quads.gemm_workspace(args); }
void Gemm(const GemmArgs<Int8Quad>& args, void* workspace) { GemmInScope(ActiveModule().quads.gemm, args, workspace); }
bool HasQuads() { return ActiveModule().quads.gemm != nullptr; }
template <>
int64_t PanelWidth<float>() {
  return ActiveModule().f32.panel_width;
}
template <>
int64_t PanelWidth<double>() {
  return ActiveModule().f64.panel_width;
}
template <>
int64_t PanelWidth<Int16Pair>() {
  return ActiveModule().pairs.panel_width;
}
template <>
int64_t PanelWidth<Int8Quad>() {
  return ActiveModule().quads.panel_width;
}
void GatherRows(const GatherArgs<Int8Quad>& args) { ActiveModule().quads.gather_rows(args); }
void GatherRows(const GatherArgs<Int16Pair>& args) { ActiveModule().pairs.gather_rows(args); }
void GatherRows(const GatherArgs<float>& args) { ActiveModule().f32.gather_rows(args); }
void GatherRows(const GatherArgs<double>& args) { ActiveModule().f64.gather_rows(args); }
void ConvolvePlane(const PlaneArgs<float>& args) { ActiveModule().f32.convolve_plane(args); }
void ConvolvePlane(const PlaneArgs<double>& args) { ActiveModule().f64.convolve_plane(args); }
void SumTaps(const TapsArgs<float>& args) { ActiveModule().f32.sum_taps(args); }
void SumTaps(const TapsArgs<double>& args) { ActiveModule().f64.sum_taps(args); }
void PackLeft(const GemmArgs<float>& args, float* packed) { ActiveModule().pack_left(args, packed); }
void PackRight(const GemmArgs<float>& args, float* panels) { ActiveModule().pack_right(args, panels); }
void PackWinograd(const float* weights, const WinogradArgs& args, float* packed) {
  ActiveModule().winograd.pack(weights, args, packed);
}
size_t WinogradWorkspace(const WinogradArgs& args) { return ActiveModule().winograd.workspace(args); }
void ConvolveWinograd(const WinogradArgs& args, void* workspace) { ActiveModule().winograd.convolve(args, workspace); }

void Apply(RowFunction function, const float* x, int64_t count, float alpha, float beta, float* y) {
  ActiveModule().rows.apply[static_cast<int>(function)](x, count, alpha, beta, y);
}
void Apply(PairFunction function, const float* a, int64_t a_step, const float* b, int64_t b_step, int64_t count,
           float* y) {
  ActiveModule().rows.apply_pairs[static_cast<int>(function)](a, a_step, b, b_step, count, y);
}
double Sum(const float* x, int64_t count) { return ActiveModule().rows.sum(x, count); }
double SumOfSquares(const float* x, int64_t count, double mean) {
  return ActiveModule().rows.sum_of_squares(x, count, mean);
}
float Largest(const float* x, int64_t count) { return ActiveModule().rows.largest(x, count); }
void Softmax(const float* x, int64_t count, float* y) { ActiveModule().rows.softmax(x, count, y); }
void LogSoftmax(const float* x, int64_t count, float* y) { ActiveModule().rows.log_softmax(x, count, y); }
void Normalize(const float* x, int64_t count, float mean, float inverse, const float* scale, const float* bias,
               float* y) {
  ActiveModule().rows.normalize(x, count, mean, inverse, scale, bias, y);
}
void Pool(const PoolArgs& args) { ActiveModule().rows.pool(args); }

void Truncate(const float* x, int64_t count, int32_t* y) { ActiveModule().elements.truncate(x, count, y); }
bool IsWithin(const float* x, int64_t count, float limit) { return ActiveModule().elements.is_within(x, count, limit); }
void Dequantize(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, float scale, float* y) {
  ActiveModule().elements.dequantize(x, count, is_signed, zero, scale, y);
}
void Quantize(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y) {
  ActiveModule().elements.quantize(x, count, scale, range, y);
}
void Requantize(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y) {
  ActiveModule().elements.requantize(x, count, multipliers, step, range, y);
}

void Requantize(const float* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y) {
  ActiveModule().elements.requantize_floats(x, count, multipliers, step, range, y);
}
void WidenBytes(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, int16_t* y) {
  ActiveModule().elements.widen_bytes(x, count, is_signed, zero, y);
}
void PairBytes(const uint8_t* x, const uint8_t* next, int64_t count, bool is_signed, int32_t zero, int32_t* y) {
  ActiveModule().elements.pair_bytes(x, next, count, is_signed, zero, y);
}
void QuadBytes(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, int32_t* y) {
  ActiveModule().elements.quad_bytes(rows, count, flip, y);
}
void AddQuads(int32_t quad, const int32_t* x, int64_t step, int64_t count, int32_t* y) {
  ActiveModule().elements.add_quads(quad, x, step, count, y);
}
void LargerBytes(const uint8_t* a, const uint8_t* b, int64_t count, bool is_signed, uint8_t* y) {
  ActiveModule().elements.larger_bytes(a, b, count, is_signed, y);
}

bool WidenHalves(const uint16_t* x, int64_t count, float* y) {
  const auto widen = ActiveModule().halves.widen;
  if (widen != nullptr) widen(x, count, y);
  return widen != nullptr;
}

bool NarrowToHalves(const float* x, int64_t count, uint16_t* y) {
  const auto narrow = ActiveModule().halves.narrow;
  if (narrow != nullptr) narrow(x, count, y);
  return narrow != nullptr;
}

}  // namespace deputy::host::linalg
