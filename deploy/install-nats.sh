#!/bin/sh
# Installs nats-server when it is missing: by apt-get (Debian, Ubuntu), by Homebrew, or from the pinned upstream
# release into ~/.yao/bin after checking its SHA-256. Running it again changes nothing.
#
#   deploy/install-nats.sh [--dry-run]
#
# Environment: YAO_NATS_VERSION and YAO_NATS_SHA256 (given together) choose another release; YAO_NATS_DIR another
# directory than ~/.yao/bin.
set -eu

# Checksums are those of the official nats:2.10.29 image's build.
PINNED_VERSION=2.10.29
SHA256_LINUX_AMD64=e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da
SHA256_LINUX_ARM64=da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401

VERSION=${YAO_NATS_VERSION:-$PINNED_VERSION}
TARGET_DIR=${YAO_NATS_DIR:-${HOME:?set HOME}/.yao/bin}
DRY_RUN=no

say() { printf '%s\n' "$*"; }
fail() { printf 'install-nats: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command, or only prints it.
run() {
  if [ "$DRY_RUN" = yes ]; then
    say "would run: $*"
  else
    "$@"
  fi
}

# Prints the path of an installed nats-server. /usr/sbin is where Debian puts it, outside many users' PATH; a test that
# brings its own machine has those directories ignored.
installed() {
  if has nats-server; then
    command -v nats-server
    return 0
  fi
  for dir in /usr/sbin /usr/local/bin /opt/homebrew/bin "$TARGET_DIR"; do
    if [ "${YAO_NATS_IGNORE_SYSTEM:-}" != yes ] || [ "$dir" = "$TARGET_DIR" ]; then
      if [ -x "$dir/nats-server" ]; then
        say "$dir/nats-server"
        return 0
      fi
    fi
  done
  return 1
}

# apt-get knows the package and may be used: as root, or through a sudo that asks nothing.
can_apt() {
  has apt-get || return 1
  if [ "$(id -u)" -ne 0 ]; then
    has sudo && sudo -n true >/dev/null 2>&1 || return 1
  fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    run env DEBIAN_FRONTEND=noninteractive "$@"
  else
    run sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

install_with_apt() {
  as_root apt-get update -qq || say "apt-get update failed; trying with what is known"
  as_root apt-get install -y --no-install-recommends nats-server || return 1
  # The mesh runs a server of its own: the packaged service would only take port 4222.
  if has systemctl && [ "$DRY_RUN" = no ]; then
    as_root systemctl disable --now nats-server >/dev/null 2>&1 || true
  fi
}

platform() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "no release for $(uname -s); install nats-server 2.9 or newer by hand: https://github.com/nats-io/nats-server/releases" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no release for $(uname -m); install nats-server 2.9 or newer by hand: https://github.com/nats-io/nats-server/releases" ;;
  esac
}

# The checksum the download must have, or nothing when none is known.
expected_sha256() {
  if [ -n "${YAO_NATS_SHA256:-}" ]; then
    say "$YAO_NATS_SHA256"
  elif [ "$VERSION" = "$PINNED_VERSION" ]; then
    case "$os-$arch" in
      linux-amd64) say "$SHA256_LINUX_AMD64" ;;
      linux-arm64) say "$SHA256_LINUX_ARM64" ;;
    esac
  fi
}

sha256_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "neither sha256sum nor shasum is installed; a download cannot be checked"
  fi
}

download() {
  if has curl; then
    run curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$2" "$1"
  elif has wget; then
    run wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is installed"
  fi
}

install_release() {
  platform
  name="nats-server-v$VERSION-$os-$arch"
  url="https://github.com/nats-io/nats-server/releases/download/v$VERSION/$name.tar.gz"
  want=$(expected_sha256)
  if [ -z "$want" ]; then
    say "No checksum is pinned for nats-server $VERSION on $os-$arch." >&2
    say "Look it up in https://github.com/nats-io/nats-server/releases/download/v$VERSION/SHA256SUMS and run:" >&2
    say "  YAO_NATS_VERSION=$VERSION YAO_NATS_SHA256=<checksum of $name.tar.gz> $0" >&2
    exit 1
  fi
  if [ "$DRY_RUN" = yes ]; then
    download "$url" "$name.tar.gz"
    say "would check: sha256 $want"
    say "would install: $TARGET_DIR/nats-server"
    return 0
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT INT TERM
  download "$url" "$work/nats.tar.gz" || fail "cannot download $url"
  got=$(sha256_of "$work/nats.tar.gz")
  [ "$got" = "$want" ] || fail "checksum of $url is $got, expected $want; nothing was installed"
  tar -xzf "$work/nats.tar.gz" -C "$work"
  mkdir -p "$TARGET_DIR"
  # Moved into place whole: a running server's program is never half written.
  cp "$work/$name/nats-server" "$TARGET_DIR/.nats-server.new"
  chmod 755 "$TARGET_DIR/.nats-server.new"
  mv -f "$TARGET_DIR/.nats-server.new" "$TARGET_DIR/nats-server"
}

main() {
  for argument in "$@"; do
    case "$argument" in
      --dry-run) DRY_RUN=yes ;;
      -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
      *) fail "unknown argument $argument; usage: $0 [--dry-run]" ;;
    esac
  done
  if path=$(installed); then
    say "nats-server is installed: $path"
    return 0
  fi
  # A chosen version means that very release.
  if [ -z "${YAO_NATS_VERSION:-}" ]; then
    if can_apt; then
      if install_with_apt; then done_with apt-get; return 0; fi
      say "apt-get could not install nats-server; taking the upstream release"
    elif has brew; then
      if run brew install nats-server; then done_with brew; return 0; fi
      say "brew could not install nats-server; taking the upstream release"
    fi
  fi
  install_release
  done_with "the release $VERSION"
}

done_with() {
  [ "$DRY_RUN" = yes ] && return 0
  path=$(installed) || fail "$1 reported success, but nats-server is not there"
  say "nats-server was installed by $1: $path"
}

main "$@"
