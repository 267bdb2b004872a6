#!/usr/bin/env bash
# Makes a release: builds, tests, packs, lists what is in it, compares it with the one before, signs.
#
#   packaging/release.sh [--previous FOLDER] [--key SECRET_KEY] [--skip-tests] [--dry-run] OUTPUT_FOLDER
#
#   --previous FOLDER  the last release, as this script made it: its release-facts.json is compared with
#   --key SECRET_KEY   of minisign; without it nothing is signed
#   --skip-tests       builds and checks only what the release says of the ABI; with --dry-run only
#   --dry-run          also of a tree with changes, without a tag, with a version whose changes are not closed
#
# The output folder, which must be new or empty, has in the end: the tarball, Debian packages, the wheel, the bill of
# materials (*.cdx.json, CycloneDX), release-facts.json, COMPARISON.md, SHA256SUMS and its signature.
# .github/RELEASING.md tells what to look at. A break of the ABI that the version does not allow ends the script, before
# anything is signed. Two runs of one commit give the same tarball and bill of materials.
set -euo pipefail
invoked_from=$PWD
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"
export PYTHONDONTWRITEBYTECODE=1
helpers=packaging/release

refuse() {
  echo "release.sh: $*" >&2
  exit 2
}
# A path as the caller wrote it: build-env.sh changes the folder.
from_caller() { (cd "$invoked_from" && realpath -m -- "$1"); }

previous='' key='' output='' skip_tests='' dry_run=''
while (($#)); do
  case "$1" in
    --previous | --key)
      (($# > 1)) || refuse "$1 needs a value"
      path=$(from_caller "$2")
      [[ -e $path ]] || refuse "$1: there is no $path"
      if [[ $1 == --key ]]; then key=$path; else previous=$path; fi
      shift 2
      ;;
    --skip-tests) skip_tests=1 && shift ;;
    --dry-run) dry_run=1 && shift ;;
    -*) refuse "no option '$1'; there are: --previous, --key, --skip-tests, --dry-run" ;;
    *)
      [[ -z $output ]] || refuse "two output folders: $output and $1"
      output=$(from_caller "$1")
      shift
      ;;
  esac
done
[[ -n $output ]] || refuse "no output folder"
[[ ! -e $output || (-d $output && -z $(ls -A "$output")) ]] || refuse "$output is there, and not an empty folder"
[[ -z $previous || -f $previous/release-facts.json ]] || refuse "$previous has no release-facts.json"
[[ -z $key ]] || command -v minisign >/dev/null || refuse "minisign is not installed"
[[ -z $skip_tests || -n $dry_run ]] || refuse "a release is tested: --skip-tests is for --dry-run"

version=$(sed -n 's/^project(Deputy VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
commit=$(git rev-parse HEAD)
packaged=$(head -1 packaging/debian/changelog)
[[ $packaged == "deputy ($version-"* ]] || refuse "packaging/debian/changelog begins with '$packaged', and not with $version"
if [[ -z $dry_run ]]; then
  [[ -z $(git status --porcelain) ]] || refuse "the tree has changes; commit them, or try --dry-run"
  tag=$(git tag --points-at HEAD --list "v$version")
  [[ -n $tag ]] || refuse "this commit has no tag v$version, the version of CMakeLists.txt"
  for changes in host sdk; do
    grep -qE "^## ${version//./\\.}, [0-9]{4}-[0-9]{2}-[0-9]{2}$" "$changes/CHANGELOG.md" ||
      refuse "$changes/CHANGELOG.md has no heading '## $version, YYYY-MM-DD'"
  done
fi

build=$root/build/release work=$root/build/release-staging name=deputy-$version-linux-$(uname -m)
prefix=$work/$name
rm -rf "$work"
mkdir -p "$work" "$output"

step "packages"
packaging/install-deps.sh build test
if [[ -z $skip_tests ]]; then
  # Without these test.sh would leave out the Python package and the tests that compare with other engines.
  packaging/install-deps.sh python
  packaging/python-deps.sh
  packaging/peers.sh
  # test.sh builds everything; ctest's summary is in its output.
  step "build and test"
  packaging/test.sh
else
  # What is installed, and what tests of the ABI need: they vouch for the golden files that the facts are made of.
  step "build"
  cmake --preset release
  cmake --build --preset release --parallel "$jobs" --target host/all sdk/all sdk/conformance/all configs/all \
    plugins/tflite_delegate/all plugins/onnxruntime_ep/all deputy_plugins deputy_documents
  step "golden files"
  ctest --preset release -R '^(abi\.layout|abi\.schema|capi\.golden)$'
fi

step "tarball"
umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
packaging/tarball.sh --build-dir "$build"
cp -t "$output" "build/tarball/$name.tar.xz"
tar --extract --directory="$work" --file "$output/$name.tar.xz"
echo "$name.tar.xz: $(stat --format=%s "$output/$name.tar.xz") bytes"

# Those of other scripts are built from the same commit.
collect() {
  local script=$1 folder=$2 pattern=$3
  step "$script"
  "$script"
  mapfile -t made < <(find "$folder" -maxdepth 1 -name "$pattern" | LC_ALL=C sort)
  ((${#made[@]})) || { echo "release.sh: $script made no $pattern below $folder" >&2 && exit 1; }
  cp -t "$output" "${made[@]}"
}
collect packaging/deb.sh build/deb/packages '*.deb'
collect packaging/wheel.sh build/wheels '*.whl'

step "bill of materials"
$helpers/sbom.py --prefix "$prefix" --build-dir "$build" --version "$version" --epoch "$SOURCE_DATE_EPOCH" \
  "$output/deputy-$version.cdx.json"

step "facts: ABI, sizes, speed"
$helpers/facts.py --prefix "$prefix" --build-dir "$build" --artefacts "$output" --commit "$commit" \
  "$output/release-facts.json"

if [[ -n $previous ]]; then
  step "comparison with $previous"
  $helpers/compare.py --previous "$previous/release-facts.json" --present "$output/release-facts.json" \
    "$output/COMPARISON.md"
fi

step "SHA256SUMS"
$helpers/sums.py ${key:+--key "$key" --comment "Deputy $version, commit $commit"} "$output"
rm -rf "$work"
step "done"
ls -l "$output"
if [[ -n $dry_run ]]; then echo "a dry run: no release"; fi
