export const EXPECTED: Record<string, { before?: string; after?: string }> = {};
