import type { Placeholder } from "@deltawire/tasks/chats";
import { ModelError, type Model } from "../model.ts";
import { maskedRequest } from "./masked-request.ts";
import { PrivacyError } from "./privacy-error.ts";
import { UnmaskedReply } from "./unmasked-reply.ts";
import type { Vault } from "./vault.ts";

/**
 * A model that is told nothing private. `keep` has what stands for values that are new before anything is sent: what was
 * sent can always be read again.
 */
export function maskedModel(
  model: Model,
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
): Model {
  return {
    ...(model.name !== undefined && { name: model.name }),
    async *stream(request, signal, report) {
      const masked = maskedOrRefused(() => maskedRequest(request, vault));
      await vault.keepFresh(keep);
      signal.throwIfAborted();
      const reply = new UnmaskedReply(vault);
      try {
        for await (const batch of model.stream(masked, signal, report)) {
          const events = reply.push(batch);
          if (events.length > 0) yield events;
        }
      } catch (error) {
        const rest = reply.end();
        if (rest.length > 0 && !signal.aborted) yield rest;
        throw readable(error, vault);
      }
      const rest = reply.end();
      if (rest.length > 0) yield rest;
    },
  };
}

function maskedOrRefused<T>(mask: () => T): T {
  try {
    return mask();
  } catch (error) {
    if (error instanceof PrivacyError)
      throw new ModelError(error.code, error.message, { cause: error });
    throw error;
  }
}

/** A server may tell what it did not like in what it got. */
function readable(error: unknown, vault: Vault): unknown {
  if (!(error instanceof ModelError)) return error;
  const message = vault.unmask(error.message);
  if (message === error.message) return error;
  const { code, retryable, retryAfterMs } = error;
  return new ModelError(code, message, { retryable, retryAfterMs, cause: error });
}
