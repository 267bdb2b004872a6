#!/usr/bin/env bash
# Checks that take too long for .ci/run, for a release: packaging/long.sh [CHECK...], by default all, about a day on two
# cores. It stops at the first that fails. `--list` prints their names:
#   sanitizers   faults_test and isolation_test, whole, with AddressSanitizer and with ThreadSanitizer
#   fuzz         an hour of libFuzzer for each target
#   edits        single edits of models of every operator that a plugin of the tree claims
#   networks     10,000 random networks beside ONNX Runtime, and 1,000 that `verify` must accuse of nothing
#   conformance  the kit at length, with each plugin of the tree
#   packages     Debian's packages and the tarball, in a Debian 12 that has nothing else; needs root
#   guests       real models with other vendors' runtimes first: QNN, ggml, WebGPU, ONNX Runtime's own provider
#   mutation     deliberate mistakes in host/, which its tests must notice
#   benchmarks   the limits of host/docs/performance.md; needs a machine without other work
#   release      packaging/release.sh twice without its tests: signed, unpacked and run, compared, the same to the byte
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

all=(sanitizers fuzz edits networks conformance packages guests mutation benchmarks release)
bin=build/release/bin
python=build/peers/bin/python

sanitizers() {
  for preset in asan tsan; do
    cmake --preset $preset
    cmake --build --preset $preset --parallel "$jobs" \
      --target faults_test isolation_test isolated_models_test mutants soak deputy_plugins deputy-worker
    setarch "$(uname -m)" --addr-no-randomize ctest --preset $preset --parallel "$jobs" -R '^(faults|isolation)\.'
  done
}

fuzz() { tests/fuzz/run.py all 3600 --jobs "$jobs"; }

edits() { python3 tests/faults/edited_models.py --deputy $bin/deputy --mutants $bin/mutants; }

networks() {
  $python tests/integration/architectures_test.py --deputy $bin/deputy --threads 1 --seeds 100000:110000
  $python tests/integration/architectures_test.py --deputy $bin/deputy --verify --seeds 200000:201000
  $python tests/integration/architectures_test.py --deputy $bin/deputy --in-flight 8 --seeds 300000:300300
  $python tests/integration/architectures_test.py --deputy $bin/deputy --in-flight 8 --isolated --seeds 300000:300300
}

conformance() {
  for plugin in build/release/lib/deputy/plugins/*.so; do $bin/deputy-conformance "$plugin" --thorough; done
}

packages() {
  packaging/deb.sh
  packaging/tarball.sh --build-dir build/release
  python3 tests/integration/packages_test.py --packages build/deb/packages --tarball build/tarball/*.tar.xz --root build/deb/root
}

guests() {
  packaging/guests.sh
  # openvino is built where its package is named; the folder of the plugins is that of the other checks without it.
  cmake --preset release -B build/openvino -DDEPUTY_OPENVINO_DIR="$root/build/guests/python"
  cmake --build build/openvino --parallel "$jobs"
  ctest --test-dir build/openvino --output-on-failure -R openvino
  $python tests/integration/guests_test.py --deputy $bin/deputy --guests build/guests --data ../shared/data
}

mutation() { tests/mutation/mutate.py -j "$jobs"; }

benchmarks() {
  $python tests/benchmarks/compare.py --build-dir build/release --check
  python3 tests/benchmarks/isolation.py --build-dir build/release --check
}

release() {
  local folder=build/rehearsal
  rm -rf $folder && mkdir -p $folder/unpacked
  minisign -G -W -p $folder/minisign.pub -s $folder/minisign.key
  packaging/release.sh --dry-run --skip-tests --key $folder/minisign.key $folder/first
  packaging/release.sh --dry-run --skip-tests --previous $folder/first $folder/second
  (cd $folder/first && minisign -V -p ../minisign.pub -m SHA256SUMS && sha256sum --check --strict SHA256SUMS)
  grep -q '^0 breaks' $folder/second/COMPARISON.md
  local file
  for file in "$folder"/first/*.tar.xz "$folder"/first/*.cdx.json; do cmp "$file" "$folder/second/${file##*/}"; done
  tar --extract --directory=$folder/unpacked --strip-components=1 --file $folder/first/deputy-*.tar.xz
  # Plugins that the lock lists are not isolated: it has the digests of the stripped files.
  (cd $folder/unpacked/lib/deputy/plugins && sha256sum --check --strict SHA256SUMS)
  DEPUTY_SYSTEM_CONFIG='' $folder/unpacked/bin/deputy digits --config npu-first
}

for check in "$@"; do
  if [[ $check == --list ]]; then printf '%s\n' "${all[@]}" && exit; fi
  if [[ " ${all[*]} " != *" $check "* ]]; then echo "long.sh: no check '$check'; there are: ${all[*]}" >&2 && exit 2; fi
done

step "packages"
packaging/install-deps.sh build test
packaging/peers.sh
step "release"
cmake --preset release
cmake --build --preset release --parallel "$jobs"
for check in "${@:-${all[@]}}"; do
  step "$check"
  "$check"
done
step "done"
