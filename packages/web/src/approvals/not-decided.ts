import { ChatApiError } from "@deltawire/tasks/chats";
import type { ApprovalWords } from "./words.ts";

export interface NotDecided {
  readonly text: string;
  /** It is over when the gateway is there again. */
  readonly isUnreachable: boolean;
}

/** Why a decision was not taken, and what to do. What the gateway says is said as it is. */
export function notDecided(failure: unknown, words: ApprovalWords): NotDecided {
  const isUnreachable = failure instanceof ChatApiError && failure.code === "unreachable";
  const why = failure instanceof Error ? failure.message : String(failure);
  return { text: isUnreachable ? words.notReached : words.notDecided(why), isUnreachable };
}
