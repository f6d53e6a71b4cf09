export { type KeyChange, LocalMemory, type LocalMemoryOptions, MEMORY_METHODS } from "./local-memory.ts";
export {
  applyToEntry,
  type EntryMethod,
  isEntryMethod,
  isKeyText,
  isRead,
  itemsOf,
  type MemoryEntry,
  readKey,
} from "./memory-entry.ts";
export { isWildcard, likePattern } from "./memory-pattern.ts";
