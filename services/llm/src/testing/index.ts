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
