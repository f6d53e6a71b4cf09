/**
 * The scripted model: an OpenAI-compatible server in a process of its own. It reads the turn from the request, counts requests,
 * and gives every response and call an id of its own. Prints its port; ends with its standard input.
 */

import { createServer } from "node:http";

import { ADD, piecesOf } from "./scenario.mjs";

let requests = 0;
let serial = 0;

const server = createServer((request, response) => {
  if (request.url === "/requests") {
    response.end(String(requests));
    requests = 0;
    return;
  }
  requests += 1;
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => answer(request.url ?? "", Buffer.concat(chunks).toString(), response));
});
// A connection that closes between two rounds would be opened again inside a measurement.
server.keepAliveTimeout = 600_000;
server.listen({ port: 0, host: "127.0.0.1", backlog: 2048 }, () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit());

function answer(url, body, response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const shape = /^\/t(\d+)d(\d+)c(\d+)(s?)\//.exec(url);
  if (shape === null) {
    response.write(events({ turn: 0, deltas: 5, calls: 0 }).slice(0, 6).join(""));
    return;
  }
  const [, turns, deltas, calls, split] = shape;
  // Results, not answers, tell the turn: some libraries send one answer as two messages.
  const turn = Math.floor((body.split('"role":"tool"').length - 1) / Number(calls));
  const parts = events({ turn, deltas: Number(deltas), calls: turn < Number(turns) ? Number(calls) : 0 });
  if (split === "") response.end(parts.join(""));
  else writeEach(parts, response);
}

function writeEach(parts, response) {
  const [first, ...rest] = parts;
  if (first === undefined) response.end();
  else response.write(first, () => setImmediate(writeEach, rest, response));
}

function events({ turn, deltas, calls }) {
  serial += 1;
  const id = `chatcmpl-${serial}`;
  const chunk = (choices, extra = {}) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1_700_000_000, model: "scripted", choices, ...extra })}\n\n`;
  const delta = (value, finish = null) => chunk([{ index: 0, delta: value, finish_reason: finish }]);
  const list = [delta({ role: "assistant", content: "" })];
  for (const content of piecesOf(turn, deltas)) list.push(delta({ content }));
  for (let index = 0; index < calls; index += 1) {
    const head = {
      index,
      id: `call_${serial}_${index}`,
      type: "function",
      function: { name: ADD.name, arguments: "" },
    };
    list.push(delta({ tool_calls: [head] }));
    for (const part of [`{"a":${turn},`, `"b":${index}}`]) {
      list.push(delta({ tool_calls: [{ index, function: { arguments: part } }] }));
    }
  }
  list.push(delta({}, calls > 0 ? "tool_calls" : "stop"));
  list.push(chunk([], { usage: { prompt_tokens: 100, completion_tokens: deltas, total_tokens: 100 + deltas } }));
  list.push("data: [DONE]\n\n");
  return list;
}
