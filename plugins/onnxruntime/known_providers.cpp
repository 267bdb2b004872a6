#include "known_providers.hpp"

namespace ort {

const std::vector<KnownProvider>& KnownProviders() {
  static const std::vector<KnownProvider> providers = {
      {"qnn",
       "QNNExecutionProvider",
       {{"backend_type", "htp", {"htp", "gpu", "cpu"}, "Qualcomm's NPU, GPU, or reference on the CPU", true},
        {"soc_model", "0", {}, "number of the system on chip, needed by the NPU's emulation; 0: of this device"},
        {"htp_arch", "0", {}, "architecture of the NPU (68, 69, 73, 75, 81); 0: of the chip"},
        {"vtcm_mb", "0", {}, "MiB of the NPU's fast memory; 0: all"},
        {"enable_htp_fp16_precision", "1", {"0", "1"}, "whether float32 is computed in float16"},
        {"htp_graph_finalization_optimization_mode", "0", {"0", "1", "2", "3"}, "effort of its compiler"}},
       /*builds_in_first_run=*/false,
       /*keeps_context=*/true,
       "htp_performance_mode",
       "qnn.htp_perf_mode"},
      {"ggml",
       "ggml",
       {{"device", "auto", {"auto", "gpu", "cpu"}, "where ggml computes"},
        // Its own choice is f16, with which results differ in the third digit.
        {"weights", "f32", {"f32", "f16", "q8_0"}, "element type of weights", true}},
       /*builds_in_first_run=*/true,
       /*keeps_context=*/false,
       /*clock_option=*/"",
       /*power_entry=*/"",
       "threads",
       /*is_serial=*/false,
       /*fatal_operator=*/"Resize"},
      {"webgpu",
       "WebGpuExecutionProvider",
       {{"preferredLayout", "NHWC", {"NCHW", "NHWC"}, "order of the axes in which it computes"}},
       /*builds_in_first_run=*/false,
       /*keeps_context=*/false,
       /*clock_option=*/"",
       /*power_entry=*/"",
       /*threads_option=*/"",
       /*is_serial=*/true,
       /*fatal_operator=*/"",
       /*registers_kernels=*/true},
      {"openvino", "OpenVINOExecutionProvider", {}, /*builds_in_first_run=*/false, /*keeps_context=*/true},
      {"cpu_ep", "CPUExecutionProvider", {}}};
  return providers;
}

const KnownProvider* FindKnown(const std::string& name) {
  for (const KnownProvider& provider : KnownProviders())
    if (provider.name == name) return &provider;
  return nullptr;
}

}  // namespace ort
