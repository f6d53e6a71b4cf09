export { type CoordinatorConfig, coordinatorOptions, readConfig } from "./config.ts";
export { type Context, createContext, type Started } from "./context.ts";
export { VERSION } from "./version.ts";
