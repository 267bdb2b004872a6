#!/usr/bin/env bash
# Installs the wheel of build/wheels in a new Debian root without compilers, and without the libraries that Deputy is
# built with; classifies the digits there within 20 s from the beginning of `pip install`. Needs root, and the packages
# of the root installed here: their files are copied. libstdc++ is of every manylinux system.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"
most_seconds=20
wheel=$(ls build/wheels/*-cp311-*.whl) # of Debian's Python
system=$root/build/wheel-root
wheels=$root/build/wheel-dependencies

step "1/3 root"
rm -rf "$system"
mkdir -p "$system"
mapfile -t packages < <(
  apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances bash coreutils grep python3-venv libc-bin libstdc++6 | grep -v '^[ <|]' | sort -u
)
for package in "${packages[@]}"; do
  dpkg-query --listfiles "$package" 2>/dev/null || true
done | sort -u | grep -v '^/usr/share/\(doc\|man\|locale\)/' | while read -r file; do
  # What is a folder here and a link there, such as /lib, is copied as it is here.
  if [[ -e $file && ! (-d $file && ! -L $file) ]]; then echo "$file"; fi
done >build/wheel-root.files
for link in bin sbin lib lib64; do cp -a "/$link" "$system/$link"; done
sed -i -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,' build/wheel-root.files
tar -C / -cf - --ignore-failed-read --files-from <(sed 's,^/,,' build/wheel-root.files) 2>/dev/null | tar -C "$system" -xf -
mkdir -p "$system"/{proc,dev,tmp,root}
ldconfig -r "$system"
for program in cc gcc g++ c++ clang ld make cmake; do
  if [[ -e $system/usr/bin/$program ]]; then
    echo "wheel-check: the root has $program" >&2
    exit 1
  fi
done

step "2/3 wheels"
build/python/bin/pip download --quiet --disable-pip-version-check --only-binary :all: --dest "$wheels" 'numpy>=1.23'
mkdir "$system/wheels"
cp "$wheels"/*.whl "$wheel" "$system/wheels/"

step "3/3 pip install, and the first answer"
cat >"$system/tmp/check.sh" <<'INSIDE'
set -eu
export HOME=/root LC_ALL=C.UTF-8
/usr/bin/python3 -m venv /tmp/venv
begin=$(date +%s%N)
/tmp/venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links /wheels deputy
/tmp/venv/bin/python -m deputy.digits >/tmp/digits.txt
end=$(date +%s%N)
cat /tmp/digits.txt
/tmp/venv/bin/deputy digits | tail -n 9
/tmp/venv/bin/deputy plugins --why | grep '^accepted'
/tmp/venv/bin/deputy doctor >/tmp/doctor.txt || { cat /tmp/doctor.txt && exit 1; }
grep 'CPU kernels' /tmp/doctor.txt
echo "first answer after $(((end - begin) / 1000000)) ms"
echo $(((end - begin) / 1000000)) >/tmp/milliseconds
INSIDE
unshare --mount --pid --fork sh -c "mount -t proc proc '$system/proc' && mount --bind /dev '$system/dev' && \
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot '$system' /bin/bash /tmp/check.sh"
if (($(cat "$system/tmp/milliseconds") > most_seconds * 1000)); then
  echo "wheel-check: more than $most_seconds s" >&2
  exit 1
fi
if [[ $(sed -n 2p "$system/tmp/digits.txt") != "20 of 20 right" ]]; then
  echo "wheel-check: wrong digits" >&2
  exit 1
fi
rm -rf "$system"
