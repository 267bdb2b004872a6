#!/usr/bin/env bash
# Installs the Debian 12 packages that Deputy is built and tested with. Needs root or sudo only when one is missing;
# if all are installed it needs neither network nor privileges.
#
#   packaging/install-deps.sh [build] [test] [package] [python] [site]      default: build
set -euo pipefail

build=(
  build-essential g++ cmake ninja-build ccache pkg-config git python3
  libboost-dev libboost-graph-dev # Boost.DLL and Boost.Graph, headers only
  libyaml-cpp-dev
  libflatbuffers-dev flatbuffers-compiler # the first brings FlatBuffersConfig.cmake, the second flatc
  libspdlog-dev libfmt-dev
  libeigen3-dev
  libdnnl-dev
  libprotobuf-dev protobuf-compiler libonnx-dev
  libcli11-dev nlohmann-json3-dev
  libarchive-dev libsodium-dev # bundles
  libseccomp-dev # the sandbox of worker processes
  libpng-dev libturbojpeg0-dev
)
site=(python3 git doxygen mkdocs mkdocs-material) # the site of the documents; doxygen makes the references of the headers

# Tests open the site and the page of `deputy partition --html` in Chromium and give the graph of --dot to Graphviz; zsh,
# fish and mandoc read completions and manual pages. libclang-rt holds clang's sanitizer runtimes and
# libc6-dev-arm64-cross the headers that the cross compiler merely recommends. The last lines re-make the digits model
# and its test pictures: numpy, Pillow, OpenBLAS for speed, and the fonts, the last four of which are not in
# the training set.
test=(
  libgtest-dev libbenchmark-dev
  clang-14 libclang-rt-14-dev clang-format-14 libc++-14-dev libc++abi-14-dev rustc
  "${site[@]}"
  chromium graphviz zsh fish mandoc
  minisign strace # signatures that it checks and makes; an installation that is killed at its system calls
  g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
  python3-numpy python3-pil python3-onnx python3-venv libopenblas0-pthread
  fonts-dejavu-core fonts-dejavu-extra fonts-liberation fonts-freefont-ttf fonts-lato fonts-open-sans
  fonts-linuxlibertine fonts-crosextra-caladea fonts-cabin
  fonts-cantarell fonts-roboto-unhinted fonts-sil-gentium-basic fonts-inconsolata
)
# Debian packages, and the test that installs them in a root of its own.
package_tools=(debhelper dh-python dpkg-dev lintian mmdebstrap)

python=(python3-venv python3-dev) # the Python package: packaging/python-deps.sh and wheel.sh

wanted=()
for group in "${@:-build}"; do
  case "$group" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    package) wanted+=("${package_tools[@]}") ;;
    python) wanted+=("${python[@]}") ;;
    site) wanted+=("${site[@]}") ;;
    *)
      echo "install-deps: unknown group '$group'; known: build, test, package, python, site" >&2
      exit 2
      ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "install-deps: all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: not root, and no sudo; as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "install-deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
