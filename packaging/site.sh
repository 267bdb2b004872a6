#!/usr/bin/env bash
# Makes the site of the documents in build/site: the pages by mkdocs, in it the references of the headers by Doxygen, with
# a search. It needs no server of ours or of others; packaging/site/mkdocs.yml has the order of the pages.
#
#   packaging/site.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

if (($#)); then
  echo "site.sh: wrong arguments '$*'; there are none" >&2
  exit 2
fi

step "packages"
packaging/install-deps.sh site

step "site"
packaging/site/build.py build/site
echo "build/site/index.html; with the search: python3 -m http.server --bind 127.0.0.1 --directory build/site"
step "done"
