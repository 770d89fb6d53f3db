import { ChatApiError } from "@deltawire/tasks/chats";
import type { Toasts } from "./toasts.ts";
import type { StateWords } from "./words.ts";

/** How the store speaks to the person: in toasts, in the language of the moment. */
export interface Telling {
  readonly words: () => StateWords;
  readonly toasts: Toasts;
  /**
   * Tells by a toast what an action could not do; answers with what it gave. `onUnreachable`: in place of the toast, where
   * the gateway could not be reached, or another one uses its store.
   */
  attempt<Result>(
    action: () => Promise<Result>,
    onUnreachable?: () => void,
  ): Promise<Result | undefined>;
  error(text: string): void;
}

export function createTelling(toasts: Toasts, words: () => StateWords): Telling {
  const error = (text: string) => void toasts.show({ kind: "error", text });
  return {
    words,
    toasts,
    error,
    async attempt(action, onUnreachable) {
      try {
        return await action();
      } catch (failure) {
        if (onUnreachable !== undefined && (isUnreachable(failure) || isStoreInUse(failure)))
          onUnreachable();
        else error(textOf(failure, words()));
        return undefined;
      }
    },
  };
}

/** What the gateway says is said as it is. */
export function textOf(failure: unknown, words: StateWords): string {
  if (isUnreachable(failure)) return words.unreachable;
  if (failure instanceof ChatApiError && failure.code === "conflict") return words.conflict;
  if (isWithoutModel(failure)) return words.noModel;
  return failure instanceof Error ? failure.message : String(failure);
}

/** Nothing is chosen to answer, and nothing is configured. */
function isWithoutModel(failure: unknown): boolean {
  return (
    failure instanceof ChatApiError && failure.code === "cannot_send" && failure.param === "model"
  );
}

/** The notice at the top of the page says why. */
function isStoreInUse(failure: unknown): boolean {
  return failure instanceof ChatApiError && failure.reason === "store_in_use";
}

function isUnreachable(failure: unknown): boolean {
  return failure instanceof ChatApiError && failure.code === "unreachable";
}
