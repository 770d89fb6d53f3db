import { blobScenarios } from "./blobs.ts";
import { chatBelongingScenarios } from "./chat-belongings.ts";
import { chatSearchScenarios } from "./chat-search.ts";
import { chatSinceScenarios } from "./chat-since.ts";
import { chatScenarios } from "./chats.ts";
import { logScenarios } from "./log.ts";
import { checksOf, type OpenForCheck, type StoreCheck } from "./scenario.ts";
import { taskScenarios } from "./tasks.ts";

export type { OpenForCheck, StoreCheck } from "./scenario.ts";

/**
 * What every store must do, as checks that any test framework can run: each opens a store of its own, and rejects with
 * an assertion error where the store does something else.
 */
export function storeContract(open: OpenForCheck): StoreCheck[] {
  const tasks = { ...logScenarios, ...taskScenarios, ...blobScenarios };
  const chats = { ...chatScenarios, ...chatSinceScenarios, ...chatSearchScenarios };
  return checksOf({ ...tasks, ...chats, ...chatBelongingScenarios }, open);
}
