export type { Database } from "./schema.ts";
export type { Store } from "./store.ts";
