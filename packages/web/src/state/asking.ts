import { backoff } from "@deltawire/tasks";
import { ChatApiError, type EditsReply, type PersonEdit } from "@deltawire/tasks/chats";
import type { World } from "../browser/world.ts";

const mostTries = 6;
/** Said by a gateway, or by what stands before it, that is not there for a moment. */
const passing = new Set([0, 502, 503, 504]);

/** Done once, however often the reply is lost. */
export function askOnce<Reply>(
  ask: (key: { idempotencyKey: string }) => Promise<Reply>,
  world: Pick<World, "schedule" | "random" | "newId">,
): Promise<Reply> {
  const key = { idempotencyKey: world.newId() };
  return askUntilAnswered(() => ask(key), world);
}

/** Asks again by itself where no answer came. Only for what has a key: it may have been done already. */
export async function askUntilAnswered<Reply>(
  ask: () => Promise<Reply>,
  { schedule, random }: Pick<World, "schedule" | "random">,
): Promise<Reply> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ask();
    } catch (failure) {
      if (!isPassing(failure) || failures + 1 >= mostTries) throw failure;
      const wait = backoff(failures + 1, random());
      await new Promise<void>((resolve) => void schedule(wait, resolve));
    }
  }
}

/** A store that another gateway uses may be so for days: the person should know at once. */
function isPassing(failure: unknown): boolean {
  if (!(failure instanceof ChatApiError)) return false;
  return passing.has(failure.status) && failure.reason !== "store_in_use";
}

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

interface Editing {
  readonly post: (revision: number) => Promise<EditsReply>;
  readonly isLasting: boolean;
  /** Shows what the chat has become. */
  readonly onConflict?: (stamp: number) => Promise<void>;
}

/** Another tab may be as quick a few times, and not for ever. */
const mostConflicts = 5;

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
      if (!isLasting || failure.revision === undefined || tries === mostConflicts) throw failure;
      at = failure.revision;
    }
  }
}
