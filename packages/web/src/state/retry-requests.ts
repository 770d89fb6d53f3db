import { backoffMs } from "@deltawire/tasks";
import { ChatApiError, type EditsReply, type UserEdit } from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";

const maxAttempts = 6;
/** Statuses of a gateway, or a proxy in front of it, that is temporarily unavailable; 0: no response. */
const transientStatuses = new Set([0, 502, 503, 504]);

/** Sends a request with an idempotency key, so that it is executed once even if replies are lost. */
export function requestOnce<Reply>(
  request: (key: { idempotencyKey: string }) => Promise<Reply>,
  environment: Pick<BrowserEnvironment, "schedule" | "random" | "newId">,
): Promise<Reply> {
  const key = { idempotencyKey: environment.newId() };
  return retryUntilAnswered(() => request(key), environment);
}

/** Retries while there is no response. The request needs an idempotency key, because it may have been executed already. */
export async function retryUntilAnswered<Reply>(
  request: () => Promise<Reply>,
  { schedule, random }: Pick<BrowserEnvironment, "schedule" | "random">,
): Promise<Reply> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await request();
    } catch (failure) {
      if (!isTransientFailure(failure) || failures + 1 >= maxAttempts) throw failure;
      const wait = backoffMs(failures + 1, random());
      await new Promise<void>((resolve) => void schedule(wait, resolve));
    }
  }
}

/** A store that another gateway uses is not a transient failure, because that may last for days. */
function isTransientFailure(failure: unknown): boolean {
  if (!(failure instanceof ChatApiError)) return false;
  return transientStatuses.has(failure.status) && failure.reason !== "store_in_use";
}

/** Edits that still make sense after another client has changed the chat. */
export const rebasableEdits: ReadonlySet<UserEdit["type"]> = new Set([
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

interface EditRequest {
  readonly post: (revision: number) => Promise<EditsReply>;
  readonly isRebasable: boolean;
  /** Called with the chat's current stamp, to update the displayed chat. */
  readonly onConflict?: (stamp: number) => Promise<void>;
}

/** Another tab may change the chat first a few times in a row, but not forever. */
const maxConflicts = 5;

/** Posts an edit at the revision that the user saw. After a conflict, a rebasable edit is repeated at the current revision. */
export async function editAtRevision(
  revision: number,
  editRequest: EditRequest,
): Promise<EditsReply> {
  const { post, isRebasable, onConflict } = editRequest;
  let currentRevision = revision;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await post(currentRevision);
    } catch (failure) {
      if (!(failure instanceof ChatApiError) || failure.code !== "conflict") throw failure;
      await onConflict?.(failure.stamp ?? 0);
      if (!isRebasable || failure.revision === undefined || attempts === maxConflicts)
        throw failure;
      currentRevision = failure.revision;
    }
  }
}
