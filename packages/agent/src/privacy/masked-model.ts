import type { Placeholder } from "@deltawire/tasks/chats";
import type { ResponsesRequest } from "@deltawire/wire";
import { runInTurns } from "../event-loop.ts";
import { ModelError, type Model } from "../model.ts";
import { maskRequestSteps } from "./masked-request.ts";
import { PrivacyError } from "./privacy-error.ts";
import { UnmaskedReply } from "./unmasked-reply.ts";
import type { Vault } from "./vault.ts";

/**
 * Masks requests and unmasks replies of `model`. `keep` stores new private values with their placeholders: those of a request
 * before it is sent, so that the reply can be unmasked, and those that a reply creates before they are shown, so that any
 * process masks them in later requests. What cannot be stored is neither sent nor shown.
 */
export function maskedModel(
  model: Model,
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
): Model {
  return {
    ...(model.name !== undefined && { name: model.name }),
    async *stream(request, signal, report) {
      const masked = await maskRequest(request, vault, keep, signal);
      signal.throwIfAborted();
      const reply = new UnmaskedReply(vault);
      try {
        for await (const batch of model.stream(masked, signal, report)) {
          const events = reply.push(batch);
          if (vault.hasFresh) await stored(vault, keep);
          if (events.length > 0) yield events;
        }
      } catch (error) {
        if (error instanceof NotStored) throw error.cause;
        const rest = reply.end();
        const unmasked = readable(error, vault);
        try {
          await vault.keepFresh(keep);
        } catch {
          throw error;
        }
        if (rest.length > 0 && !signal.aborted) yield rest;
        throw unmasked;
      }
      const rest = reply.end();
      await vault.keepFresh(keep);
      if (rest.length > 0) yield rest;
    },
  };
}

/** Told apart from what the model throws: nothing that is held back may follow it. */
class NotStored extends Error {}

async function stored(
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
): Promise<void> {
  try {
    await vault.keepFresh(keep);
  } catch (cause) {
    throw new NotStored("new private values could not be stored", { cause });
  }
}

/** Returns the masked request once all placeholders in it are stored. */
async function maskRequest(
  request: ResponsesRequest,
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
  signal: AbortSignal,
): Promise<ResponsesRequest> {
  let masked: ResponsesRequest;
  try {
    masked = await runInTurns(maskRequestSteps(request, vault), signal);
  } catch (error) {
    // Values that were learned before it ended: a vault stays in memory until they are stored.
    await vault.keepFresh(keep).catch(() => undefined);
    if (error instanceof PrivacyError)
      throw new ModelError(error.code, error.message, { cause: error });
    throw error;
  }
  await vault.keepFresh(keep);
  return masked;
}

/** A server may tell what it did not like in what it got. */
function readable(error: unknown, vault: Vault): unknown {
  if (!(error instanceof ModelError)) return error;
  const message = vault.unmask(error.message);
  if (message === error.message) return error;
  const { code, retryable, retryAfterMs } = error;
  return new ModelError(code, message, { retryable, retryAfterMs, cause: error });
}
