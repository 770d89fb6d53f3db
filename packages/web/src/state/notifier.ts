import { ChatApiError } from "@deltawire/tasks/chats";
import type { ToastStore } from "./toast-store.ts";
import type { StateMessages } from "./messages.ts";

/** Shows messages of the store as toasts, in the current language. */
export interface Notifier {
  readonly getMessages: () => StateMessages;
  readonly toasts: ToastStore;
  /**
   * Runs an action. If it fails, shows a toast and resolves to undefined. If the gateway cannot be reached, or another gateway
   * uses its store, calls `onUnreachable`, if given, instead of showing a toast.
   */
  attempt<Result>(
    action: () => Promise<Result>,
    onUnreachable?: () => void,
  ): Promise<Result | undefined>;
  error(text: string): void;
}

export function createNotifier(toasts: ToastStore, getMessages: () => StateMessages): Notifier {
  const error = (text: string) => void toasts.show({ kind: "error", text });
  return {
    getMessages,
    toasts,
    error,
    async attempt(action, onUnreachable) {
      try {
        return await action();
      } catch (failure) {
        if (onUnreachable !== undefined && (isUnreachable(failure) || isStoreInUse(failure)))
          onUnreachable();
        else error(formatError(failure, getMessages()));
        return undefined;
      }
    },
  };
}

/** Returns the error as a sentence in the language of `messages`. */
export function formatError(failure: unknown, messages: StateMessages): string {
  if (isUnreachable(failure)) return messages.unreachable;
  if (failure instanceof ChatApiError && failure.code === "conflict") return messages.conflict;
  if (isNoModelError(failure)) return messages.noModel;
  return messages.formatGatewayError(failure instanceof Error ? failure.message : String(failure));
}

/** True if the chat has no model and there is no default. */
function isNoModelError(failure: unknown): boolean {
  return (
    failure instanceof ChatApiError && failure.code === "cannot_send" && failure.param === "model"
  );
}

/** True if another gateway uses the store. A notice at the top of the page explains this. */
function isStoreInUse(failure: unknown): boolean {
  return failure instanceof ChatApiError && failure.reason === "store_in_use";
}

function isUnreachable(failure: unknown): boolean {
  return failure instanceof ChatApiError && failure.code === "unreachable";
}
