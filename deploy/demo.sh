#!/usr/bin/env bash
# Shows the whole system by itself: two devices, runs on the one named and by label, a cancel, a drain, tasks, a task agent, a summary.
# Uses a data directory and ports of its own, stops everything and leaves nothing behind.
set -euo pipefail

root="$(cd "$(dirname "$0")/.." && pwd)"
home="$(mktemp -d "${TMPDIR:-/tmp}/yao-demo.XXXXXX")"
second="$home/second"
export YAO_HOME="$home"
unset YAO_URL YAO_TOKEN YAO_WORKSPACE

yao() { node "$root/services/cli/dist/main.js" "$@"; }
say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
field() { node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>{let v=JSON.parse(t);for(const k of process.argv[1].split("."))v=v?.[k];console.log(v??"")})' "$1"; }

cleanup() {
  code=$?
  yao node stop --data "$second" >/dev/null 2>&1 || true
  yao down >/dev/null 2>&1 || true
  rm -rf "$home"
  exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say "yao up: PostgreSQL, NATS, the coordinator and this device's node, in one command"
yao up --detach --port 0 --grpc-port 0 --nats-port 0
url="$(yao whoami --json | field url)"

say "a second device joins with one command and the coordinator's one URL"
token="$(yao node token create --json | field token)"
yao node join "$url" --token "$token" --name studio --label gpu=yes --data "$second" --detach
yao node list

say "an app is a directory; it is checked and pushed"
mkdir -p "$home/app/assistants/greeter"
cat >"$home/app/assistants/greeter/package.yao" <<'APP'
{
  // JSON with comments; the built-in demo connector needs no key
  "name": "Greeter",
  "connector": "demo",
}
APP
printf -- '- role: system\n  content: You greet people. Today is $SYS.DATE.\n' >"$home/app/assistants/greeter/prompts.yml"
yao app check "$home/app"
yao app push "$home/app" --name greetings
yao app list

say "a run on the device named studio, streamed live"
yao run greeter "Good morning from the demo" --node studio

say "a run by label gpu=yes"
yao run counter "/count 10 every 50ms" --label gpu=yes

say "a long run, cancelled"
long="$(yao run slow "/slow 60s" --node studio --detach)"
for _ in $(seq 1 100); do
  if [ "$(yao runs show "$long" --json | field run.state)" = running ]; then break; fi
  sleep 0.1
done
yao runs cancel "$long"
set +e
yao runs follow "$long" >/dev/null
set -e

say "the device is drained: it gets nothing new"
yao node drain studio
waiting="$(yao run hello "after the drain" --node studio --detach)"
yao runs show "$waiting"
yao node undrain studio
yao runs follow "$waiting"

say "what you need becomes a task; the second one starts by itself when the first has succeeded"
yao task add "Plan the garden" --assistant hello --node studio
yao task add "Order the seeds" --assistant greeter --after T-1 --start
yao task run T-1
for _ in $(seq 1 100); do
  if [ "$(yao task show T-2 --json | field task.run_state)" = succeeded ]; then break; fi
  sleep 0.1
done
yao task list
yao inbox

say "a task becomes an agent, and a conversation with it goes on where it ended"
yao task promote T-1 --agent gardener
yao chat gardener "I grow tomatoes" --chat garden
yao chat gardener "And beans" --last
yao chat show garden

say "summary"
yao runs list
yao node list

failed=0
expect() { if [ "$2" = "$3" ]; then printf '  ok    %s\n' "$1"; else printf '  FAIL  %s: %s, not %s\n' "$1" "$2" "$3"; failed=1; fi; }
say "checked"
expect "the cancelled run" "$(yao runs show "$long" --json | field run.state)" cancelled
expect "the run that waited for the drained device" "$(yao runs show "$waiting" --json | field run.state)" succeeded
expect "its device" "$(yao runs show "$waiting" --json | field run.node)" studio
expect "the task that waited for another" "$(yao task show T-2 --json | field task.run_state)" succeeded
expect "the messages of the conversation" "$(yao chat list --json | field chats.0.messages)" 4
exit "$failed"
