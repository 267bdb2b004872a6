#!/usr/bin/env bash
# Makes a Python with Google's LiteRT interpreter in build/litert, for the tests that compare Deputy with it
# (integration.tflite.*; without it ctest skips them). It comes from PyPI: the network is asked once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

if build/litert/bin/python -c 'import ai_edge_litert, flatbuffers, numpy' 2>/dev/null; then
  echo "litert: build/litert is there"
  exit 0
fi
python3 -m venv build/litert
build/litert/bin/pip install --quiet --disable-pip-version-check ai-edge-litert==2.3.0
build/litert/bin/python -c 'import ai_edge_litert, flatbuffers, numpy'
