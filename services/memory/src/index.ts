export { type KeyChange, LocalMemory, type LocalMemoryOptions } from "./local-memory.ts";
export {
  applyToEntry,
  ENTRY_METHODS,
  type EntryMethod,
  isEntryMethod,
  isKeyText,
  isRead,
  itemsOf,
  type MemoryEntry,
  readKey,
} from "./memory-entry.ts";
export { isWildcard, likePattern } from "./memory-pattern.ts";
