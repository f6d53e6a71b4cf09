export { LocalMemory } from "./local-memory.ts";
export {
  applyToEntry,
  type EntryMethod,
  isEntryMethod,
  isKeyText,
  isRead,
  type MemoryEntry,
  readKey,
} from "./memory-entry.ts";
export { isWildcard, likePattern } from "./memory-pattern.ts";
