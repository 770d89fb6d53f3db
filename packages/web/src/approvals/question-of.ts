import type { PendingApproval } from "@deltawire/tasks/chats";
import type { ApprovalWords } from "./words.ts";

/** What a person is asked, in one line. The server's own question comes before ours. */
export function questionOf({ approval, call }: PendingApproval, words: ApprovalWords): string {
  const tool = call?.name ?? approval.tool ?? "";
  switch (approval.kind) {
    case "call":
      return words.askCall(tool);
    case "result":
      return words.askResult(tool);
    case "limit":
      return words.askLimit(approval.limit_name ?? "");
    case "reconcile":
      return words.askReconcile(tool);
    case "question":
    default:
      return approval.question ?? words.askOther;
  }
}
