import type { TaskApproval } from "@deltawire/tasks";
import type { DecisionBody } from "@deltawire/tasks/chats";

/** Without a scope the widest is taken: whoever approves one call approves only that. */
export function approvedOnce({ scopes }: TaskApproval): DecisionBody {
  return scopes?.includes("once") === true
    ? { decision: "approve", scope: "once" }
    : { decision: "approve" };
}
