# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Part of ./dev, which reads this for `./dev release`: makes all that is given away, in build/dist. From a commit alone.
# shellcheck disable=SC2154 # $deps is set by ./dev

# make_release [ROOT...]: each artefact twice where it can differ, then tried, also in the ROOTs of other systems.
make_release() {
  apt lintian
  venv dev-tools/site/requirements.txt dev-tools/package/release-requirements.txt emulator/python/requirements.txt
  local version folder=$PWD/build/dist epoch
  epoch=$(commit_time)
  version=$(sed -n 's/^project(cuvmm VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  [[ -z $(git status --porcelain) ]] || die "release: there are changes that no commit has"
  rm -rf build/dist build/again
  mkdir -p build/dist build/again
  say "the sources"
  git -c tar.umask=0022 archive --format=tar --prefix="cuvmm-$version/" HEAD | gzip -n9 > "$folder/cuvmm-$version.tar.gz"
  tar -xf "$folder/cuvmm-$version.tar.gz" -C build/again
  wheel --test
  same_wheel "build/again/cuvmm-$version"
  package
  cp "$folder"/cuvmm_*.deb build/again
  package
  cmp "$folder"/cuvmm_*.deb build/again/cuvmm_*.deb || die "the two Debian packages differ"
  say "the site"
  rm -rf build/again/site
  site build/again/site
  tar -C build/again/site --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - . | gzip -n9 > "$folder/cuvmm-$version-site.tar.gz"
  say "the bill of materials"
  "$deps/venv/bin/python3" dev-tools/package/sbom.py "$folder/cuvmm-$version.cdx.json" "$epoch"
  say "what they are worth"
  python3 dev-tools/package/package_test.py "$folder"/cuvmm_*.deb "$@"
  (($# == 0)) || python3 dev-tools/package/wheel_test.py "$folder"/cuvmm-*.whl "$@"
  "$deps/venv/bin/python3" examples/ci/run_test.py --wheel "$folder"/cuvmm-*.whl
  # The container recipe, where buildah and podman are, and a root to stand in for its base image.
  (($# == 0)) || python3 dev-tools/package/container_test.py "$folder"/cuvmm-*.whl "$1" || (($? == 77)) || die "the container recipe does not work"
  (cd "$folder" && sha256sum cuvmm* > SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
  ls -l "$folder"
}
