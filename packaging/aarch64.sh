#!/usr/bin/env bash
# Builds Deputy for aarch64 on another machine and runs it under emulation: the digits with the simulated NPU first, and
# the conformance kit over its plugins, over a small delegate in C and over a generated project in C++. Slow: the
# whole host is built once more, and the emulator runs it at a fraction of its speed.
#
#   packaging/aarch64.sh [build|digits|conformance]...      default: all of them, in this order
#
# The libraries of aarch64 come from Debian's archive into a folder below build/, without root and without changing
# which architectures this machine's dpkg knows. The cross compiler and the emulator: packaging/install-deps.sh test.
# As a test: cmake --preset release -DDEPUTY_TEST_AARCH64=ON, then ctest -L aarch64.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"
sysroot=$root/build/aarch64-sysroot
prefix=$root/build/aarch64-prefix
emulated=(qemu-aarch64-static -L "$sysroot" -E "LD_LIBRARY_PATH=$prefix/lib")

packages=(
  libc6-dev libstdc++-12-dev
  libboost-dev libboost-graph-dev libyaml-cpp-dev libflatbuffers-dev libspdlog-dev libfmt-dev libeigen3-dev
  libarchive-dev libsodium-dev libseccomp-dev
  libprotobuf-dev libonnx-dev libcli11-dev nlohmann-json3-dev libpng-dev libturbojpeg0-dev
)

# Debian's packages and all that they depend on, unpacked; apt keeps its state in the scratch folder.
make_sysroot() {
  if [[ -e $sysroot/.complete ]]; then
    echo "$sysroot is there"
    return
  fi
  local scratch=$root/build/aarch64-packages
  rm -rf "$sysroot"
  mkdir -p "$scratch"/{state/lists/partial,cache/archives/partial} "$sysroot"
  : >"$scratch/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
    >"$scratch/sources.list"
  local apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$scratch/state"
    -o Dir::State::status="$scratch/status" -o Dir::Cache="$scratch/cache" -o Debug::NoLocking=1
    -o APT::Sandbox::User="$(id -un)" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::sourcelist="$scratch/sources.list")
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
  local package
  for package in "$scratch"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
  done
  touch "$sysroot/.complete"
}

build() {
  cmake --preset aarch64
  cmake --build --preset aarch64 --parallel "$jobs"
  rm -rf "$prefix"
  cmake --install build/aarch64 --prefix "$prefix" >build/aarch64-install.log
  # The host starts its worker as a program of its own. Not every kernel can start it under the emulator (binfmt_misc),
  # so a script does.
  local worker=$prefix/lib/deputy/deputy-worker
  mv "$worker" "$worker.aarch64"
  printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${emulated[*]}" "$worker.aarch64" >"$worker"
  chmod +x "$worker"
}

run_digits() {
  local output
  output=$("${emulated[@]}" "$prefix/bin/deputy" digits --set delegates.onednn.enabled=false) || {
    echo "$output"
    exit 1
  }
  echo "$output"
  grep -Eq '^ +npu0 +[1-9]' <<<"$output" || {
    echo "aarch64: the simulated NPU ran nothing" >&2
    exit 1
  }
}

# run_kit PLUGIN.so [OPTION...]
run_kit() {
  "${emulated[@]}" "$prefix/bin/deputy-conformance" "$@" --timeout 300
}

# Plugins as vendors cross-build them: the small delegate of tests/languages, and a generated project.
run_conformance() {
  local made=$root/build/aarch64-made plugins=$prefix/lib/deputy/plugins
  rm -rf "$made"
  mkdir -p "$made"
  aarch64-linux-gnu-gcc -std=c99 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -I"$prefix/include" -shared \
    -Wl,--build-id,-z,now,-z,nodelete,-z,defs "$root/tests/languages/c/small.c" -o "$made/small_c.so"
  "${emulated[@]}" "$prefix/bin/deputy" new-plugin made_npu --dir "$made/made_npu"
  cmake -G Ninja -S "$made/made_npu" -B "$made/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$root/packaging/cmake/aarch64.cmake" -DDeputySDK_DIR="$prefix/lib/cmake/DeputySDK" >"$made/log"
  cmake --build "$made/build" >>"$made/log"
  run_kit "$made/small_c.so"
  run_kit "$made/build/made_npu.so"
  run_kit "$plugins/null.so" --set claim_identity=true
  run_kit "$plugins/sim_npu.so" --quirks "$root/plugins/sim_npu/conformance.txt"
}

for what in "${@:-build digits conformance}"; do
  for part in $what; do
    case "$part" in
      build)
        step "the libraries of aarch64"
        make_sysroot
        step "build and install"
        build
        ;;
      digits) step "digits under emulation" && run_digits ;;
      conformance) step "conformance under emulation" && run_conformance ;;
      *)
        echo "aarch64: unknown part '$part'; known: build, digits, conformance" >&2
        exit 2
        ;;
    esac
  done
done
