import { accessKeyScenarios } from "./access-keys.ts";
import { blobScenarios } from "./blobs.ts";
import { chatSideDataScenarios } from "./chat-side-data.ts";
import { chatSearchScenarios } from "./chat-search.ts";
import { chatUpdateScenarios } from "./chat-update.ts";
import { chatScenarios } from "./chats.ts";
import { conversationScenarios } from "./conversations.ts";
import { fileScenarios } from "./files.ts";
import { gatewayStateScenarios } from "./gateway-state.ts";
import { inboxScenarios } from "./inbox.ts";
import { leaseScenarios } from "./leases.ts";
import { logScenarios } from "./log.ts";
import { lostReplyScenarios } from "./lost-replies.ts";
import { ownerScenarios } from "./owners.ts";
import { responseScenarios } from "./responses.ts";
import { buildChecks, type OpenForCheck, type StoreCheck } from "./scenario.ts";
import { taskScenarios } from "./tasks.ts";

export type { OpenForCheck, StoreCheck } from "./scenario.ts";

/**
 * Returns the checks that every store must pass, for any test framework. Each opens its own store and rejects with an
 * assertion error if the store misbehaves.
 */
export function storeContract(open: OpenForCheck): StoreCheck[] {
  const tasks = { ...logScenarios, ...taskScenarios, ...lostReplyScenarios, ...leaseScenarios };
  const chats = { ...chatScenarios, ...chatUpdateScenarios, ...chatSearchScenarios };
  const others = {
    ...chatSideDataScenarios,
    ...gatewayStateScenarios,
    ...accessKeyScenarios,
    ...responseScenarios,
  };
  const shared = {
    ...inboxScenarios,
    ...blobScenarios,
    ...ownerScenarios,
    ...fileScenarios,
    ...conversationScenarios,
  };
  return buildChecks({ ...tasks, ...chats, ...others, ...shared }, open);
}
