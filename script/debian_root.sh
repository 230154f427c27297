# Debians of their own in folders, by debootstrap: what script/peers and script/platforms share. To be sourced; needs root.

declare -A debian_suites=([debian12]=bookworm [debian13]=trixie [sid]=sid)

# The one that this system is.
debian_suite() {
  if grep -q sid /etc/debian_version; then echo sid; else (. /etc/os-release && echo "$VERSION_CODENAME"); fi
}

# With processes and mounts of its own, which end with it however it ends.
apart() { unshare --mount --pid --fork --kill-child "$@"; }

# Runs in the Debian of a folder.
in_root() {
  apart bash -euc '
    mount --rbind /dev "$0/dev"  # with terminals
    mount -t proc proc "$0/proc"
    exec unshare --root="$0" "$@"
  ' "$1" /usr/bin/env -u LD_LIBRARY_PATH LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
}

# make_root FOLDER SUITE: FOLDER/root is whole or not there. Packages come from the mirror, and by the proxy, that this
# system's apt uses.
make_root() {
  local folder=$1 suite=$2 mirror http_proxy=${http_proxy:-}
  [ -d "$folder/root" ] && return
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Created-By: Packages' | head -n 1)
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  rm -rf --one-file-system "$folder/root.new"
  trap 'rm -rf --one-file-system "$folder/root.new"' RETURN EXIT
  http_proxy=$http_proxy apart --mount-proc debootstrap --variant=minbase \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$suite" "$folder/root.new" ${mirror:+"$mirror"} >&2
  printf '#!/bin/sh\nexit 101\n' >"$folder/root.new/usr/sbin/policy-rc.d" # no services
  chmod +x "$folder/root.new/usr/sbin/policy-rc.d"
  echo force-unsafe-io >"$folder/root.new/etc/dpkg/dpkg.cfg.d/unsafe-io" # minutes of syncing what can be made again
  mv "$folder/root.new" "$folder/root"
  trap - RETURN EXIT
}

# The network as this system has it today: names, proxies, and whether apt minds a mirror that is behind.
share_network() {
  local root=$1
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  apt-config dump --no-empty Acquire::http Acquire::https Acquire::Check-Valid-Until >"$root/etc/apt/apt.conf.d/90host"
}

# install_in_root ROOT PACKAGE...
install_in_root() {
  share_network "$1"
  in_root "$1" dpkg --configure -a >&2
  in_root "$1" apt-get update -qq >&2
  in_root "$1" apt-get install -y -qq --no-install-recommends --fix-broken "${@:2}" >&2
  in_root "$1" apt-get clean
}
