#!/usr/bin/env bash
# Makes the wheel of the Python package in build/wheels, for the Python of build/python or another one, 3.9 to 3.14.
#
#   packaging/wheel.sh [--python PYTHON] [PREFIX]
#
# The wheel holds an installation of Deputy: that of PREFIX; else what build/release has built is installed for it; else
# it is built.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

python=
if [[ ${1:-} == --python ]]; then
  python=$2
  shift 2
fi

step "1/4 packages of Python"
packaging/install-deps.sh python
packaging/python-deps.sh

step "2/4 installation"
prefix=${1:-$root/build/wheel-prefix}
if (($# == 0)); then
  if [[ ! -e build/release/lib/libdeputy.so ]]; then
    packaging/install-deps.sh build
    cmake --preset release -DDEPUTY_BUILD_TESTS=OFF -DDEPUTY_BUILD_CONFORMANCE=OFF -DDEPUTY_LINK_TIME_OPTIMIZATION=ON
    cmake --build --preset release --parallel "$jobs"
  fi
  rm -rf "$prefix"
  mkdir -p build
  cmake --install build/release --prefix "$prefix" >build/wheel-install.log
fi
echo "installation: $prefix"

step "3/4 wheel"
rm -rf build/wheels/made
export CMAKE_PREFIX_PATH=$prefix
if [[ -z $python ]]; then
  rm -f build/wheels/*.whl
  build/python/bin/python -m build --wheel --no-isolation --config-setting "build-dir=$root/build/wheel-build" \
    --outdir build/wheels/made host/python
else # what it needs comes from PyPI, for this version
  "$python" -m pip wheel --disable-pip-version-check --no-deps --wheel-dir build/wheels/made host/python
fi

step "4/4 libraries, tag and lock"
PATH=$root/build/python/bin:$PATH build/python/bin/python packaging/repair_wheel.py build/wheels/made/*.whl build/wheels
ls -l build/wheels/*.whl
