import { blobScenarios } from "./contract/blobs.ts";
import { chatBelongingScenarios } from "./contract/chat-belongings.ts";
import { chatSearchScenarios } from "./contract/chat-search.ts";
import { chatSinceScenarios } from "./contract/chat-since.ts";
import { chatScenarios } from "./contract/chats.ts";
import { logScenarios } from "./contract/log.ts";
import { checksOf, type OpenForCheck, type StoreCheck } from "./contract/scenario.ts";
import { taskScenarios } from "./contract/tasks.ts";

export type { OpenForCheck, StoreCheck } from "./contract/scenario.ts";

/**
 * What every store must do, as checks that any test framework can run: each opens a store of its own, and rejects with
 * an assertion error where the store does something else.
 */
export function storeContract(open: OpenForCheck): StoreCheck[] {
  const tasks = { ...logScenarios, ...taskScenarios, ...blobScenarios };
  const chats = { ...chatScenarios, ...chatSinceScenarios, ...chatSearchScenarios };
  return checksOf({ ...tasks, ...chats, ...chatBelongingScenarios }, open);
}
