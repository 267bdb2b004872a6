#!/usr/bin/env bash
# Makes the Debian packages of host/docs/packages.md in build/deb/packages, a folder that apt can install from:
#
#   packaging/deb.sh [--build-dir DIR] [CMAKE-OPTION...]
#
# They are made of a build of their own, in build/deb/build or DIR: the libraries are in the folder of the architecture,
# and nothing names the tree. CMAKE-OPTIONs are those of the build; with -DDEPUTY_OPENVINO_DIR=DIR there is a package of
# plugins/openvino too. A folder of debhelper's files, packaging/debian, says what is in which package.
#
# python3-deputy is for /usr/bin/python3, and made with nanobind of build/python, which packaging/python-deps.sh makes of
# packages of PyPI. Where that and the packages of Debian are installed, nothing is downloaded.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

build=$root/build/deb/build packages=$root/build/deb/packages work=$root/build/deb/work
if [[ ${1:-} == --build-dir ]]; then
  build=$(realpath -m "$2")
  shift 2
fi

step "packages"
packaging/install-deps.sh build package python
packaging/python-deps.sh || {
  echo "deb.sh: python3-deputy is made with nanobind and scikit-build-core of build/python; where PyPI can be reached," \
    "packaging/python-deps.sh installs them" >&2
  exit 1
}
python=$root/build/python/bin/python
abi_of() { "$1" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))'; }
if [[ $(abi_of "$python") != "$(abi_of /usr/bin/python3)" ]]; then
  echo "deb.sh: build/python is for $(abi_of "$python"), and python3-deputy for $(abi_of /usr/bin/python3) of Debian;" \
    "remove build/python, and run packaging/python-deps.sh with /usr/bin/python3" >&2
  exit 1
fi
version=$(sed -n 's/^project(Deputy VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
if [[ ${packaged%-*} != "$version" ]]; then
  echo "deb.sh: packaging/debian/changelog is of version $packaged, and the project of $version" >&2
  exit 1
fi

step "build"
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cmake --preset release -B "$build" -DDEPUTY_BUILD_TESTS=OFF -DDEPUTY_LINK_TIME_OPTIMIZATION=ON -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_INSTALL_LIBDIR="lib/$multiarch" -DCMAKE_SKIP_INSTALL_RPATH=ON \
  -DDEPUTY_PYTHON="$python" -DDEPUTY_PYTHON_INSTALL_DIR=lib/python3/dist-packages "$@"
cmake --build "$build" --parallel "$jobs"

step "packages of Debian"
cached() { sed -n "s|^$1:[A-Z]*=||p" "$build/CMakeCache.txt"; }
IFS=. read -r major minor _ <<<"$version"
abi() { sed -n "s|^#define DEPUTY_ABI_$1 \([0-9]*\)u.*|\1|p" sdk/include/deputy/abi/base.h; }
plugin_abi=$(abi MAJOR).$(abi MINOR)
[[ $plugin_abi =~ ^[0-9]+\.[0-9]+$ ]] || { echo "deb.sh: no version of the ABI in sdk/include/deputy/abi/base.h" >&2 && exit 1; }
openvino=$(cached DEPUTY_OPENVINO_DIR)

rm -rf "$work" "$packages"
mkdir -p "$work/deputy" "$packages"
cp -r packaging/debian "$work/deputy/debian"
cp host/CHANGELOG.md "$work/deputy/debian/HOST-CHANGELOG.md"
cp sdk/CHANGELOG.md "$work/deputy/debian/SDK-CHANGELOG.md"
(
  cd "$work/deputy"
  umask 022
  env DEPUTY_BUILD="$build" DEPUTY_PYTHON="$python" DEPUTY_PYTHON_SOURCES="$root/host/python" API="$major.$minor" \
    PLUGIN_ABI="$plugin_abi" OPENVINO_LIBRARIES="${openvino:+$openvino/openvino/libs}" dpkg-buildpackage --build=binary --no-sign
) >"$work/log" 2>&1 || {
  tail -n 40 "$work/log"
  exit 1
}
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$packages"
# What apt reads of a folder: deb [trusted=yes] file:FOLDER ./
(cd "$packages" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
rm -rf "$work/deputy"
ls "$packages"
step "done"
