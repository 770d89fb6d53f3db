import { blobScenarios } from "./contract/blobs.ts";
import { logScenarios } from "./contract/log.ts";
import { checksOf, type OpenForCheck, type StoreCheck } from "./contract/scenario.ts";
import { taskScenarios } from "./contract/tasks.ts";

export type { OpenForCheck, StoreCheck } from "./contract/scenario.ts";

/**
 * What every store must do, as checks that any test framework can run: each opens a store of its own, and rejects with
 * an assertion error where the store does something else.
 */
export function storeContract(open: OpenForCheck): StoreCheck[] {
  return checksOf({ ...logScenarios, ...taskScenarios, ...blobScenarios }, open);
}
