#!/usr/bin/env bash
# Installs missing packages, builds everything with gcc, runs all tests. ctest's summary is the last of the output and
# its exit status is the script's. Arguments go to ctest, for example: packaging/test.sh -L unit
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

step "1/4 packages"
packaging/install-deps.sh build test python
packaging/python-deps.sh || echo "no build/python: the tests of the Python package will be skipped"
packaging/peers.sh || echo "no peers: the tests that compare with LiteRT and ONNX Runtime will be skipped"

step "2/4 configure"
cmake --preset release

step "3/4 build"
cmake --build --preset release --parallel "$jobs"

step "4/4 test"
exec ctest --preset release --parallel "$jobs" "$@"
