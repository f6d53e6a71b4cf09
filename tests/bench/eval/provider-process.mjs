// A model provider that answers after 50 ms, whatever it is asked; GET /stats tells how long it was busy, and starts anew.
import { createServer } from "node:http";

const LATENCY_MS = 50;
const choice = { index: 0, delta: { role: "assistant", content: "Hello number 5" }, finish_reason: "stop" };
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const STREAM = `data: ${JSON.stringify({ choices: [choice], usage })}\n\ndata: [DONE]\n\n`;
const WHOLE = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Hello number 5" }, finish_reason: "stop" }],
  usage,
});

let stats = { requests: 0, peak: 0, firstMs: 0, lastMs: 0 };
let inFlight = 0;

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    if (request.url === "/stats") {
      response.end(JSON.stringify({ ...stats, windowMs: stats.lastMs - stats.firstMs }));
      stats = { requests: 0, peak: 0, firstMs: 0, lastMs: 0 };
      return;
    }
    if (stats.requests === 0) stats.firstMs = performance.now();
    stats.requests += 1;
    inFlight += 1;
    stats.peak = Math.max(stats.peak, inFlight);
    const isStream = body.includes('"stream":true');
    setTimeout(() => {
      inFlight -= 1;
      stats.lastMs = performance.now();
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      response.end(isStream ? STREAM : WHOLE);
    }, LATENCY_MS);
  });
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
