import { defineWords } from "../words/words.ts";

export const decisionWords = defineWords({
  en: {
    approve: "approved",
    approveChanged: "approved with changed arguments",
    deny: "denied",
    redact: "replaced before the model saw it",
    abort: "ended the answer",
    expired: "nobody decided in time",
  },
  zh: {
    approve: "已批准",
    approveChanged: "修改参数后批准",
    deny: "已拒绝",
    redact: "替换后才给模型",
    abort: "结束了回答",
    expired: "无人及时决定",
  },
});

export type DecisionWords = (typeof decisionWords)["en"];

/** One that is not known yet is called as the gateway calls it. */
export function decisionInWords(decision: string, words: DecisionWords): string {
  switch (decision) {
    case "approve":
    case "deny":
    case "redact":
    case "abort":
    case "expired":
      return words[decision];
    default:
      return decision;
  }
}
