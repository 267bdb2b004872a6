#!/usr/bin/env bash
# From a fresh Debian 12 to classified digits: installs missing packages, builds, installs below build/, runs.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"
prefix=$root/build/quickstart-prefix

step "1/4 packages"
packaging/install-deps.sh build

step "2/4 configure"
cmake --preset release -DDEPUTY_BUILD_TESTS=OFF -DDEPUTY_BUILD_CONFORMANCE=OFF

step "3/4 build and install"
cmake --build --preset release --parallel "$jobs"
rm -rf "$prefix"
cmake --install build/release --prefix "$prefix" >build/quickstart-install.log
echo "installed in $prefix"

step "4/4 digits: a simulated NPU first, oneDNN second, the CPU last"
# The main job:
"$prefix/bin/deputy" digits
