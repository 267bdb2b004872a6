#!/usr/bin/env bash
# Brings runtimes of other vendors into build/guests, for the plugins that host them and their tests: ONNX Runtime with
# the execution providers of Qualcomm (QNN), ggml and WebGPU, and OpenVINO, from PyPI. WebGPU runs on SwiftShader, a
# Vulkan driver for the CPU that Debian's chromium has. Nothing of them is shipped with Deputy. Then
#
#   source build/guests/env.sh
#
# lets the configurations qnn, ggml, webgpu and openvino find them. Licences, as the packages state them: ONNX Runtime,
# ggml's and WebGPU's providers MIT; OpenVINO Apache-2.0; of onnxruntime-qnn the provider MIT, and the libraries libQnn*,
# libHtpPrepare and libGenie under Qualcomm's own terms, which are in the package: use is allowed, distribution only
# inside of an application, taking apart not.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

packages=(onnxruntime==1.32.0 onnxruntime-qnn==2.7.0 onnxruntime-ggml==0.2.0 onnxruntime-ep-webgpu==0.4.0
          openvino==2026.4.1)
folder=$root/build/guests
stamp=$folder/packages.txt

if [[ ! -f $stamp || $(<"$stamp") != "${packages[*]}" ]]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  # Without dependencies: two of the providers ask for another ONNX Runtime than the one they run with.
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${packages[@]}"
  ln -s "$(cd "$folder" && echo venv/lib/python3*/site-packages)" "$folder/python"
  # The name by which programs know ONNX Runtime's library.
  mkdir "$folder/lib"
  ln -s ../python/onnxruntime/capi/libonnxruntime.so.1.32.0 "$folder/lib/libonnxruntime.so.1"
  echo "${packages[*]}" >"$stamp"
fi

python=$folder/python
driver=/usr/lib/chromium/vk_swiftshader_icd.json
# Its loader of drivers is in no folder of the dynamic linker.
if [[ -f $driver ]]; then ln -sf /usr/lib/chromium/libvulkan.so.1 "$folder/lib/libvulkan.so.1"; fi
{
  echo "# What hosted runtimes need to be found: made by packaging/guests.sh. The last folder has no library of its own: it"
  echo "# lets the sandbox of a worker process read what those of the others need."
  echo "export LD_LIBRARY_PATH=$folder/lib:$python/onnxruntime_qnn:$python/onnxruntime_ggml/lib:$python/onnxruntime_ep_webgpu:$python/openvino/libs:$python\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
  if [[ -f $driver ]]; then
    echo "export VK_ICD_FILENAMES=$driver ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER=1 XDG_RUNTIME_DIR=\${XDG_RUNTIME_DIR:-/tmp}"
  fi
} >"$folder/env.sh"
echo "guests: build/guests is there; source build/guests/env.sh"
