export { StoreError } from "./error.ts";
export { openStore, type StoreOptions } from "./open.ts";
export type { Store, TaskHead, TaskSummary } from "./store.ts";
