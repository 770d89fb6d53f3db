export const shellDefaults = { timeoutMs: 120_000 } as const;

export const webDefaults = { maxBytes: 1024 * 1024, timeoutMs: 30_000 } as const;
