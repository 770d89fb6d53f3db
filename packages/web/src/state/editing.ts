import { ChatApiError, type EditsReply, type PersonEdit } from "@deltawire/tasks/chats";

/** Still meant after somebody else has touched the chat. */
export const lasting: ReadonlySet<PersonEdit["type"]> = new Set([
  "rename",
  "tag",
  "pin_chat",
  "settings",
  "choose_branch",
  "choose_version",
  "pin",
  "hide",
  "bookmark",
]);

export interface Editing {
  readonly post: (revision: number) => Promise<EditsReply>;
  readonly isLasting: boolean;
  /** Shows what the chat has become. */
  readonly onConflict?: (stamp: number) => Promise<void>;
}

/** Another tab may be as quick a few times, and not for ever. */
const mostTries = 5;

/** At the revision that the person saw; what is lasting also at the one that the chat has come to. */
export async function editAt(revision: number, editing: Editing): Promise<EditsReply> {
  const { post, isLasting, onConflict } = editing;
  let at = revision;
  for (let tries = 1; ; tries += 1) {
    try {
      return await post(at);
    } catch (failure) {
      if (!(failure instanceof ChatApiError) || failure.code !== "conflict") throw failure;
      await onConflict?.(failure.stamp ?? 0);
      if (!isLasting || failure.revision === undefined || tries === mostTries) throw failure;
      at = failure.revision;
    }
  }
}
