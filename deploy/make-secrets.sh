#!/bin/sh
# Makes the secrets that deploy/compose.yaml reads, once. Existing files are kept, so that a second run changes nothing.
#
# The folder is 0700, so only its owner reaches the files on the host. The files are 0444, because compose mounts them
# with their mode and the processes in the containers run as another user.
set -eu

dir=${1:-"$(dirname "$0")/secrets"}
umask 077
mkdir -p "$dir"
chmod 700 "$dir"

random_hex() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# put NAME TEXT: writes a file in one step, unless it is there.
put() {
  [ -s "$dir/$1" ] && return 0
  printf '%s\n' "$2" >"$dir/.$1.new"
  chmod 444 "$dir/.$1.new"
  mv "$dir/.$1.new" "$dir/$1"
  echo "made $dir/$1"
}

put postgres_password "$(random_hex)"
password=$(cat "$dir/postgres_password")
put database_url "postgres://yao:$password@postgres:5432/yao"
# 32 bytes as base64: the form that YAO_MASTER_KEY has.
put master_key "$(head -c 32 /dev/urandom | base64)"

# Filled in by hand with the answer of `yao node token create`; compose needs the file to exist.
if [ ! -e "$dir/join_token" ]; then
  : >"$dir/join_token"
  chmod 644 "$dir/join_token"
fi
