#!/usr/bin/env bash
# Builds Deputy for aarch64 on another machine and lets it classify the digits under emulation, with the simulated NPU
# first. Slow: the whole host is built once more, and the emulator runs it at a fraction of its speed.
#
#   packaging/aarch64.sh [sysroot|build|test]...      default: all three
#
# The libraries of aarch64 come from Debian's archive into a folder below build/, without root and without changing
# which architectures this machine's dpkg knows. The cross compiler and the emulator: packaging/install-deps.sh test.
# As a test: cmake --preset release -DDEPUTY_TEST_AARCH64=ON, then ctest -L aarch64.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"
sysroot=$root/build/aarch64-sysroot
prefix=$root/build/aarch64-prefix

packages=(
  libc6-dev libstdc++-12-dev
  libboost-dev libboost-graph-dev libyaml-cpp-dev libflatbuffers-dev libspdlog-dev libfmt-dev libeigen3-dev
  libprotobuf-dev libonnx-dev libcli11-dev nlohmann-json3-dev
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
}

# The probe of a plugin starts a program of this prefix, which has to run under the emulator as well: where the kernel
# does not start foreign programs by itself (binfmt_misc), plugins are loaded without that probe.
run_digits() {
  local deputy=(qemu-aarch64-static -L "$sysroot" -E "LD_LIBRARY_PATH=$prefix/lib" "$prefix/bin/deputy")
  local settings=()
  "$prefix/bin/deputy" --version >/dev/null 2>&1 || settings=(--set plugins.trust=any --set plugins.probe_timeout=60s)
  local output
  output=$("${deputy[@]}" digits "${settings[@]}" --set delegates.onednn.enabled=false) || {
    echo "$output"
    exit 1
  }
  echo "$output"
  grep -Eq '^ +npu0 +[1-9]' <<<"$output" || {
    echo "aarch64: the simulated NPU ran nothing" >&2
    exit 1
  }
}

for what in "${@:-sysroot build test}"; do
  for part in $what; do
    case "$part" in
      sysroot) step "the libraries of aarch64" && make_sysroot ;;
      build) step "build and install" && build ;;
      test) step "digits under emulation" && run_digits ;;
      *)
        echo "aarch64: unknown part '$part'; known: sysroot, build, test" >&2
        exit 2
        ;;
    esac
  done
done
