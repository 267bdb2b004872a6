#!/usr/bin/env bash
# The ABI and a plugin on aarch64: headers alone, the layout under emulation, and a plugin cross-built through the
# installed SDK. Tools that are missing are an error (packaging/install-deps.sh test installs them).
#   aarch64_test.sh <source dir> <build dir with an installable SDK> <cmake>
set -euo pipefail
source_dir=$1 build_dir=$2 cmake=$3
here=$source_dir/tests/abi

for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ aarch64-linux-gnu-nm qemu-aarch64-static ninja python3; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed (Debian: g++-aarch64-linux-gnu, qemu-user-static, ninja-build)" >&2
    exit 1
  fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1

echo "== the SDK, installed"
"$cmake" --install "$build_dir" --component sdk --prefix "$scratch/sdk" > /dev/null

echo "== headers alone"
python3 "$here/headers_alone_test.py" --headers "$scratch/sdk/include/deputy/abi" \
  --c aarch64-linux-gnu-gcc --cxx aarch64-linux-gnu-g++

echo "== layout"
# Static, so that the emulator needs no libraries of the other machine.
python3 "$here/layout_test.py" --headers "$scratch/sdk/include/deputy/abi" --goldens "$here" --machine aarch64 \
  --emulator qemu-aarch64-static aarch64-linux-gnu-gcc -static

echo "== plugin"
"$cmake" -G Ninja -S "$source_dir/plugins" -B "$scratch/plugins" -DCMAKE_TOOLCHAIN_FILE="$source_dir/packaging/cmake/aarch64.cmake" \
  -DDeputySDK_DIR="$(dirname "$(find "$scratch/sdk" -name DeputySDKConfig.cmake)")" -DCMAKE_BUILD_TYPE=Release \
  -DDEPUTY_PLUGINS=null -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$scratch/out" > "$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
"$cmake" --build "$scratch/plugins" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
aarch64-linux-gnu-readelf -h "$scratch/out/null.so" | grep -q 'Machine:.*AArch64'
python3 "$here/exports_test.py" --nm aarch64-linux-gnu-nm --readelf aarch64-linux-gnu-readelf "$scratch/out" null
