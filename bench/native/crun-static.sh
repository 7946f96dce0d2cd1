#!/bin/sh
# crun-static.sh OUT: builds crun from Debian's source package, linked statically with the
# C library, libyajl, libseccomp and libcap, and writes the program to OUT. Also installs
# Debian's own crun and runc where they are missing: they are measured beside it.
#
# systemd support is left out (Debian has no static libsystemd), as are CRIU and loadable
# handlers (a static program can't load them). libgcrypt is in: crun caches compiled
# seccomp filters only when it has it, and Debian's own build does not. So this is the
# faster peer of the two in every respect. The machine's apt sources stay as they are: apt
# gets its own configuration, lists and cache below OUT.build.
set -eu

out=$1
here=$(cd "$(dirname "$0")" && pwd)
build=$out.build
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

install_missing() {
	missing=
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
			missing="$missing $p"
	done
	[ -z "$missing" ] && return
	echo "crun-static: installing$missing" >&2
	apt-get update -q
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

private_apt() {
	mkdir -p apt/lists/partial apt/cache/archives/partial apt/state apt/none
	echo "deb-src http://deb.debian.org/debian $suite main" >apt/sources.list
	cat >apt/apt.conf <<-CONF
		Dir::Etc::SourceList "$PWD/apt/sources.list";
		Dir::Etc::SourceParts "$PWD/apt/none";
		Dir::State "$PWD/apt/state";
		Dir::State::Lists "$PWD/apt/lists";
		Dir::State::Status "/var/lib/dpkg/status";
		Dir::Cache "$PWD/apt/cache";
		APT::Sandbox::User "root";
	CONF
	APT_CONFIG=$PWD/apt/apt.conf
	export APT_CONFIG
}

install_missing crun runc busybox-static gcc make dpkg-dev pkg-config gperf python3 \
	libyajl-dev libseccomp-dev libcap-dev libgcrypt20-dev libgpg-error-dev libc6-dev

rm -rf "$build"
mkdir -p "$build"
cd "$build"
private_apt
apt-get update -q >&2
apt-get source -q --download-only crun >&2
dpkg-source -q -x crun_*.dsc source >&2
cd source
# Debian's static libyajl is libyajl_s.a; configure looks for libyajl.
./configure -q --disable-shared --disable-systemd --disable-criu --disable-dl \
	CFLAGS='-O2' LIBS=-lgpg-error YAJL_LIBS=-lyajl_s ac_cv_search_yajl_tree_get=-lyajl_s >&2
grep -q 'define HAVE_GCRYPT 1' config.h
make -s git-version.h
make -s LDFLAGS=-all-static CFLAGS='-O2 -w' crun >&2
strip -o "$out" crun
cd "$here"
rm -rf "$build"
"$out" --version >&2
