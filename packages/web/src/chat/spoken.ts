import { chosenVersion, type ChatNode } from "@deltawire/tasks/chats";
import { saysOf, type AnswerSays } from "./answer-facts.ts";

/** The answer at the end of the path, as far as it is told to those who do not see it. */
export interface Heard {
  readonly versionId: string;
  readonly says: AnswerSays;
  readonly message: string | undefined;
}

export function heardAtEnd(path: readonly ChatNode[]): Heard | undefined {
  const last = path.at(-1);
  if (last?.kind !== "answer") return undefined;
  const version = chosenVersion(last);
  return {
    versionId: version.version_id,
    says: saysOf(version),
    message: version.error?.message,
  };
}

/** What has become of it since: nothing of what was there when the chat was opened, or is switched to. */
export function toBeSaid(before: Heard | undefined, now: Heard | undefined): Heard | undefined {
  if (now === undefined) return undefined;
  if (before?.versionId === now.versionId) return before.says === now.says ? undefined : now;
  return now.says === "answering" || now.says === "waiting" ? now : undefined;
}
