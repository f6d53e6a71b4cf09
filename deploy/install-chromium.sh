#!/bin/sh
# Installs Chromium for the tests in a real browser when there is none: by apt-get (Debian, Ubuntu). Where that cannot be
# done it says so and fails.
set -eu

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    echo "chromium: $(command -v "$name")"
    exit 0
  fi
done
[ -z "${YAO_TEST_CHROMIUM:-}" ] || { echo "chromium: $YAO_TEST_CHROMIUM"; exit 0; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if ! command -v apt-get >/dev/null 2>&1; then
  echo "chromium: there is no apt-get here; install Chromium, or set YAO_TEST_CHROMIUM to its path" >&2
  exit 1
fi
as_root apt-get update -qq || echo "chromium: apt-get update failed; trying with what is known" >&2
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium
command -v chromium >/dev/null 2>&1 || { echo "chromium: apt-get installed none" >&2; exit 1; }
