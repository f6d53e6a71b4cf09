export {
  type ExpectedCall,
  problemsOf,
  WIRE_PROTOCOLS,
  type WireCase,
  wireCases,
  type WireExpectation,
  wireModel,
  type WireOutcome,
} from "./wire-case.ts";
export { type WireCut, wireServer, type WireServer } from "./wire-server.ts";
export { answered, called, callOf, resulted, said } from "./conversation.ts";
export { type BareOutcome, runInBareWorker } from "./bare-worker.ts";
export { weatherCall, weatherKey, weatherPicture, weatherSchema } from "./weather-call.ts";
export { wireFaults, wireFormFaults } from "./wire-form.ts";
