/** Process of simulated devices and of the other end of the raw NATS request; see `fleet.ts`. */

import { type Bus, connectBus, loadTrust } from "@mesh/bus";
import { systemClock } from "@mesh/kernel";

import { Fleet, type StreamPace } from "./fleet.ts";
import { serveLoad } from "./load-process.ts";

const stop = new AbortController();
const buses: Bus[] = [];
let fleet: Fleet | undefined;

serveLoad({
  async open({ natsUrl, trustDir, connections }: { natsUrl: string; trustDir: string; connections: number }) {
    const credentials = await loadTrust(trustDir, systemClock).issueCoordinator();
    for (let i = 0; i < connections; i += 1) {
      buses.push(await connectBus({ servers: [natsUrl], credentials, name: `bench ${i}`, clock: systemClock }));
    }
    fleet = new Fleet(buses, stop.signal);
    buses[0]?.serve("bench.echo", async (data) => data);
  },
  takeWork: ({ digests }: { digests: readonly string[] }) => opened().takeWork(digests),
  stream: (pace: StreamPace) => opened().stream(pace),
  flood: (options: { batches: number; batchSize: number }) => opened().flood(options),
  beat: ({ digests, seconds }: { digests: readonly string[]; seconds: number }) => opened().beat(digests, seconds),
});

function opened(): Fleet {
  if (fleet === undefined) throw new Error("the fleet is not open");
  return fleet;
}
