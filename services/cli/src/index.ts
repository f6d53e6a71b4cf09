/** The command line as a library: what tests and tools start without a shell. */

export { Client, type ClientOptions } from "./client/client.ts";
export { followRun, type FollowOptions } from "./client/event-stream.ts";
export { type GivenNats, type Running, startUp, type UpOptions, type UpPrograms } from "./up/up.ts";
