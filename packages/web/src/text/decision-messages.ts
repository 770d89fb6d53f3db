import { defineMessages } from "../messages/define-messages.ts";

export const decisionMessages = defineMessages({
  en: {
    approve: "approved",
    approveChanged: "approved with changed arguments",
    deny: "denied",
    redact: "replaced",
    abort: "stopped",
    expired: "expired",
  },
  zh: {
    approve: "已批准",
    approveChanged: "修改参数后批准",
    deny: "已拒绝",
    redact: "已改写",
    abort: "已停止",
    expired: "已过期",
  },
});

export type DecisionMessages = (typeof decisionMessages)["en"];

/** Returns a label for `decision`. An unknown decision is returned unchanged. */
export function formatDecision(decision: string, messages: DecisionMessages): string {
  switch (decision) {
    case "approve":
    case "deny":
    case "redact":
    case "abort":
    case "expired":
      return messages[decision];
    default:
      return decision;
  }
}
