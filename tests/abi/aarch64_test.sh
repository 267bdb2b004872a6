#!/usr/bin/env bash
# aarch64 with Debian's cross compiler: the ABI headers, the golden layout under emulation, and the null plugin through
# the SDK package. Usage: aarch64_test.sh SDK_PREFIX SCRATCH_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sdk=$1
scratch=$2
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v "$tool" >/dev/null || { echo "$tool is missing; packaging/install-deps.sh test installs it"; exit 1; }
done
python3 "$here/headers_alone_test.py" --cross
python3 "$here/layout_test.py" --arch aarch64 --cc aarch64-linux-gnu-gcc \
  --run "qemu-aarch64-static -L /usr/aarch64-linux-gnu"

rm -rf "$scratch"
mkdir -p "$scratch/source"
cp "$here"/../../plugins/null/* "$scratch/source/"
cat >"$scratch/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(NullForAarch64 VERSION 0.1.0 LANGUAGES C CXX)
find_package(DeputySDK REQUIRED)
add_subdirectory(source)
CMAKE
cmake -S "$scratch" -B "$scratch/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DDeputySDK_DIR="$sdk/lib/cmake/DeputySDK" -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$scratch/out" >/dev/null
cmake --build "$scratch/build"
aarch64-linux-gnu-readelf -h "$scratch/out/null.so" | grep -q AArch64
[ "$(aarch64-linux-gnu-nm -D --defined-only "$scratch/out/null.so" | wc -l)" = 1 ]
aarch64-linux-gnu-readelf -n "$scratch/out/null.so" | grep -q Deputy
echo "aarch64: headers, layout and the null plugin are right"
